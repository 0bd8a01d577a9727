"""What compilation has to know of an execute unit."""

from __future__ import annotations

from typing import Protocol


class Unit(Protocol):
    """An execute unit with its cache and memory; configurations of targets may be one.

    lanes
        words of a vector.
    program_words
        instructions that its memory holds.
    l1_bytes
        of its cache.
    latency
        cycles from a request to memory to its answer.
    memory_words
        of main memory.
    """

    @property
    def lanes(self) -> int: ...

    @property
    def program_words(self) -> int: ...

    @property
    def l1_bytes(self) -> int: ...

    @property
    def latency(self) -> int: ...

    @property
    def memory_words(self) -> int: ...
