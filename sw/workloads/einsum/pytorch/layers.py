"""Layers of a model: the statements that belong together, which schedules may fuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    EinsumExpression,
    reductions,
)
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.tensor.expression import Call, Reduction

_LINEAR = frozenset(("add", "sub", "neg", "mul", "div"))


def with_layers(
    statements: Sequence[AnyStatement], children: Mapping[str, str]
) -> list[AnyStatement]:
    """The statements with their layers.

    A layer is a child of the module that has products. A product elsewhere joins the child that
    takes it, whatever linear is in between; other statements, and products that no child takes,
    join the last layer that makes an operand, or the first that takes what is made of inputs alone.
    Without such children layers are ``layer1`` and so on: each ends at what is not linear after its
    last product. No layer takes what a later one makes.

    children
        the child that a statement is of, by the tensor's name; of none at the root.
    """
    owners = {
        children[each.name]: None
        for each in statements
        if each.name in children and _is_product(each)
    }
    if not owners:
        return _numbered(statements)
    places = {child: place for place, child in enumerate(owners)}
    own = {name: places[child] for name, child in children.items() if child in places}
    found = _Layers(statements, own).places()
    names = ["", *owners]
    return [replace(each, layer=names[found[each.name] + 1]) for each in statements]


class _Layers:
    """Layers by their places in the order of their first products; -1 for none.

    ``own``: those of statements of children.
    """

    def __init__(self, statements: Sequence[AnyStatement], own: Mapping[str, int]) -> None:
        self._statements, self._own = statements, own
        self._takers = self._reached(_is_linear)
        self._next = self._reached(lambda each: True)

    def places(self) -> dict[str, int]:
        """The layer of each statement, none below those of its operands."""
        places: dict[str, int] = {}
        for each in self._statements:
            made = max([-1, *(places[a.tensor] for a in each.operands if a.tensor in places)])
            own, following = self._own.get(each.name), self._next.get(each.name)
            # A product that joined a child behind another that takes it would be in a circle.
            joins = _is_product(each) and self._takers.get(each.name) == following
            if own is None and (joins or made == -1):
                own = following
            places[each.name] = made if own is None else max(made, own)
        return places

    def _reached(self, passes: Callable[[AnyStatement], bool]) -> dict[str, int]:
        """The first layer that takes each tensor, or what statements make of it that ``passes``
        lets by."""
        reached: dict[str, int] = {}
        for each in reversed(self._statements):
            place = self._own.get(each.name)
            if place is None and passes(each):
                place = reached.get(each.name)
            if place is None:
                continue
            for access in each.operands:
                reached[access.tensor] = min(reached.get(access.tensor, place), place)
        return reached


def _numbered(statements: Sequence[AnyStatement]) -> list[AnyStatement]:
    """Layers without names."""
    numbers: dict[str, tuple[int, bool]] = {}  # with whether a function was applied in it
    for each in statements:
        made = [numbers[name] for name in {a.tensor for a in each.operands} if name in numbers]
        number, is_over = max(made, default=(1, False))
        if _is_product(each) and is_over:
            number, is_over = number + 1, False
        numbers[each.name] = number, is_over or not _is_linear(each)
    return [replace(each, layer=f"layer{numbers[each.name][0]}") for each in statements]


def _is_product(statement: AnyStatement) -> bool:
    """Whether it has a sum of products of tensors."""
    if isinstance(statement, Rearrangement):
        return False
    sums = (each for each in reductions(statement.expression) if each.op == "sum")
    return any(isinstance(each.part, Call) for each in sums)


def _is_linear(statement: AnyStatement) -> bool:
    return isinstance(statement, Rearrangement) or _has_linear(statement.expression)


def _has_linear(expression: EinsumExpression) -> bool:
    """Whether nothing in an expression is not linear."""
    match expression:
        case Call(function, arguments):
            return function in _LINEAR and all(map(_has_linear, arguments))
        case Reduction(op, _, part):
            return op == "sum" and _has_linear(part)
    return True
