"""Statements as operators of a graph add them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    free_indices,
)
from gnarl.sw.workloads.einsum.pytorch import moved_statements as moved
from gnarl.sw.workloads.einsum.pytorch.masked import carried, is_carried, plain
from gnarl.sw.workloads.einsum.pytorch.names import Names
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction

Operand: TypeAlias = View | int | float

Element: TypeAlias = Callable[..., EinsumExpression]
"""An element of a result, from those of its operands."""


class Statements:
    """Statements so far, and the shapes of all tensors by name.

    given
        a tensor of PyTorch's as another input, by the name that is wanted; ``None``: there are no
        masks.
    repeated
        those that are the same along some index.
    with_nan
        tensors in which rows without entries of a mask are NaN.
    patterns
        tensors that are masks, with their modes in the order in which they are stored.
    known_patterns
        those that the module has, as tensors of PyTorch's, of bool.
    pattern_names
        patterns by what they are made of.
    """

    def __init__(self, names: Names, given: Callable[[str, Any], View] | None = None) -> None:
        self.names = names
        self._given = given
        self.with_nan: set[str] = set()
        self.patterns: dict[str, tuple[int, ...]] = {}
        self.known_patterns: dict[str, Any] = {}
        self.pattern_names: dict[Hashable, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.added: list[AnyStatement] = []
        self.repeated: set[str] = set()

    def declare(self, wanted: str, shape: tuple[int, ...]) -> View:
        """A tensor that comes from elsewhere."""
        name = self.names.claim(wanted)
        self.shapes[name] = shape
        return View.whole(name, shape)

    @property
    def has_masks(self) -> bool:
        """Whether views may have meanings of masks."""
        return self._given is not None

    def given(self, name: str, value: Any) -> View:
        """Another input, of a tensor of PyTorch's."""
        assert self._given is not None
        return self._given(name, value)

    def has_nan(self, tensor: str) -> bool:
        """Whether a tensor is made of one in which rows may be NaN."""
        needed = {tensor}
        for each in reversed(self.added):
            if each.name in needed:
                needed |= {access.tensor for access in each.operands}
        return not needed.isdisjoint(self.with_nan)

    def is_given(self, tensor: str) -> bool:
        """Whether no launch computes anything of what a tensor is made of."""
        made = {each.name: each for each in self.added}
        statement = made.get(tensor)
        if statement is None:
            return True
        return isinstance(statement, Rearrangement) and all(
            self.is_given(each.tensor) for each in statement.operands
        )


