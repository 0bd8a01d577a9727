"""Main memory as a program of the core finds it, for what its data decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS

NUMBER, DATA, UNKNOWN = range(3)
"""What a value is made of: numbers of the program alone; words of memory, too; or what nobody
computes here, as elements of vectors."""


@dataclass
class CoreMemory:
    """Arrays of words, which estimates change as a run would.

    words
        uint32 [n], from word 0 of memory on.
    kinds
        uint8 [n]: ``DATA`` or ``UNKNOWN``.
    bounds
        int64 [arrays + 1]: the first word of each array, ascending, and the end of the last one.
    decides
        whether cycles that were estimated depend on words.
    """

    words: np.ndarray
    kinds: np.ndarray
    bounds: np.ndarray
    decides: bool = False


def nothing_known() -> CoreMemory:
    """Memory of which no word is known."""
    return CoreMemory(np.zeros(0, np.uint32), np.zeros(0, np.uint8), np.zeros(1, np.int64))


def core_memory(
    arrays: Mapping[str, np.ndarray], lines: Mapping[str, int], unknown: Collection[str]
) -> CoreMemory:
    """The core's memory with ``arrays``, each row of which begins with a line, from the line of its
    name on. Elements of ``unknown`` ones are not known. O(words)."""
    ends = {name: lines[name] * LINE_WORDS + _words(array) for name, array in arrays.items()}
    count = max(ends.values(), default=0)
    memory = CoreMemory(
        np.zeros(count, np.uint32),
        np.full(count, UNKNOWN, np.uint8),
        np.array([*sorted(line * LINE_WORDS for line in lines.values()), count], np.int64),
    )
    for name, array in arrays.items():
        if name in unknown or not array.size:
            continue
        place = slice(lines[name] * LINE_WORDS, ends[name])
        rows = np.ascontiguousarray(array.reshape(-1, array.shape[-1] if array.ndim else 1))
        octets = rows.view(np.uint8)
        memory.words[place].view(np.uint8).reshape(len(rows), -1)[:, : octets.shape[1]] = octets
        memory.kinds[place] = DATA
    return memory


def _words(array: np.ndarray) -> int:
    """Words of an array in memory."""
    if not array.size:
        return 0
    last = array.shape[-1] if array.ndim else 1
    return array.size // last * (-(-last * array.itemsize // LINE_BYTES) * LINE_WORDS)
