"""Accesses by word addresses: what a program on the execute unit alone does with memory.

``address``, i32, counts from the array's first word; none is 0. ``offset`` is added to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, i64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    var_operand_def,
)


class Access(IRDLOperation):
    """What all accesses have."""

    array = prop_def(StringAttr)
    offset = prop_def(IntegerAttr)

    @property
    def place(self) -> tuple[str, int]:
        """The array's name, and the offset."""
        return self.array.data, self.offset.value.data


def _place(array: str, offset: int) -> dict[str, Attribute]:
    return {"array": StringAttr(array), "offset": IntegerAttr(offset, i64)}


@irdl_op_definition
class LoadOp(Access):
    """A word, or a vector of neighbours: 0 in lanes that ``mask`` lacks."""

    name = "flat.load"

    address = opt_operand_def()
    mask = opt_operand_def()
    value = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        type: Attribute,
        array: str,
        offset: int,
        address: SSAValue | None,
        mask: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[address, mask], properties=_place(array, offset), result_types=[type]
        )


@irdl_op_definition
class StoreOp(Access):
    """The same the other way round."""

    name = "flat.store"

    address = opt_operand_def()
    mask = opt_operand_def()
    value = operand_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        value: SSAValue,
        array: str,
        offset: int,
        address: SSAValue | None,
        mask: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[address, mask, value], properties=_place(array, offset))


@irdl_op_definition
class PrefetchOp(Access):
    """Brings the word's line into the cache, if there is such a line."""

    name = "flat.prefetch"

    address = opt_operand_def()

    def __init__(self, array: str, offset: int, address: SSAValue | None) -> None:
        super().__init__(operands=[address], properties=_place(array, offset))


@irdl_op_definition
class FetchOp(IRDLOperation):
    """``prefetch`` of ``array[indices]``, i32, before its words are numbered."""

    name = "flat.fetch"

    array_value = operand_def(MemRefType)
    indices = var_operand_def()

    def __init__(self, array: SSAValue, indices: Sequence[SSAValue]) -> None:
        super().__init__(operands=[array, list(indices)])


FLAT = Dialect("flat", [LoadOp, StoreOp, PrefetchOp, FetchOp], [])