class Space:
    """The dimensions that a statement's loops run over, with their indices."""

    def __init__(self, statements: Statements, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._shapes = statements.shapes
        self._free = statements.names.indices()
        self.indices = tuple(next(self._free) for _ in shape)

    def element(self, operand: Operand) -> EinsumExpression:
        """An operand's element, if it broadcasts to the space. What lies along a mode of size 1 is
        taken as its sum. Of a view with a meaning it would not be what the view's is."""
        if not isinstance(operand, View):
            return Constant(float(operand))
        assert operand.meaning is None, f"{operand.tensor} has elements of another meaning"
        first = len(self.shape) - operand.rank
        at = {
            mode: self.indices[dim]
            for dim, (mode, size) in enumerate(
                zip(operand.modes, operand.shape, strict=True), first
            )
            if mode is not None and size == self.shape[dim]
        }
        modes = range(len(self._shapes[operand.tensor]))
        single = {mode: next(self._free) for mode in modes if mode not in at}
        access = Access(operand.tensor, tuple({**at, **single}[mode] for mode in modes))
        return Reduction("sum", tuple(single.values()), access) if single else access

    def reduced(self, op: str, part: EinsumExpression, dims: Sequence[int]) -> EinsumExpression:
        """The sum or maximum over dimensions; along some of them the part may repeat."""
        used = free_indices(part)
        own = tuple(self.indices[dim] for dim in dims if self.indices[dim] in used)
        times = math.prod(self.shape[dim] for dim in dims if self.indices[dim] not in used)
        if own:
            part = Reduction(op, own, part)
        if op == "sum" and times != 1:
            part = Call("mul", (part, Constant(float(times))))
        return part


def _places(
    view: View,
    labels: Sequence[Hashable],
    result: Sequence[Hashable],
    sizes: Mapping[Hashable, int],
) -> list[int | None]:
    """The dimension of a product that each dimension of an operand is; ``None``: it is summed, or
    repeats."""
    return [
        result.index(label) if label in result and sizes[label] == size else None
        for label, size in zip(labels, view.shape, strict=True)
    ]


@dataclass(frozen=True)
class Step:
    """An operator of the graph, which becomes statements.

    name
        the tensor that it computes; its other statements are called ``name_part``.
    place
        where the user wrote it.
    operator
        its name, for errors.
    """

    statements: Statements
    name: str
    place: str
    operator: str

    def refuse(self, text: str) -> NoReturn:
        """Raises ``WorkloadError``."""
        raise WorkloadError(f"{self.place}: {self.operator}: {text}")

    def elementwise(self, element: Element, *operands: Operand, part: str = "") -> View:
        """What a function gives of the elements of operands, which are broadcast."""
        shapes = [each.shape for each in operands if isinstance(each, View)]
        space = Space(self.statements, tuple(np.broadcast_shapes(*shapes)))
        return self._add(space, len(space.shape), element(*map(space.element, operands)), part)

    def repeated(self, view: View, part: str = "") -> View:
        """A tensor with all elements of a view, those that repeat, too."""
        space = Space(self.statements, view.shape)
        found = self._add(space, view.rank, space.element(view), part, is_repeated=True)
        if any(
            mode is None and size != 1 for mode, size in zip(view.modes, view.shape, strict=True)
        ):
            self.statements.repeated.add(found.tensor)
        return found

    def reduced(
        self,
        op: str,
        view: View,
        dims: Sequence[int],
        keepdim: bool = False,
        part: str = "",
        finish: Element | None = None,
        inside: Element | None = None,
        others: Sequence[View] = (),
    ) -> View:
        """The sum or maximum over dimensions.

        finish
            see ``product``.
        inside
            makes what is reduced of the view's element, and of those of ``others``, of its shape.
        """
        space = Space(self.statements, view.shape)
        element = space.element(view)
        if inside is not None:
            element = inside(element, *map(space.element, others))
        expression = space.reduced(op, element, dims)
        if finish is not None:
            expression = finish(expression)
        found = self._add(space, view.rank, expression, part)
        left = [dim for dim in range(view.rank) if dim not in dims]
        found = found.permuted(left)
        for dim in sorted(dims) if keepdim else ():
            found = found.unsqueezed(dim)
        return found

    def product(
        self,
        operands: Sequence[tuple[View, Sequence[Hashable]]],
        result: Sequence[Hashable],
        finish: Element | None = None,
        *others: View,
        part: str = "",
    ) -> View:
        """The sum of products over all labels of dimensions that the result lacks.

        finish
            makes an element of the sum and the elements of ``others``, which broadcast to the
            result.
        """
        labels = [*result, *(label for _, own in operands for label in own)]
        labels = [*dict.fromkeys(labels)]
        sizes = {label: 1 for label in labels}
        for view, own in operands:
            for size, label in zip(view.shape, own, strict=True):
                if size != 1:
                    sizes[label] = size
        placed: list[tuple[View, list[int | None]]] = []
        for number, (view, own) in enumerate(operands):
            at = _places(view, own, result, sizes)
            taken = view if is_carried(view, at) else plain(self, view, f"all{number}")
            placed.append((taken, at))
        space = Space(self.statements, tuple(sizes.values()))
        factors = [
            space.element(view.bare().spread([*map(labels.index, own)], len(labels)))
            for (view, _), (_, own) in zip(placed, operands, strict=True)
        ]
        whole = factors[0]
        for factor in factors[1:]:
            whole = Call("mul", (whole, factor))
        expression = space.reduced("sum", whole, range(len(result), len(labels)))
        if finish is not None:
            rest = [
                plain(self, each, f"added{number}").spread(
                    range(len(result) - each.rank, len(result)), len(labels)
                )
                for number, each in enumerate(others)
            ]
            expression = finish(expression, *map(space.element, rest))
        found = self._add(space, len(result), expression, part)
        return carried(found, placed)

    def reshaped(self, view: View, shape: Sequence[int]) -> View:
        """The elements in another shape that has other dimensions than those of size 1."""
        return moved.reshaped(self, view, shape)

    def part(self, view: View, dim: int, chosen: range) -> View:
        """Some of the elements along a dimension."""
        return moved.sliced(self, view, dim, chosen)

    def mean_of_none(self, view: View, dims: Sequence[int], keepdim: bool) -> View:
        """The mean over dimensions one of which has size 0."""
        self.refuse("a mean of no elements: must be of some")

    def _add(
        self,
        space: Space,
        rank: int,
        expression: EinsumExpression,
        part: str = "",
        is_repeated: bool = False,
    ) -> View:
        """The statement of an expression over the first ``rank`` dimensions of a space: its tensor
        has those that elements depend on; where they are repeated, all that are not of size 1,
        too."""
        names = self.statements.names
        name = names.claim(f"{self.name}_{part}") if part else self.name
        used = free_indices(expression)
        own = [
            dim
            for dim in range(rank)
            if space.indices[dim] in used or (is_repeated and space.shape[dim] != 1)
        ]
        result = Access(name, tuple(space.indices[dim] for dim in own))
        self.statements.added.append(Einsum(result, expression, place=self.place))
        self.statements.shapes[name] = tuple(space.shape[dim] for dim in own)
        modes = tuple(own.index(dim) if dim in own else None for dim in range(rank))
        return View(name, space.shape[:rank], modes)
