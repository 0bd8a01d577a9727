"""Words of a host's window beside the entries of the RAMs that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.machine.memory_map import RamMap, Window

_BLOCK_WORDS = 1 << 17
"""Words that a processor's cache keeps while they are copied to many RAMs. Rows of 64 words are
written about five times as fast as without blocks."""


@dataclass(frozen=True)
class RamContents:
    """What a simulated RAM holds: ``octets``, uint8 [rows, bytes of a row], the row's ``bits`` in
    the lowest of them, lowest first."""

    octets: np.ndarray
    bits: int

    def words(self, count: int, bits: int) -> np.ndarray:
        """The lowest ``count`` words of ``bits`` of each row: a view, uint8, uint16 or uint32
        [rows, count].

        Raises ``ValueError`` where rows are too narrow, and for several words of other than 8, 16
        or 32 bits.
        """
        if count * bits > self.bits or (count > 1 and bits not in (8, 16, 32)):
            raise ValueError(f"{count} words of {bits} bits in a RAM of {self.bits} bits a row")
        size = min(4, self.octets.shape[1]) if count == 1 else bits // 8
        return self.octets.view(f"u{size}")[:, :count]


def aligned(
    window: Window,
    rams: RamMap,
    row: int,
    words: np.ndarray,
    contents: Callable[[str], RamContents],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of views of one shape that together cover ``words``: RAM entries, and their words.

    window, rams
        where the words are, row ``row`` first.
    words
        uint32 [rows, words of a row].
    contents
        of the RAM at a path.

    A pair for each RAM and block of ``_BLOCK_WORDS``.
    """
    block = max(1, _BLOCK_WORDS // window.words)
    banks = len(rams.banks)
    for begin in range(0, len(words), block):
        part, first = words[begin : begin + block], rams.first_row + row + begin
        for number, bank in enumerate(rams.banks):
            skipped = (number - first) % banks
            of_bank = part[skipped::banks]
            address = (first + skipped) // banks
            count = window.words // len(bank)
            for place, path in enumerate(bank):
                entries = contents(path).words(count, window.word_bits)
                yield (
                    entries[address : address + len(of_bank)],
                    of_bank[:, place * count : (place + 1) * count],
                )
