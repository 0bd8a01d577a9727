"""Layers of a model: the statements that belong together, which schedules may fuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    accesses,
    reductions,
)
from gnarl.sw.workloads.tensor.expression import Call, Reduction

_LINEAR = frozenset(("add", "sub", "neg", "mul", "div"))


def with_layers(statements: Sequence[Einsum], children: Mapping[str, str]) -> list[Einsum]:
    """The statements with their layers.

    A layer is a child of the module that has products. A product elsewhere joins the child that
    takes it, whatever linear is in between, else the layer that makes an operand; what is no
    product joins the layer that makes an operand. Without such children layers are ``layer1`` and
    so on: each ends at what is not linear after its last product.

    children
        the child that a statement is of, by the tensor's name; of none at the root.
    """
    with_products = {
        children[each.name] for each in statements if each.name in children and _is_product(each)
    }
    if not with_products:
        return _numbered(statements)
    own = {name: child for name, child in children.items() if child in with_products}
    return _Layers(statements, own).run()


class _Layers:
    def __init__(self, statements: Sequence[Einsum], children: Mapping[str, str]) -> None:
        self._statements, self._children = statements, children
        self._by_name = {each.name: each for each in statements}
        self._consumers: dict[str, list[Einsum]] = {}
        for statement in statements:
            for access in statement.operands:
                self._consumers.setdefault(access.tensor, []).append(statement)

    def run(self) -> list[Einsum]:
        layers: dict[str, str] = {}
        for each in self._statements:
            layer = self._children.get(each.name)
            made = [*self._makers(each, layers)]
            if layer is None and (_is_product(each) or not made):
                layer = self._taker(each)
            layers[each.name] = layer if layer is not None else (made or [""])[-1]
        return [replace(each, layer=layers[each.name]) for each in self._statements]

    def _makers(self, statement: Einsum, layers: Mapping[str, str]) -> Iterator[str]:
        """Layers that make operands, the last one last."""
        taken = {access.tensor for access in statement.operands}
        return (layers[name] for name in self._by_name if name in taken and layers[name])

    def _taker(self, statement: Einsum) -> str | None:
        """The first child that takes a tensor or what is linear in it."""
        waiting, seen = [statement], {statement.name}
        while waiting:
            for each in self._consumers.get(waiting.pop(0).name, ()):
                if each.name in self._children:
                    return self._children[each.name]
                if each.name not in seen and _is_linear(each.expression):
                    seen.add(each.name)
                    waiting.append(each)
        return None


def _numbered(statements: Sequence[Einsum]) -> list[Einsum]:
    """Layers without names."""
    numbers: dict[str, tuple[int, bool]] = {}  # with whether a function was applied in it
    for each in statements:
        made = [numbers[name] for name in {a.tensor for a in each.operands} if name in numbers]
        number, is_over = max(made, default=(1, False))
        if _is_product(each) and is_over:
            number, is_over = number + 1, False
        numbers[each.name] = number, is_over or not _is_linear(each.expression)
    return [replace(each, layer=f"layer{numbers[each.name][0]}") for each in statements]


def _is_product(statement: Einsum) -> bool:
    """Whether it has a sum of products of tensors."""
    return any(
        each.op == "sum" and isinstance(each.part, Call) and len([*accesses(each.part)]) > 1
        for each in reductions(statement.expression)
    )


def _is_linear(expression: EinsumExpression) -> bool:
    match expression:
        case Call(function, arguments):
            return function in _LINEAR and all(map(_is_linear, arguments))
        case Reduction(op, _, part):
            return op == "sum" and _is_linear(part)
    return True
