"""Results of a graph: tensors of the program in the order of the module's dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression
from gnarl.sw.workloads.einsum.pytorch.statements import Statements, Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.tensor.expression import Access, Call, Reduction


class Results:
    """Results so far, whose tensors are not results twice.

    views
        what each is in PyTorch, by the tensor.
    """

    def __init__(self, statements: Statements, place: str) -> None:
        self._statements, self._place = statements, place
        self.views: dict[str, View] = {}

    def add(self, user: str, view: View) -> None:
        """Adds a result; a statement copies what is an input, a result already, or has more
        dimensions. Raises ``WorkloadError``."""
        for dim, (size, mode) in enumerate(zip(view.shape, view.modes, strict=True)):
            if mode is None and size != 1:
                raise WorkloadError(
                    f"{self._place}: {user}: repeats along dimension {dim}: must not"
                )
        modes = [mode for mode in view.modes if mode is not None]
        is_whole = len(modes) == len(self._statements.shapes[view.tensor])
        computed = {each.name for each in self._statements.added}
        if view.tensor in self.views or view.tensor not in computed or not is_whole:
            step = Step(self._statements, self._statements.names.claim(user), self._place, "output")
            view = step.elementwise(lambda element: element, view)
        self.views[view.tensor] = view

    @property
    def statements(self) -> list[Einsum]:
        """All statements, where modes of results have the order of the module's dimensions."""
        orders = self._orders()
        return [
            replace(
                each,
                result=_reordered(each.result, orders),
                expression=_permuted(each.expression, orders),
            )
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


def _permuted(
    expression: EinsumExpression, orders: Mapping[str, Sequence[int]]
) -> EinsumExpression:
    match expression:
        case Access():
            return _reordered(expression, orders)
        case Call(function, arguments):
            return Call(function, tuple(_permuted(part, orders) for part in arguments))
        case Reduction(part=part):
            return replace(expression, part=_permuted(part, orders))
    return expression
