"""Every parameter of a TMU core, checked, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.lib.configuration import TargetConfig, number_violations
from gnarl.hw.lib.errors import Violation
from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS, WORD_BYTES

MAX_LAYERS = 8
MAX_STREAMS = 8
"""Streams of a traversal unit."""

_POWERS_OF_TWO = (
    "lanes",
    "stream_words",
    "data_words",
    "control_tokens",
    "program_words",
    "bandwidth",
    "memory_bytes",
    "l1_bytes",
    "l2_bytes",
)


@dataclass(frozen=True)
class TmuConfig(TargetConfig):
    """An access unit, an execute unit, the queues between them, and memory. Words are 32 bits.

    Source: Ember, figures 3 and 6; the access unit is the Tensor Marshaling Unit's.

    layers
        loops that a traversal can nest: 1 to 8.
    lanes
        traversal units of a layer, and words of a vector: a power of two from 2 to 16.
    streams
        streams of a traversal unit: 2 to 8.
    stream_words
        words of stream queues of a lane, which the layers divide: 16 to 4096.
    requests
        lines that the access unit may have under way: 1 to 64.
    data_words
        words that the data queue holds: at least two vectors, up to 65536.
    control_tokens
        tokens that the control queue holds: 2 to 1024.
    program_words
        instructions of the execute unit: 16 to 65536.
    loads
        lines that the execute unit may have under way: 1 to 32.
    l1_bytes
        the cache of the execute unit: 1 KiB to 1 MiB, at most ``memory_bytes``.
    l2_bytes
        the cache of both units: 1 KiB to 1 MiB, at most ``memory_bytes``.
    memory_bytes
        main memory: 16 KiB to 64 MiB.
    latency
        cycles from a request to main memory to its answer: 2 to 1000.
    bandwidth
        bytes a cycle to and from main memory, all together: 4 to 64.
    """

    layers: int = 5
    lanes: int = 8
    streams: int = 8
    stream_words: int = 512
    requests: int = 64
    data_words: int = 1024
    control_tokens: int = 64
    program_words: int = 1024
    loads: int = 16
    l1_bytes: int = 16 << 10
    l2_bytes: int = 64 << 10
    memory_bytes: int = 8 << 20
    latency: int = 100
    bandwidth: int = 16

    target = "tmu"

    def violations(self) -> list[Violation]:
        wrong = number_violations(
            self,
            (
                ("layers", 1, MAX_LAYERS),
                ("lanes", 2, LINE_WORDS),
                ("streams", 2, MAX_STREAMS),
                ("stream_words", 16, 4096),
                ("requests", 1, 64),
                ("data_words", 4, 1 << 16),
                ("control_tokens", 2, 1024),
                ("program_words", 16, 1 << 16),
                ("loads", 1, 32),
                ("l1_bytes", 1 << 10, 1 << 20),
                ("l2_bytes", 1 << 10, 1 << 20),
                ("memory_bytes", 1 << 14, 1 << 26),
                ("latency", 2, 1000),
                ("bandwidth", WORD_BYTES, LINE_BYTES),
            ),
        )
        named = {violation.field for violation in wrong}
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if name not in named and value & (value - 1):
                wrong.append(Violation(name, f" = {value}: must be a power of two"))
        if not wrong and self.data_words < 2 * self.lanes:
            problem = f" = {self.data_words}: must be at least two vectors of {self.lanes} words"
            wrong.append(Violation("data_words", problem))
        for name in ("l1_bytes", "l2_bytes"):
            if not wrong and getattr(self, name) > self.memory_bytes:
                problem = f" = {getattr(self, name)}: must be at most memory_bytes"
                wrong.append(Violation(name, f"{problem} = {self.memory_bytes}"))
        return wrong

    @property
    def memory_words(self) -> int:
        return self.memory_bytes // WORD_BYTES

    @property
    def memory_lines(self) -> int:
        return self.memory_words // LINE_WORDS

    @property
    def address_bits(self) -> int:
        """Width of the address of a word."""
        return (self.memory_words - 1).bit_length()

    @property
    def pc_bits(self) -> int:
        """Width of the address of an instruction, and so of a token."""
        return (self.program_words - 1).bit_length()
