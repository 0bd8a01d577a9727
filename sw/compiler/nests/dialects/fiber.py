"""Loops over merged fibers, beside the loops of scf: MLIR's dialects have none."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, StringAttr, i1, i32
from xdsl.ir import Attribute, Dialect, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

INTERSECT, UNION = "intersect", "union"


class Merging(IRDLOperation):
    """What loops over merged fibers have at every level: fiber n is ``coordinates[n]`` between
    ``lowers[n]`` and ``uppers[n]``; the body's arguments begin with the coordinate and each fiber's
    position."""

    kind = prop_def(StringAttr)
    coordinates = var_operand_def(MemRefType)
    lowers = var_operand_def()
    uppers = var_operand_def()
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        kind: str,
        coordinates: Sequence[SSAValue],
        lowers: Sequence[SSAValue],
        uppers: Sequence[SSAValue],
        body: Region,
    ) -> None:
        super().__init__(
            operands=[list(coordinates), list(lowers), list(uppers)],
            properties={"kind": StringAttr(kind)},
            regions=[body],
        )

    def verify_bounds(self) -> None:
        count = len(self.coordinates)
        if count < 2 or len(self.lowers) != count or len(self.uppers) != count:
            raise VerifyException("must have two fibers or more, each with both of its bounds")

    @property
    def positions(self) -> Sequence[SSAValue]:
        return self.body.block.args[1 : 1 + len(self.coordinates)]


@irdl_op_definition
class MergeOp(Merging):
    """Merges fibers n, ``coordinates[n][lowers[n]:uppers[n]]``, ascending, by their coordinates.

    The body runs once for each coordinate that all have (``kind`` ``"intersect"``) or that any has
    (``"union"``). Its arguments are the coordinate and each fiber's position of it, i32, and of a
    union, i1, whether each fiber has it; the position of one that has not is its next larger one's.
    """

    name = "fiber.merge"

    def verify_(self) -> None:
        count = len(self.coordinates)
        if self.kind.data not in (INTERSECT, UNION):
            raise VerifyException(f"kind {self.kind.data!r}: must be {INTERSECT!r} or {UNION!r}")
        self.verify_bounds()
        if any(each.type != i32 for each in (*self.lowers, *self.uppers)):
            raise VerifyException("bounds must be i32")
        if [each.type for each in self.body.block.args] != arguments(self.kind.data, count):
            raise VerifyException(
                "the body's arguments must be the coordinate and all positions, i32"
                + (", and all presences, i1" if self.kind.data == UNION else "")
            )

    @property
    def is_union(self) -> bool:
        return self.kind.data == UNION

    @property
    def present(self) -> Sequence[SSAValue]:
        """Whether each fiber of a union has the coordinate, in the body."""
        return self.body.block.args[1 + len(self.coordinates) :]


def arguments(kind: str, count: int) -> list[Attribute]:
    """Types of the body's arguments, with ``count`` fibers."""
    return [i32] * (1 + count) + ([i1] * count if kind == UNION else [])


FIBER = Dialect("fiber", [MergeOp], [])
