"""Data words: raw bits, in uint32, of numbers in one of ``gnarl.hw.lib.formats``."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat, holds, parse_format, range_of
from gnarl.sw.golden.arithmetic import arithmetic

_MANY = 1 << 16
"""Numbers that are converted at a time."""


class RangeError(ValueError):
    """A value that a format does not hold.

    ``index`` is its place in the array, ``value`` is float64, and ``reason`` says what the format
    holds.
    """

    def __init__(self, index: tuple[int, ...], value: float, reason: str) -> None:
        self.index, self.value, self.reason = index, value, reason
        super().__init__(f"value [{', '.join(map(str, index))}] = {value}: {reason}")


def to_words(values: np.ndarray, format: str) -> np.ndarray:
    """The words (uint32) nearest to float64 ``values``, ties to even; any shape.

    Floating point: subnormals and infinities are kept, NaN becomes the canonical NaN. Raises
    ``RangeError`` for the first finite value that rounds to an infinity, and in fixed point for the
    first one that is beyond the format's range, infinite or NaN.
    """
    values = np.asarray(values, np.float64)
    if values.ndim == 1 and len(values) > _MANY:
        return _many_words(values, format)
    kind = parse_format(format)
    if isinstance(kind, FloatFormat):
        _refuse(values, np.isfinite(values) & ~holds(format, values), range_of(format))
        return float_words(values, kind)
    _refuse(values, ~holds(format, values), range_of(format))
    scaled = np.rint(np.ldexp(values, kind.fraction))
    return (scaled.astype(np.int64) & ((1 << kind.width) - 1)).astype(np.uint32)


def _many_words(values: np.ndarray, format: str) -> np.ndarray:
    """What ``to_words`` gives, part by part: there are many numbers on the way from each to its
    word."""
    words = np.empty(len(values), np.uint32)
    for first in range(0, len(values), _MANY):
        part = slice(first, first + _MANY)
        try:
            words[part] = to_words(values[part], format)
        except RangeError as error:
            raise RangeError((error.index[0] + first,), error.value, error.reason) from None
    return words


def from_words(words: np.ndarray, format: str) -> np.ndarray:
    """The numbers (float64, exact) that ``words`` (uint32) stand for; any shape."""
    return as_float64(typed(words, format))


def nearest(number: float, format: str) -> float:
    """The number of a format that is nearest to one; itself, if it is beyond the format's range."""
    try:
        return float(from_words(to_words(np.array([number]), format), format)[0])
    except RangeError:
        return number


def as_float64(values: np.ndarray) -> np.ndarray:
    """Numbers of any type in float64; without NumPy's warning of NaNs that signal."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def typed(words: np.ndarray, format: str) -> np.ndarray:
    """Numbers as from ``from_words``, in the format's own NumPy type; float64 where it has none."""
    kind, numbers = parse_format(format), arithmetic(format).numbers(words)
    if isinstance(kind, FloatFormat):
        return numbers
    return np.ldexp(numbers.astype(np.float64), -kind.fraction)


def float_words(values: np.ndarray, kind: FloatFormat) -> np.ndarray:
    """Words as from ``to_words``, but values that are too large become infinities, as results
    do."""
    if kind == FLOAT_FORMATS["float32"]:
        with np.errstate(all="ignore"):
            words = values.astype(np.float32).view(np.uint32)
        return np.where(np.isnan(values), np.uint32(kind.canonical_nan), words)
    magnitude = np.abs(np.where(np.isfinite(values), values, 0.0))
    # magnitude = m * 2**power with 1 <= m < 2; below the normal range the power stays.
    least = 1 - kind.bias
    power = np.where(magnitude > 0, np.maximum(np.frexp(magnitude)[1] - 1, least), least)
    power = power.astype(np.int64)
    significand = np.rint(np.ldexp(magnitude, kind.fraction - power)).astype(np.int64)
    # The hidden bit, and a carry out of rounding, add to the exponent field.
    bits = (power + kind.bias - 1 << kind.fraction) + significand
    bits = np.where((bits > kind.infinity) | np.isinf(values), kind.infinity, bits)
    bits |= np.signbit(values).astype(np.int64) << (kind.width - 1)
    return np.where(np.isnan(values), kind.canonical_nan, bits).astype(np.uint32)


def _refuse(values: np.ndarray, wrong: np.ndarray, reason: str) -> None:
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        raise RangeError(first, float(values[first]), reason)
