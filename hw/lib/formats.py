"""Number formats of datapaths, by name.

Floating point is IEEE 754 binary interchange style: sign, exponent, fraction, with subnormals and
infinities; NaN results are the canonical quiet NaN. Fixed point is two's complement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format. Source: IEEE 754-2019, section 3.4.

    Parameters: ``exponent`` width in bits (2 to 11); ``fraction`` width in bits, without the
    hidden bit (1 to 52).
    """

    exponent: int
    fraction: int

    @property
    def width(self) -> int:
        """Bits of one value."""
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def canonical_nan(self) -> int:
        """Bits of the quiet NaN that every operation returns: sign 0, top fraction bit set."""
        return ((1 << self.exponent) - 1) << self.fraction | 1 << (self.fraction - 1)

    @property
    def infinity(self) -> int:
        """Bits of plus infinity."""
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def largest(self) -> float:
        """The largest finite value; ``lowest`` is that below zero."""
        return (2 - 2.0**-self.fraction) * 2.0**self.bias

    @property
    def lowest(self) -> float:
        return -self.largest

    @property
    def smallest(self) -> float:
        """The smallest value above zero; what is half of it or less is rounded to zero."""
        return 2.0 ** (1 - self.bias - self.fraction)


@dataclass(frozen=True)
class FixedFormat:
    """Two's complement fixed point of ``width`` bits, ``fraction`` of them after the point.

    Sums wrap; products are rounded to nearest even and wrap.
    """

    width: int
    fraction: int

    @property
    def largest(self) -> float:
        return ((1 << self.width - 1) - 1) * self.smallest

    @property
    def lowest(self) -> float:
        return -(1 << self.width - 1) * self.smallest

    @property
    def smallest(self) -> float:
        """The smallest value above zero; what is half of it or less is rounded to zero."""
        return 2.0**-self.fraction


NumberFormat = FloatFormat | FixedFormat

FLOAT_FORMATS: dict[str, FloatFormat] = {
    "float32": FloatFormat(8, 23),
    "float16": FloatFormat(5, 10),
    "bfloat16": FloatFormat(8, 7),
    "float8_e5m2": FloatFormat(5, 2),
    "float8_e4m3": FloatFormat(4, 3),
}

_DTYPES: dict[str, np.dtype] = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3),
}

FORMAT_NAMES = ", ".join([*FLOAT_FORMATS, "fixedW.F (W = 4 to 32 bits, F < W after the point)"])


def parse_format(name: str) -> NumberFormat:
    """The format called ``name``, e.g. ``"float32"`` or ``"fixed16.8"``; ``ValueError`` if none."""
    if name in FLOAT_FORMATS:
        return FLOAT_FORMATS[name]
    match = re.fullmatch(r"fixed([0-9]{1,2})\.([0-9]{1,2})", name)
    if match and 4 <= int(match[1]) <= 32 and int(match[2]) < int(match[1]):
        return FixedFormat(int(match[1]), int(match[2]))
    raise ValueError(f"no number format {name!r}; there are {FORMAT_NAMES}")


def holds(name: str, values: np.ndarray) -> np.ndarray:
    """Whether float64 values, rounded to nearest, ties to even, are finite ones of a format."""
    kind = parse_format(name)
    if isinstance(kind, FixedFormat):
        half = kind.smallest / 2
        return (values >= kind.lowest - half) & (values < kind.largest + half)
    return np.abs(values) < kind.largest + 2.0 ** (kind.bias - kind.fraction - 1)


def range_of(name: str) -> str:
    """What the format called ``name`` holds, for error texts."""
    kind = parse_format(name)
    return f"{name} holds {kind.lowest} to {kind.largest}"


def float_dtype(name: str) -> np.dtype:
    """The NumPy (or ml_dtypes) type of a floating-point format."""
    return _DTYPES[name]
