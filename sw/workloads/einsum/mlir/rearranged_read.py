"""Operations of MLIR's tensor dialect, read as statements that move elements.

Those that ``rearranged_write`` writes are parts of a statement; any other is a statement, which
joins or splits one dimension, or takes a part of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Operation, SSAValue

from gnarl.sw.workloads.einsum.mlir.body import (
    Moved,
    Named,
    Part,
    Unsupported,
    Value,
    loops_of,
)
from gnarl.sw.workloads.einsum.rearrangement import Concat, Pattern, Reshape, Slice
from gnarl.sw.workloads.tensor.expression import Access

OPERATIONS = (
    tensor.CollapseShapeOp,
    tensor.ConcatOp,
    tensor.ExpandShapeOp,
    tensor.ExtractSliceOp,
    tensor.FromElementsOp,
)
"""What moves elements."""


def moved(operation: Operation, known: Mapping[SSAValue, Value], fresh: Iterator[str]) -> Moved:
    """What one of ``OPERATIONS`` gives. Raises ``Unsupported``.

    fresh
        names for dimensions that have none.
    """
    reader = _Reader(operation, known, fresh)
    match operation:
        case tensor.CollapseShapeOp():
            return reader.collapsed(operation)
        case tensor.ExpandShapeOp():
            return reader.expanded(operation)
        case tensor.ConcatOp():
            return reader.concatenated(operation)
        case tensor.ExtractSliceOp():
            return reader.sliced(operation)
    assert isinstance(operation, tensor.FromElementsOp)
    return reader.spread(operation)


def reordered(operation: LinalgStructuredOperation, whole: Moved) -> Moved:
    """What moved elements are when an operation copies them. Raises ``Unsupported``."""
    block = operation.body.block
    places = _permuted(operation)
    is_copy = isinstance(block.last_op, YieldOp) and block.last_op.operands[0] is block.args[0]
    if len(operation.operands) != 2 or not is_copy or places is None:
        raise Unsupported("must copy what was moved, with its dimensions in another order")
    at = dict(zip(places[0], whole.dims, strict=True))
    return replace(whole, dims=tuple(at[place] for place in places[1]))


def _permuted(operation: LinalgStructuredOperation) -> list[tuple[int, ...]] | None:
    """The loop of each dimension of each operand, the output last; ``None`` where one has not
    every loop once."""
    loops = [*range(len(operation.get_iterator_types()))]
    places = [loops_of(each.data, loops) for each in operation.get_indexing_maps()]
    return places if all(sorted(each) == loops for each in places) else None


def compares(operation: LinalgStructuredOperation) -> bool:
    """Whether an operation makes a pattern: it compares elements with a number."""
    return any(isinstance(each, arith.CmpfOp) for each in operation.body.block.ops)


def pattern(
    operation: LinalgStructuredOperation, known: Mapping[SSAValue, Value], fresh: Iterator[str]
) -> Moved:
    """The pattern that an operation makes. Raises ``Unsupported``."""
    block = operation.body.block
    places = _permuted(operation)
    value = known.get(operation.operands[0])
    match list(block.ops):
        case [
            arith.ConstantOp(value=FloatAttr(value=number)) as constant,
            arith.CmpfOp() as compared,
            arith.UIToFPOp() as there,
            YieldOp() as end,
        ] if (
            [*compared.operands] == [block.args[0], constant.result]
            and [*there.operands] == [compared.result]
            and [*end.operands] == [there.result]
        ):
            pass
        case _:
            raise Unsupported(_COMPARES)
    if len(operation.operands) != 2 or not isinstance(value, Named):
        raise Unsupported(_COMPARES)
    if places is None:
        raise Unsupported("a pattern must have each dimension of its tensor once")
    names = strings(operation, "indices") or tuple(
        next(fresh) for _ in operation.get_iterator_types()
    )
    at = dict(zip(places[1], names, strict=True))
    access = Access(value.name, tuple(at[place] for place in places[0]))
    predicate = arith.CMPF_COMPARISON_OPERATIONS[compared.predicate.value.data]
    return Moved(Pattern(predicate[1:], float(number.data)), (access,), names)


_COMPARES = (
    "a pattern must be of a tensor, and yield arith.uitofp of arith.cmpf of an element and a number"
)


def strings(operation: Operation, name: str) -> tuple[str, ...] | None:
    """Texts of an attribute, if there is one."""
    attribute = operation.attributes.get(name)
    if not isinstance(attribute, ArrayAttr):
        return None
    return tuple(each.data for each in attribute if isinstance(each, StringAttr))


class _Reader:
    def __init__(
        self, operation: Operation, known: Mapping[SSAValue, Value], fresh: Iterator[str]
    ) -> None:
        self._operation, self._known, self._fresh = operation, known, fresh
        self._names = strings(operation, "indices")

    def collapsed(self, operation: tensor.CollapseShapeOp) -> Moved:
        value = self._known.get(operation.src)
        if isinstance(value, Moved) and not _shape(operation.result):
            return replace(value, dims=())
        operand, dims = self._operand(operation.src, strings(operation, "from"))
        groups = _groups(operation.reassociation, dims)
        if sum(len(group) > 1 for group in groups) > 1:
            raise Unsupported("must join dimensions to one")
        joined = tuple(group[0] if len(group) == 1 else next(self._fresh) for group in groups)
        return Moved(Reshape(), (operand,), self._names or joined)

    def expanded(self, operation: tensor.ExpandShapeOp) -> Moved:
        value = self._known.get(operation.src)
        dims = self._names
        if isinstance(value, Moved) and dims is not None:
            (operand,) = value.operands
        else:
            operand, before = self._operand(operation.src, strings(operation, "from"))
            counts = [len(group) for group in operation.reassociation]
            if sum(count != 1 for count in counts) > 1:
                raise Unsupported("must split one dimension")
            names = (
                [dim] if count == 1 else [next(self._fresh) for _ in range(count)]
                for dim, count in zip(before, counts, strict=True)
            )
            dims = dims or tuple(name for group in names for name in group)
        sizes = zip(dims, _sizes(operation), strict=True)
        given = ((index, size) for index, size in sizes if index not in operand.indices)
        known = tuple((index, size) for index, size in given if size is not None)
        return Moved(Reshape(known), (operand,), dims)

    def spread(self, operation: tensor.FromElementsOp) -> Moved:
        if len(operation.elements) != 1:
            raise Unsupported("must be of one element")
        operand, _ = self._operand(operation.elements[0], ())
        dims = self._names or self._named(operation.results[0])
        return Moved(Reshape(tuple((index, 1) for index in dims[1:])), (operand,), dims)

    def concatenated(self, operation: tensor.ConcatOp) -> Moved:
        place = operation.dim.value.data
        dims = self._names or self._named(operation.result)
        own = strings(operation, "own") or tuple(next(self._fresh) for _ in operation.inputs)
        operands: list[Access] = []
        for value, name in zip(operation.inputs, own, strict=True):
            there = self._known.get(value)
            if isinstance(there, Moved):  # with a dimension more, of one coordinate
                operands += there.operands
            else:
                names = (*dims[:place], name, *dims[place + 1 :])
                operands.append(self._operand(value, names)[0])
        return Moved(Concat(), tuple(operands), dims)

    def sliced(self, operation: tensor.ExtractSliceOp) -> Moved:
        operand, dims = self._operand(operation.source, strings(operation, "from"))
        starts, counts, steps = (
            each.get_values()
            for each in (
                operation.static_offsets,
                operation.static_sizes,
                operation.static_strides,
            )
        )
        shape = _shape(operation.source)
        places = [
            at
            for at, (start, count, step) in enumerate(zip(starts, counts, steps, strict=True))
            if start or step != 1 or count not in (DYNAMIC_INDEX, shape[at])
        ]
        if len(places) != 1 or DYNAMIC_INDEX in (starts + counts + steps)[places[0] :: len(dims)]:
            raise Unsupported("must take a part of one dimension, whose bounds are numbers")
        (at,) = places
        how = Slice(dims[at], starts[at], starts[at] + counts[at] * steps[at], steps[at])
        kept = len(_shape(operation.result)) == len(dims)
        made = (next(self._fresh),) if kept else ()
        return Moved(how, (operand,), self._names or (*dims[:at], *made, *dims[at + 1 :]))

    def _operand(
        self, value: SSAValue, names: Sequence[str] | None
    ) -> tuple[Access, tuple[str, ...]]:
        """A tensor at indices, and these in the order of the value's dimensions."""
        match self._known.get(value):
            case Named(tensor):
                dims = tuple(names) if names is not None else self._named(value)
                return Access(tensor, dims), dims
            case Part(Access() as access, dims):
                return access, dims
        raise Unsupported("must take a tensor")

    def _named(self, value: SSAValue) -> tuple[str, ...]:
        return tuple(next(self._fresh) for _ in _shape(value))


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.get_shape()


def _groups(
    reassociation: ArrayAttr[ArrayAttr[IntegerAttr]], dims: Sequence[str]
) -> list[list[str]]:
    return [[dims[each.value.data] for each in group] for group in reassociation]


def _sizes(operation: tensor.ExpandShapeOp) -> list[int | None]:
    """Sizes of the dimensions of what is expanded, where they are numbers."""
    given = iter(operation.dynamic_output_shape)
    return [
        _number(next(given)) if size == DYNAMIC_INDEX else size
        for size in operation.static_output_shape.get_values()
    ]


def _number(value: SSAValue) -> int | None:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
    return None
