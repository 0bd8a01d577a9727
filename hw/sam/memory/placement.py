"""Allocates arrays in the memories of a machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gnarl.hw.lib.machine.memory_map import RamMap, Window


@dataclass(frozen=True)
class Allocation:
    """The rows of an array: ``base`` is its row 0; ``writes``: its block writes it."""

    window: Window
    base: int
    writes: bool


def allocations(arrays: Iterable[tuple[Window, bool]]) -> tuple[tuple[Allocation, ...], int]:
    """Arrays one behind the other, those of two words a row first; and how many rows these have."""
    found = []
    base = wide_rows = 0
    for window, writes in sorted(arrays, key=lambda array: -array[0].words):
        found.append(Allocation(window, base, writes))
        base += window.rows
        if window.words == 2:
            wide_rows = base
    return tuple(found), wide_rows


def bank_ram(bank: int, word: int) -> str:
    """Instance name of the RAM of a word of a bank of ``SharedArrays``."""
    return f"bank_{bank}_word_{word}"


def bank_rams(path: str, banks: int, words: int, base: int) -> RamMap:
    """RAMs of an array with ``words`` a row, from row ``base`` on, in the ``SharedArrays`` at
    ``path``."""
    return RamMap(
        tuple(
            tuple(f"{path}.{bank_ram(bank, word)}" for word in range(words))
            for bank in range(banks)
        ),
        base,
    )
