"""Fields of rows of a layout, read, set, and damaged."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import numpy.typing as npt
from amaranth.lib import data

Words = npt.NDArray[np.uint32]


def damage_field(rng: random.Random, rows: Words, layout: data.StructLayout) -> None:
    """One field of a row that means something, mostly, is extreme, next to what it was, that of
    another row, or arbitrary; or the row is another one. ``rows``: uint32 [n, words of a row]."""
    used = np.flatnonzero(rows.any(axis=1)).tolist()
    if not used:
        return
    row = rng.choice(used) if rng.random() < 0.95 else rng.randrange(len(rows))
    if rng.random() < 0.1:
        rows[row] = rows[rng.choice(used)]
        return
    first, width = rng.choice(fields_of(layout))
    other = get_field(rows[rng.choice(used)], first, width)
    value = _replaced(rng, get_field(rows[row], first, width), width, other)
    set_field(rows[row], first, width, value)


def _replaced(rng: random.Random, value: int, width: int, other: int) -> int:
    most = (1 << width) - 1
    extreme = (0, 1, most, most >> 1, most - 1, 1 << width - 1)
    return rng.choice(
        (
            rng.choice(extreme),
            value + 1,
            value - 1,
            value ^ 1 << rng.randrange(width),
            rng.randint(0, 6),
            rng.getrandbits(width),
            other,
        )
    )


@cache
def fields_of(layout: data.StructLayout) -> list[tuple[int, int]]:
    """First bit and bits of all fields, of those within others too."""
    found: list[tuple[int, int]] = []
    for _, field in layout:
        inner = field.shape
        if isinstance(inner, data.StructLayout):
            found += [(field.offset + first, width) for first, width in fields_of(inner)]
        elif isinstance(inner, data.ArrayLayout):
            element = inner.elem_shape
            assert isinstance(element, data.StructLayout)
            for place in range(inner.length):
                begin = field.offset + place * element.size
                found += [(begin + first, width) for first, width in fields_of(element)]
        else:
            found.append((field.offset, field.width))
    return found


def get_field(row: Words, first: int, width: int) -> int:
    return _bits(row) >> first & (1 << width) - 1


def set_field(row: Words, first: int, width: int, value: int) -> None:
    mask = (1 << width) - 1
    bits = _bits(row) & ~(mask << first) | (value & mask) << first
    row[:] = [bits >> 32 * word & 0xFFFF_FFFF for word in range(len(row))]


def _bits(row: Words) -> int:
    return int.from_bytes(row.astype("<u4").tobytes(), "little")
