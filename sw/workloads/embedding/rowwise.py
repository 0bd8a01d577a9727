"""Tables of quantised rows: codes of 8 or 4 bits, with a scale and a bias for each row.

An element is ``scale * value + bias`` in float32, rounded once, as by a fused multiply-add, where
``value`` is what its code stands for. As in FBGEMM's fused rows codes come first, and of two in a
byte the low one; scale and bias follow in float32, from the next multiple of 8 bytes on. Rows are
padded to multiples of 16 bytes, as those of its inference tables on a GPU, so that a table of
[rows, dim] is uint8 [rows, row bytes].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

from gnarl.hw.lib.errors import WorkloadError

_SCALE_ALIGNMENT = 8
_ROW_ALIGNMENT = 16
_SCALE_BYTES = 8
"""Bytes of a row's scale and bias."""


@dataclass(frozen=True)
class RowwiseFormat:
    """Codes of a row, and where in it they are.

    bits
        of a code.
    type
        NumPy's, of what codes stand for.
    """

    bits: int
    type: np.dtype

    @cached_property
    def values(self) -> np.ndarray:
        """float32 [codes]: what each code stands for."""
        return np.arange(1 << self.bits, dtype=np.uint8).view(self.type).astype(np.float32)

    @property
    def per_byte(self) -> int:
        """Codes of a byte; dims are multiples of that."""
        return 8 // self.bits

    def scale_place(self, dim: int) -> int:
        """Bytes from a row's begin to its scale, which its bias follows."""
        return _round_up(dim // self.per_byte, _SCALE_ALIGNMENT)

    def row_bytes(self, dim: int) -> int:
        return _round_up(self.scale_place(dim) + _SCALE_BYTES, _ROW_ALIGNMENT)

    def rows(self, codes: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """uint8 [rows, row bytes] of codes, uint8 [rows, dim], and real numbers [rows]."""
        dim = codes.shape[1]
        rows = np.zeros((len(codes), self.row_bytes(dim)), np.uint8)
        for place in range(self.per_byte):
            part = codes[:, place :: self.per_byte] << np.uint8(place * self.bits)
            rows[:, : dim // self.per_byte] |= part
        parts = np.stack([scale, bias], axis=1).astype(np.float32).view(np.uint8)
        rows[:, self.scale_place(dim) :][:, :_SCALE_BYTES] = parts
        return rows

    def elements(self, rows: np.ndarray, dim: int) -> np.ndarray:
        """float32 [n, dim], from uint8 [n, row bytes]."""
        place = self.scale_place(dim)
        parts = np.ascontiguousarray(rows[:, place : place + _SCALE_BYTES]).view(np.float32)
        octets = rows[:, : dim // self.per_byte, None]
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        codes = (octets >> shifts & np.uint8((1 << self.bits) - 1)).reshape(len(rows), dim)
        return _fused_multiply_add(parts[:, :1], self.values[codes], parts[:, 1:])


ROWWISE_FORMATS = {
    "int8_rowwise": RowwiseFormat(8, np.dtype(np.uint8)),
    "int4_rowwise": RowwiseFormat(4, np.dtype(np.uint8)),
    "fp8_rowwise": RowwiseFormat(8, np.dtype(ml_dtypes.float8_e4m3fn)),
}
"""Types of quantised tables, by name. Integers are from 0 on; fp8 is e4m3 without infinities, and
its NaN is not supported."""


@dataclass(frozen=True)
class RowwiseTable:
    """A quantised table whose rows are float32 [n, dim] when they are taken: ``table[rows]``.

    stored
        uint8 [rows, row bytes].
    """

    stored: np.ndarray
    dim: int
    format: RowwiseFormat

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.stored), self.dim

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, rows: np.ndarray | slice) -> np.ndarray:
        return self.format.elements(self.stored[rows], self.dim)


def quantise(table: np.ndarray, type: str) -> np.ndarray:
    """Rows of ``type``, a name of ``ROWWISE_FORMATS``, that are near a table's: [rows, dim].

    Integer codes spread over each row's range from its least element, the bias, to its greatest: no
    element is off by more than half the row's scale. Codes of fp8 are scaled to the row's greatest
    magnitude, and the bias is 0: an element is off by 1/16 of itself, or 2^-10 of the scale if that
    is more. What rounding elements to float32 adds comes besides.

    Raises ``WorkloadError`` for an unknown type, for another shape, for a dim whose codes do not
    fill bytes, and for elements that are not finite in float32.
    """
    format = _format(type)
    if table.ndim != 2 or table.shape[1] % format.per_byte:
        raise WorkloadError(
            f"table: is {list(table.shape)}: must be [rows, dim], dim a multiple of "
            f"{format.per_byte} for {type}"
        )
    with np.errstate(over="ignore"):
        elements = table.astype(np.float32).astype(np.float64)
    if not np.isfinite(elements).all():
        raise WorkloadError("table: must be finite in float32")
    if format.type == np.uint8:
        bias = elements.astype(np.float32).min(axis=1, keepdims=True, initial=np.inf)
        spread = (elements - bias).max(axis=1, keepdims=True, initial=0)
    else:
        bias = np.zeros((len(table), 1), np.float32)
        spread = np.abs(elements).max(axis=1, keepdims=True, initial=0)
    greatest = np.nanmax(format.values).astype(np.float64)
    scale = _rounded_up(spread / greatest)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.where(scale > 0, (elements - bias) / scale.astype(np.float64), 0)
    if format.type == np.uint8:
        quotients = np.rint(quotients)
    codes = np.clip(quotients, -greatest, greatest).astype(format.type).view(np.uint8)
    return format.rows(codes, scale[:, 0], bias[:, 0])


def _format(type: str) -> RowwiseFormat:
    if type not in ROWWISE_FORMATS:
        raise WorkloadError(f"type = {type!r}: must be one of {', '.join(ROWWISE_FORMATS)}")
    return ROWWISE_FORMATS[type]


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _rounded_up(numbers: np.ndarray) -> np.ndarray:
    """Rounds to float32, never down, so that no code is beyond the greatest."""
    rounded = numbers.astype(np.float32)
    return np.where(rounded < numbers, np.nextafter(rounded, np.float32(np.inf)), rounded)


def _fused_multiply_add(scale: np.ndarray, values: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """``scale * values + bias`` of float32, rounded once.

    Products are exact in float64. Sums there are rounded to odd, with which a second rounding to
    float32 gives what a single one would (Boldo and Melquiond, "Emulation of a FMA and correctly
    rounded sums: proved algorithms using rounding to odd", 2008).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        products, bias = scale.astype(np.float64) * values, bias.astype(np.float64)
        sums = products + bias
        # What the rounded sum is short of the exact one (Knuth's two-sum).
        other = sums - products
        error = (products - (sums - other)) + (bias - other)
        even = sums.view(np.uint64) & np.uint64(1) == 0
        away = np.nextafter(sums, np.copysign(np.inf, error))
        return np.where(even & (np.abs(error) > 0), away, sums).astype(np.float32)
