"""Bits of all tiles, those of every bank one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.sw.runtime.sram_compute.model.bank import Bank, Pattern


def pattern(fields: dict[str, object], name: str) -> Pattern:
    """A command's pattern of that name."""
    start, strides, counts = (fields[f"{name}_{part}"] for part in ("start", "strides", "counts"))
    assert isinstance(start, int) and isinstance(strides, tuple) and isinstance(counts, tuple)
    levels = tuple((stride, count + 1) for stride, count in zip(strides, counts, strict=True))
    return Pattern(start, levels)


def rows_of(banks: Sequence[Bank], first: int, count: int, bitlines: int) -> np.ndarray:
    """Rows of all tiles: uint8 [count, tiles, bitlines]."""
    parts = [
        np.unpackbits(
            bank.arrays.planes[first : first + count].view(np.uint8), axis=1, bitorder="little"
        ).reshape(count, -1, bitlines)
        for bank in banks
    ]
    return np.concatenate(parts, axis=1)


def put_rows(banks: Sequence[Bank], first: int, bits: np.ndarray) -> None:
    """Inverse of ``rows_of``."""
    count = len(bits)
    for bank, part in zip(banks, np.split(bits, len(banks), axis=1), strict=True):
        octets = np.packbits(part.reshape(count, -1), axis=1, bitorder="little")
        bank.arrays.planes[first : first + count] = octets.view("<u8")
