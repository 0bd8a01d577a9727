"""Where the arrays of a machine lie in the one memory that they share.

Rows of two words, segments and words of bitvectors, come first, those of one word behind them. A
host sees the two kinds as windows, and sets where each array is and how long: its *place*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amaranth.lib import data
from gnarl.hw.lib.machine.memory_map import RamMap, Window

PLACES, PAIRS, WORDS = "places", "pairs", "words"
"""Windows: two words for each array, its first row in the memory and how many it has; rows of two
words; rows of one word."""


@dataclass(frozen=True)
class MemoryRows:
    """How many rows of two words a memory has, and of one."""

    pairs: int
    words: int

    @staticmethod
    def of(arrays: Iterable[Window]) -> MemoryRows:
        """Room for all arrays, each with as many rows as its window."""
        arrays = list(arrays)
        pairs = sum(window.rows for window in arrays if window.words == 2)
        return MemoryRows(pairs, sum(window.rows for window in arrays) - pairs)

    @property
    def all(self) -> int:
        return self.pairs + self.words

    @property
    def bits(self) -> int:
        """Bits of a row's number, and of how many there are."""
        return self.all.bit_length()

    def first(self, words: int) -> int:
        """The first row of the kind that has so many words."""
        return 0 if words == 2 else self.pairs


def place_layout(rows: MemoryRows) -> data.StructLayout:
    """The place of an array: its first row in the memory, and how many it has."""
    return data.StructLayout({"base": rows.bits, "rows": rows.bits})


def shared_windows(arrays: Sequence[Window], path: str, banks: int) -> list[Window]:
    """The host's windows onto the arrays of the ``SharedArrays`` at ``path``."""
    rows, bits = MemoryRows.of(arrays), max(window.word_bits for window in arrays)
    windows = [Window(PLACES, 2 * len(arrays), 1, rows.bits)]
    for name, words, count in ((PAIRS, 2, rows.pairs), (WORDS, 1, rows.words)):
        if count:
            rams = bank_rams(path, banks, words, rows.first(words))
            windows.append(Window(name, count, words, bits, rams))
    return windows


def in_turn(arrays: Sequence[Window]) -> list[int]:
    """Numbers of the arrays in the order in which their ports take turns."""
    return sorted(range(len(arrays)), key=lambda number: -arrays[number].words)


def bank_ram(bank: int, word: int) -> str:
    """Instance name of the RAM of a word of a bank of ``SharedArrays``."""
    return f"bank_{bank}_word_{word}"


def bank_rams(path: str, banks: int, words: int, base: int) -> RamMap:
    """RAMs of rows with ``words`` each, from row ``base`` on, in the ``SharedArrays`` at
    ``path``."""
    return RamMap(
        tuple(
            tuple(f"{path}.{bank_ram(bank, word)}" for word in range(words))
            for bank in range(banks)
        ),
        base,
    )
