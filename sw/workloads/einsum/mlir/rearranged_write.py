"""Statements that move elements, written as operations of MLIR's tensor dialect.

A reshape is a ``tensor.collapse_shape`` to one dimension and a ``tensor.expand_shape`` of that, in
which sizes that the statement gives are constants and the one that follows is a quotient; the
others are a ``tensor.concat``, a ``tensor.extract_slice``, and, of a pattern, a ``linalg.generic``
that compares. What must have its dimensions in another order for that is copied by a
``linalg.generic``. All have the attributes
``statement`` and ``indices``, the names of the dimensions of what they give; the first one of an
operand may have ``from``, names of its dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Pattern,
    Rearrangement,
    Reshape,
    Slice,
)
from gnarl.sw.workloads.tensor.expression import Access

Type: TypeAlias = TensorType[Any]

JOINED = "joined"
"""What the dimension is called that a reshape joins all others to."""


def write_rearrangement(
    builder: Builder, statement: Rearrangement, values: Mapping[str, SSAValue], result: Type
) -> SSAValue:
    """Writes a statement; returns the value of its tensor, which has the type ``result``.

    ``values``: of tensors by name.
    """
    return _Writer(builder, statement, values, result).written()


class _Writer:
    def __init__(
        self,
        builder: Builder,
        statement: Rearrangement,
        values: Mapping[str, SSAValue],
        result: Type,
    ) -> None:
        self._builder, self._statement = builder, statement
        self._values, self._result = values, result

    def written(self) -> SSAValue:
        statement = self._statement
        match statement.how:
            case Reshape() as how:
                return self._reshaped(how)
            case Concat():
                return self._concatenated()
            case Slice() as how:
                return self._sliced(how)
            case Pattern() as how:
                return self._pattern(how)
            case how:
                raise WorkloadError(
                    f"{statement.place or 'program'}: statement {statement.name} is a {how.kind}, "
                    "which no operation of MLIR is: must be an input"
                )

    def _reshaped(self, how: Reshape) -> SSAValue:
        statement, (operand,) = self._statement, self._statement.operands
        wanted, made = statement.result.indices, statement.made
        shared = tuple(index for index in wanted if index not in made)
        there = (*shared, *made)
        value = self._ordered(operand, dims := (*shared, *statement.own(operand)))
        sizes = {index: self._dim(value, place) for place, index in enumerate(shared)}
        sizes |= {index: self._index(size) for index, size in how.sizes}
        flat = self._joined(value, dims)
        for index in made:
            if index not in sizes:
                sizes[index] = self._rest(flat, list(sizes.values()))
        type = self._result if there == wanted else self._plain(len(there))
        split = self._split(flat, there, [sizes[index] for index in there], type)
        return split if there == wanted else self._copied(split, there, wanted, self._result)

    def _concatenated(self) -> SSAValue:
        wanted, (along,) = self._statement.result.indices, self._statement.made
        parts, names = [], []
        for operand in self._statement.operands:
            own = self._statement.own(operand)
            if own:
                dims = tuple(own[0] if index == along else index for index in wanted)
                parts.append(self._ordered(operand, dims))
            else:
                parts.append(self._with_one(operand, along))
            names.append(own[0] if own else "")
        operation = tensor.ConcatOp(parts, wanted.index(along), self._result)
        return self._inserted(operation, wanted, {"own": strings(names)})

    def _with_one(self, operand: Access, along: str) -> SSAValue:
        """An operand with a dimension of one coordinate where the result has ``along``."""
        wanted = self._statement.result.indices
        dims = tuple(index for index in wanted if index != along)
        value = self._ordered(operand, dims)
        sizes = {index: self._dim(value, place) for place, index in enumerate(dims)}
        split = [sizes[index] if index in sizes else self._index(1) for index in wanted]
        return self._split(self._joined(value, dims), wanted, split, self._plain(len(wanted)))

    def _sliced(self, how: Slice) -> SSAValue:
        (operand,), made = self._statement.operands, self._statement.made
        wanted = self._statement.result.indices
        dims = tuple(how.index if index in made else index for index in wanted)
        dims = dims if made else (*dims, how.index)
        value, place = self._ordered(operand, dims), dims.index(how.index)
        whole = range(len(dims))
        operation = tensor.ExtractSliceOp(
            value,
            [how.start if at == place else 0 for at in whole],
            [len(how.coordinates) if at == place else self._dim(value, at) for at in whole],
            [how.step if at == place else 1 for at in whole],
            self._result,
        )
        return self._inserted(operation, wanted, {"from": strings(dims)})

    def _pattern(self, how: Pattern) -> SSAValue:
        (operand,), wanted = self._statement.operands, self._statement.result.indices
        value = self._values[operand.tensor]
        block = Block(arg_types=[self._result.element_type] * 2)
        body = Builder(InsertPoint.at_end(block))
        number = body.insert(arith.ConstantOp(FloatAttr(how.number, self._result.element_type)))
        predicate = f"{'u' if how.comparison == 'ne' else 'o'}{how.comparison}"
        there = body.insert(arith.CmpfOp(block.args[0], number.result, predicate))
        one = body.insert(arith.UIToFPOp(there.result, self._result.element_type))
        body.insert(YieldOp(one.result))
        return self._mapped(value, operand.indices, wanted, self._result, block)

    # Parts of all of them.

    def _ordered(self, operand: Access, dims: tuple[str, ...]) -> SSAValue:
        """An operand with its dimensions in this order."""
        value = self._values[operand.tensor]
        if operand.indices == dims:
            return value
        return self._copied(value, operand.indices, dims, self._plain(len(dims)))

    def _copied(
        self, value: SSAValue, dims: Sequence[str], wanted: Sequence[str], type: Type
    ) -> SSAValue:
        block = Block(arg_types=[type.element_type] * 2)
        block.add_op(YieldOp(block.args[0]))
        return self._mapped(value, dims, wanted, type, block)

    def _mapped(
        self,
        value: SSAValue,
        dims: Sequence[str],
        wanted: Sequence[str],
        type: Type,
        block: Block,
    ) -> SSAValue:
        """What a body makes of each element, with dimensions in another order."""
        sizes = [self._dim(value, dims.index(index)) for index in wanted]
        out = self._builder.insert(tensor.EmptyOp(sizes, type)).tensor
        maps = (
            AffineMap(len(dims), 0, tuple(AffineExpr.dimension(wanted.index(i)) for i in each))
            for each in (dims, wanted)
        )
        parallel = [IteratorTypeAttr.parallel()] * len(wanted)
        operation = GenericOp(
            [value], [out], Region(block), [*map(AffineMapAttr, maps)], parallel, [type]
        )
        return self._inserted(operation, wanted)

    def _joined(self, value: SSAValue, dims: Sequence[str]) -> SSAValue:
        """A value with all its dimensions joined to one."""
        plain = self._plain(1)
        if dims:
            joined: Operation = tensor.CollapseShapeOp.build(
                operands=[value],
                result_types=[plain],
                properties={"reassociation": _together(len(dims))},
            )
            return self._inserted(joined, [JOINED], {"from": strings(dims)})
        element = self._builder.insert(tensor.ExtractOp(value, [], plain.element_type)).result
        type = TensorType(plain.element_type, [1])
        joined = tensor.FromElementsOp.build(operands=[[element]], result_types=[type])
        value = self._inserted(joined, [JOINED])
        return self._builder.insert(tensor.CastOp(value, plain)).dest

    def _split(
        self, flat: SSAValue, dims: Sequence[str], sizes: Sequence[SSAValue], type: Type
    ) -> SSAValue:
        """The only dimension of a value split into others; dropped for none."""
        if dims:
            order = len(dims)
            dynamic = [DYNAMIC_INDEX] * order
            split = tensor.ExpandShapeOp(flat, sizes, _together(order), dynamic, type)
            return self._inserted(split, dims)
        dropped = tensor.CollapseShapeOp.build(
            operands=[flat], result_types=[type], properties={"reassociation": ArrayAttr([])}
        )
        return self._inserted(dropped, dims)

    def _rest(self, flat: SSAValue, sizes: Sequence[SSAValue]) -> SSAValue:
        """What is left of the only dimension when it is split into such sizes."""
        rest = self._dim(flat, 0)
        for each in sizes:
            rest = self._builder.insert(arith.DivUIOp(rest, each)).result
        return rest

    def _inserted(
        self, operation: Operation, dims: Sequence[str], more: Mapping[str, Attribute] = {}
    ) -> SSAValue:
        operation.attributes["statement"] = StringAttr(self._statement.name)
        operation.attributes["indices"] = strings(dims)
        operation.attributes |= more
        return self._builder.insert(operation).results[0]

    def _plain(self, order: int) -> Type:
        return TensorType(self._result.element_type, [DYNAMIC_INDEX] * order)

    def _index(self, value: int) -> SSAValue:
        return self._builder.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result

    def _dim(self, value: SSAValue, place: int) -> SSAValue:
        return self._builder.insert(tensor.DimOp(value, self._index(place))).result


def strings(names: Sequence[str]) -> ArrayAttr[StringAttr]:
    """Texts as an attribute."""
    return ArrayAttr(StringAttr(name) for name in names)


def _together(order: int) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    """All dimensions in one group."""
    return ArrayAttr([ArrayAttr([IntegerAttr(place, i64) for place in range(order)])])
