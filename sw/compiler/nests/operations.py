"""Operations of MLIR's dialects, by what passes may do with them."""

from __future__ import annotations

from xdsl.dialects import arith, math, memref, vector
from xdsl.ir import Operation, SSAValue

FLOAT_BINARY = (
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.DivfOp,
    arith.MinimumfOp,
    arith.MaximumfOp,
)
FLOAT_UNARY = (arith.NegfOp, math.AbsFOp, math.SqrtOp)
INTEGER_SUMS = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
INTEGER_BINARY = (*INTEGER_SUMS, arith.MinSIOp, arith.MaxSIOp)

ADDRESSES = (
    arith.ConstantOp,
    arith.IndexCastOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.ShLIOp,
)
"""What indices and bounds are computed by."""

PURE = (
    *ADDRESSES,
    *FLOAT_BINARY,
    *FLOAT_UNARY,
    arith.MinSIOp,
    arith.MaxSIOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.ShRSIOp,
    arith.CmpiOp,
    arith.CmpfOp,
    arith.SelectOp,
    arith.SIToFPOp,
)
"""What may be done in vain: of scalars."""

LOADS = (memref.LoadOp, vector.LoadOp, vector.MaskedLoadOp)
STORES = (memref.StoreOp, vector.StoreOp, vector.MaskedStoreOp)


def array_of(access: Operation) -> SSAValue:
    """The array that one of ``LOADS`` or ``STORES`` accesses."""
    match access:
        case memref.LoadOp() | memref.StoreOp():
            return access.memref
        case vector.LoadOp() | vector.StoreOp() | vector.MaskedLoadOp() | vector.MaskedStoreOp():
            return access.base
    raise AssertionError(access.name)


def stored_value(store: Operation) -> SSAValue:
    """The value that one of ``STORES`` stores."""
    if isinstance(store, vector.MaskedStoreOp):
        return store.value_to_store
    return store.operands[0]


def written_arrays(root: Operation) -> set[SSAValue]:
    """Arrays that ``STORES`` inside of an operation write."""
    return {array_of(each) for each in root.walk() if isinstance(each, STORES)}
