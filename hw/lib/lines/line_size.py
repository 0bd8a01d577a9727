"""The size of a line of memory, which caches, main memories and compilers agree on."""

from __future__ import annotations

LINE_WORDS = 16
"""Words of a line: 64 bytes."""

WORD_BYTES = 4

LINE_BYTES = LINE_WORDS * WORD_BYTES
