"""Results of a graph: tensors of the program in the order of the module's dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import AnyStatement, Einsum, with_every_access
from gnarl.sw.workloads.einsum.pytorch.masked import plain
from gnarl.sw.workloads.einsum.pytorch.moved_statements import transposed
from gnarl.sw.workloads.einsum.pytorch.statements import Statements, Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement, Reshape
from gnarl.sw.workloads.tensor.expression import Access


class Results:
    """Results so far, whose tensors are not results twice.

    views
        what each is in PyTorch, by the tensor.
    """

    def __init__(self, statements: Statements, place: str) -> None:
        self._statements, self._place = statements, place
        self.views: dict[str, View] = {}

    def add(self, user: str, view: View) -> None:
        """Adds a result; a statement copies what is an input, or moved from inputs alone, a result
        already, or has more dimensions, or fewer."""
        step = Step(self._statements, "", self._place, "output")
        if view.meaning is not None:
            view = plain(
                replace(step, name=self._statements.names.claim(f"{view.tensor}_all")), view
            )
        modes = [mode for mode in view.modes if mode is not None]
        repeats = any(
            mode is None and size != 1 for size, mode in zip(view.shape, view.modes, strict=True)
        )
        is_whole = not repeats and len(modes) == len(self._statements.shapes[view.tensor])
        if view.tensor in self.views or not self._is_computed(view.tensor) or not is_whole:
            step = replace(step, name=self._statements.names.claim(user))
            view = step.repeated(view)
        elif modes != sorted(modes) and view.tensor in self._row_by_row():
            step = replace(step, name=self._statements.names.claim(user))
            view = transposed(step, view)
        self.views[view.tensor] = view

    def _is_computed(self, tensor: str) -> bool:
        """Whether a launch computes anything of what it is made of."""
        made = {each.name: each for each in self._statements.added}
        if tensor not in made:
            return False
        statement = made[tensor]
        return isinstance(statement, Einsum) or any(
            self._is_computed(each.tensor) for each in statement.operands
        )

    def _row_by_row(self) -> set[str]:
        """Tensors whose modes must stay in their order, as they are reshaped."""
        return {
            access.tensor
            for each in self._statements.added
            if isinstance(each, Rearrangement) and isinstance(each.how, Reshape)
            for access in (each.result, *each.operands)
        }

    @property
    def statements(self) -> list[AnyStatement]:
        """All statements, where modes of results have the order of the module's dimensions."""
        orders = self._orders()
        return [
            with_every_access(each, lambda access: _reordered(access, orders))
            for each in self._statements.added
        ]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all tensors."""
        orders = self._orders()
        return {
            name: tuple(shape[mode] for mode in orders.get(name, range(len(shape))))
            for name, shape in self._statements.shapes.items()
        }

    def _orders(self) -> dict[str, list[int]]:
        """The modes of each result, in their new order."""
        return {
            name: [mode for mode in view.modes if mode is not None]
            for name, view in self.views.items()
        }


def _reordered(access: Access, orders: Mapping[str, Sequence[int]]) -> Access:
    order = orders.get(access.tensor, range(len(access.indices)))
    return replace(access, indices=tuple(access.indices[mode] for mode in order))
