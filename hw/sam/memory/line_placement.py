"""Where the arrays of a machine lie in a memory of lines.

An array begins with a line, and no other one lies in its lines. Words of memory are of 32 bits,
whatever an array's have; a row has a power of two of them, and lies in one line. A host sees the
words as one window, and sets where each array is, its first line, and how many rows it has: its
*place*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.lib import data
from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.lines.line_memory import MEMORY
from gnarl.hw.lib.lines.line_port import WORD_BITS
from gnarl.hw.lib.machine.memory_map import RamMap, Window, word_ram
from gnarl.hw.sam.memory.placement import PLACES, WORDS

WORD_BYTES = WORD_BITS // 8


def rows_per_line(window: Window, line_words: int) -> int:
    """Rows of an array in each of its lines."""
    return line_words // window.stride


def lines_of(window: Window, rows: int, line_words: int) -> int:
    """Lines that so many rows of an array take."""
    return -(-rows // rows_per_line(window, line_words))


def require_lines(arrays: Iterable[Window], line_words: int) -> None:
    """Raises ``ConfigError`` for a row that is longer than a line."""
    for window in arrays:
        if window.stride > line_words:
            raise ConfigError(
                [
                    f"line_bytes = {line_words * WORD_BYTES}: must be at least "
                    f"{window.stride * WORD_BYTES}, the bytes of a row of {window.name}"
                ]
            )


def all_lines(arrays: Iterable[Window], line_words: int) -> int:
    """Room for all arrays, each with as many rows as its window."""
    return sum(lines_of(window, window.rows, line_words) for window in arrays)


def line_place_layout(arrays: Sequence[Window], line_words: int) -> data.StructLayout:
    """The place of an array: its first line in the memory, and how many rows it has."""
    bits = _place_bits(arrays, line_words)
    return data.StructLayout({"base": bits, "rows": bits})


def _place_bits(arrays: Sequence[Window], line_words: int) -> int:
    most_rows = max(window.rows for window in arrays)
    return max(all_lines(arrays, line_words), most_rows).bit_length()


def words_window(arrays: Sequence[Window], line_words: int, channels: int, path: str) -> Window:
    """The host's window onto the words of the ``LineArrays`` at ``path``."""
    rams = RamMap(
        tuple(
            (f"{path}.{channel(number)}.{MEMORY}.{word_ram(word)}",)
            for number in range(channels)
            for word in range(line_words)
        )
    )
    return Window(WORDS, all_lines(arrays, line_words) * line_words, 1, WORD_BITS, rams)


def line_windows(
    arrays: Sequence[Window], line_words: int, channels: int, path: str
) -> list[Window]:
    """The host's windows onto arrays in a memory of lines."""
    places = Window(PLACES, 2 * len(arrays), 1, _place_bits(arrays, line_words))
    return [places, words_window(arrays, line_words, channels, path)]


def channel(number: int) -> str:
    """Instance name of a channel of ``LineArrays``."""
    return f"channel_{number}"
