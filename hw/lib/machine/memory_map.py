"""Addresses at which a host finds an accelerator's registers, counters and memories.

Addresses count 32-bit words. The registers of ``Register`` come first, then two words for each of
the target's counters, then windows onto its memories.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace

from amaranth.hdl import unsigned
from amaranth.lib import data
from gnarl.hw.lib.errors import ConfigError

MAGIC = 0x474E524C
"""What ``Register.MAGIC`` reads: "GNRL"."""

VERSION = 2
"""Version of these registers, windows and streams."""

ADDRESS_BITS = 31

_NAMED = 4
"""Windows that an error names at most, the largest."""


class Register(enum.IntEnum):
    """Word addresses of the registers that every accelerator has.

    Reading ``CYCLES_LO``, or the low word of a counter, keeps the high word as it is at that
    moment; the next read of any high word gives the kept one. ``LIMIT_LO`` and ``LIMIT_HI`` take
    ``MemoryMap.limit_bits`` bits: cycles that the next runs may have; all ones, after a reset and
    after a clear, are no limit. They read as 0.
    """

    MAGIC = 0
    VERSION = 1
    DIGEST = 2
    CONTROL = 3
    STATUS = 4
    DETAIL = 5
    CYCLES_LO = 6
    CYCLES_HI = 7
    LIMIT_LO = 8
    LIMIT_HI = 9
    COUNTERS = 10


NO_LIMIT = (1 << 48) - 1
"""Cycles that no run has."""


class CommonCause(enum.IntEnum):
    """Causes of errors that every accelerator has besides its own.

    ``CYCLE_LIMIT``: the run did not end within the cycles of ``LIMIT_LO`` and ``LIMIT_HI``; the
    detail is 0.
    """

    CYCLE_LIMIT = 255


CONTROL = data.StructLayout({"start": 1, "stop": 1, "clear": 1})
"""Bits of ``Register.CONTROL``: each 1 that is written gives a pulse. Reads as 0."""

STATUS = data.StructLayout({"busy": 1, "done": 1, "reserved": unsigned(6), "cause": unsigned(8)})
"""Bits of ``Register.STATUS``; the cause of an error is the target's own number or one of
``CommonCause``, 0 for none."""


@dataclass(frozen=True)
class RamMap:
    """The ``gnarl.hw.lib.memory.ram.Ram`` instances that hold a window, for a simulator's back
    door.

    banks
        for each bank, its RAMs as dotted instance paths below the top module. Row r of the window
        is in bank n % len(banks) at address n // len(banks), where n is ``first_row`` + r. The
        RAMs of a bank hold equal numbers of the row's words, in order, each RAM's first word in
        its lowest bits; RAMs of more than one word need words of 8, 16 or 32 bits.
    """

    banks: tuple[tuple[str, ...], ...]
    first_row: int = 0


def word_ram(word: int) -> str:
    """Instance name of the RAM of a word of a ``gnarl.hw.lib.memory.shared.SharedMemory``."""
    return f"word_{word}"


@dataclass(frozen=True)
class Window:
    """A memory in the host's address space.

    ``rows`` of ``words`` words each, ``word_bits`` (1 to 32) to a word; every word has an address
    of its own, narrow ones leave the upper bits 0. ``rams``: those that hold it; ``None`` for
    registers. ``base`` is the address of row 0, set by ``MemoryMap``.
    """

    name: str
    rows: int
    words: int
    word_bits: int = 32
    rams: RamMap | None = None
    base: int = 0

    def in_shared_memory(self, path: str) -> Window:
        """This window, held by the ``gnarl.hw.lib.memory.shared.SharedMemory`` at ``path``."""
        bank = tuple(f"{path}.{word_ram(word)}" for word in range(self.words))
        return replace(self, rams=RamMap((bank,)))

    @property
    def lane_bits(self) -> int:
        """Address bits that select a word in its row."""
        return (self.words - 1).bit_length()

    @property
    def row_bits(self) -> int:
        """Address bits that select a row."""
        return (self.rows - 1).bit_length()

    @property
    def stride(self) -> int:
        """Words from one row to the next: ``words``, rounded up to a power of two."""
        return 1 << self.lane_bits

    @property
    def size(self) -> int:
        """Words of address space, a power of two."""
        return 1 << (self.row_bits + self.lane_bits)


class MemoryMap:
    """Names and addresses of an accelerator's counters and windows, and its causes of errors.

    Every window gets the lowest base above the one before that is a multiple of its size. Raises
    ``ConfigError`` where the windows need more than 2**31 words. ``causes`` are the accelerator's
    own. ``limit_bits``, up to 64, hold the cycles of any run.
    """

    def __init__(
        self,
        windows: Iterable[Window],
        counters: Iterable[str],
        causes: type[enum.IntEnum],
        limit_bits: int = NO_LIMIT.bit_length(),
    ) -> None:
        self.limit_bits = limit_bits
        self.counters = tuple(counters)
        self.causes = causes
        end = self.counter_address(len(self.counters))
        placed = []
        for window in windows:
            base = -(-end // window.size) * window.size
            placed.append(replace(window, base=base))
            end = base + window.size
        self.windows = tuple(placed)
        if end > 1 << ADDRESS_BITS:
            largest = sorted(placed, key=lambda each: -each.size)[:_NAMED]
            named = ", ".join(
                f"{window.name} ({window.rows} rows of {window.words} words)" for window in largest
            )
            others = f" and {len(placed) - len(largest)} others" if len(placed) > _NAMED else ""
            raise ConfigError(
                [
                    f"windows {named}{others}: need {end} words of address space, "
                    f"at most {1 << ADDRESS_BITS} can be addressed"
                ]
            )

    def window(self, name: str) -> Window:
        """The window called ``name``; ``KeyError`` if there is none."""
        return {window.name: window for window in self.windows}[name]

    def cause_name(self, number: int) -> str | None:
        """What a cause of an error is called; ``None`` if there is no such cause."""
        return {cause.value: cause.name for cause in (*CommonCause, *self.causes)}.get(number)

    @staticmethod
    def counter_address(index: int) -> int:
        """Address of the low word of counter ``index``; the high word follows."""
        return Register.COUNTERS + 2 * index
