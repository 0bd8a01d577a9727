"""Lays out arrays in main memory."""

from __future__ import annotations

from collections.abc import Iterable

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS, WORD_BYTES
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import words_of
from gnarl.sw.program.tensor_spec import TensorSpec


def layout(specs: Iterable[TensorSpec], config: TmuConfig) -> dict[str, int]:
    """The first word of each array, by name: each begins a line, one behind the other.

    Raises ``CapacityError`` where memory is too small.
    """
    bases, end = {}, 0
    for spec in specs:
        bases[spec.name] = end
        end += -(-words_of(spec) // LINE_WORDS) * LINE_WORDS
    if end > config.memory_words:
        needed = end * WORD_BYTES
        raise CapacityError(
            f"memory_bytes = {config.memory_bytes}: must be at least "
            f"{1 << (needed - 1).bit_length()}, for arrays of {needed} bytes"
        )
    return bases
