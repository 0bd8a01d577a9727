"""Every parameter of an in-SRAM computing system, checked, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

from gnarl.hw.lib.configuration import TargetConfig, flag_violations, number_violations
from gnarl.hw.lib.errors import Violation, quoted
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS, WORD_BYTES
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation
from gnarl.hw.sram_compute.rom import Rom, rom

LINE_BITS = 8 * LINE_BYTES

LAYOUTS = 16
"""Entries of the layout override table. Source: Infinity Stream, table 2."""

NEAR_LANES = (0, 1)

CORE_LANES = (0, 2, 4, 8, 16)

MEMORY_CHANNELS = (1, 2, 4)

QUARTERS = 4
"""Of a cycle: in these lines side by side have main memory."""

_POWERS_OF_TWO = (
    "banks",
    "arrays",
    "wordlines",
    "bitlines",
    "tree_bits",
    "network_bits",
    "memory_bytes",
    "core_instructions",
    "core_cache_bytes",
)


@dataclass(frozen=True)
class SramConfig(TargetConfig):
    """Banks of compute arrays on a network, and main memory. Words are 32 bits.

    The defaults keep the ratios of Infinity Stream, table 2, to a bank's 4,096 bitlines.

    banks
        a power of two from 1 to 64.
    arrays
        of a bank: a power of two from 1 to 256.
    wordlines
        rows of an array: a power of two from 64 to 512.
    bitlines
        columns of an array: a power of two from 64 to 512.
    memory_bytes
        main memory: 16 KiB to 64 MiB.
    latency
        cycles from a request to main memory to its answer: 2 to 1000.
    bandwidth
        bytes a cycle to and from main memory for each bank, a fraction from 0.01 to 64; a line has
        the memory for a whole number of cycles.
    memory_channels
        lines of main memory, side by side, that a transfer of an array moves at once where
        ``wide_lines.is_wide``: 1, 2 or 4. They have the memory for a whole number of quarters of a
        cycle. More than 1 need two ``arrays`` or more.
    tree_bits
        bits a cycle that an array sends to others of its bank, and takes from them, while all do:
        1, 2, 4 or 8, at most ``network_bits``. With the paper's ratio 2, or 512 for 256 arrays.
    network_bits
        bits a cycle that a bank sends to other banks, and takes from them: a power of two from 1 to
        256, at most ``bitlines``.
    near_lanes
        lanes of the stream engine of each bank: 1, or 0, the default, for no engines.
    formats
        floating-point formats whose operations banks have, beside those on integers.
    core_lanes
        words of a vector of the core: 2, 4, 8 or 16; 0, the default, for none. With the paper's
        ratio, one for 4,096 bitlines of all banks.
    core_instructions
        that its memory holds: a power of two from 16 to 65536.
    core_cache_bytes
        its cache: a power of two from 1 KiB to 1 MiB, at most ``memory_bytes``.
    core_loads
        lines that it may have under way: 1 to 32.
    skip
        whether banks pass over microinstructions that no bitline needs. Without, all operations
        have constant latencies.
    lowering_cycles
        cycles of the machine for which lowering a node of a tensor dataflow graph counts where the
        compiler chooses places: 0, the default, to 1000000. Hardware is the same with all.
    """

    banks: int = 4
    arrays: int = 16
    wordlines: int = 256
    bitlines: int = 256
    memory_bytes: int = 8 << 20
    latency: int = 100
    bandwidth: float = 0.2
    memory_channels: int = 1
    tree_bits: int = 2
    network_bits: int = 16
    formats: tuple[str, ...] = ("float32",)
    near_lanes: int = 0
    core_lanes: int = 0
    core_instructions: int = 1024
    core_cache_bytes: int = 16 << 10
    core_loads: int = 16
    skip: bool = True
    lowering_cycles: int = 0

    target = "sram"
    compiling = ("lowering_cycles",)
    computing = "bank_"

    def __post_init__(self) -> None:
        if isinstance(self.formats, list):
            object.__setattr__(self, "formats", tuple(self.formats))
        super().__post_init__()

    def violations(self) -> list[Violation]:
        wrong = number_violations(
            self,
            (
                ("banks", 1, 64),
                ("arrays", 1, 256),
                ("wordlines", 64, 512),
                ("bitlines", 64, 512),
                ("memory_bytes", 1 << 14, 1 << 26),
                ("latency", 2, 1000),
                ("memory_channels", 1, MEMORY_CHANNELS[-1]),
                ("tree_bits", 1, 8),
                ("network_bits", 1, 256),
                ("near_lanes", *NEAR_LANES),
                ("core_lanes", 0, LINE_WORDS),
                ("core_instructions", 16, 1 << 16),
                ("core_cache_bytes", 1 << 10, 1 << 20),
                ("core_loads", 1, 32),
                ("lowering_cycles", 0, 1_000_000),
            ),
        )
        named = {violation.field for violation in wrong}
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if name not in named and value & (value - 1):
                wrong.append(Violation(name, f" = {value}: must be a power of two"))
        if "core_lanes" not in named and self.core_lanes not in CORE_LANES:
            problem = f" = {self.core_lanes}: must be one of {', '.join(map(str, CORE_LANES))}"
            wrong.append(Violation("core_lanes", problem))
        if "memory_channels" not in named and self.memory_channels not in MEMORY_CHANNELS:
            known = ", ".join(map(str, MEMORY_CHANNELS))
            problem = f" = {self.memory_channels}: must be one of {known}"
            wrong.append(Violation("memory_channels", problem))
        if not wrong and self.memory_channels > 1 and self.arrays < 2:
            problem = f" = {self.arrays}: must be at least 2 where memory_channels is more than 1"
            wrong.append(Violation("arrays", problem))
        if not wrong and self.core_lanes and self.core_cache_bytes > self.memory_bytes:
            problem = f" = {self.core_cache_bytes}: must be at most memory_bytes"
            wrong.append(Violation("core_cache_bytes", f"{problem} = {self.memory_bytes}"))
        for name, most in (("tree_bits", "network_bits"), ("network_bits", "bitlines")):
            if not wrong and getattr(self, name) > getattr(self, most):
                problem = f" = {getattr(self, name)}: must be at most {most}"
                wrong.append(Violation(name, f"{problem} = {getattr(self, most)}"))
        if not wrong and self.tiles < 2:
            problem = f" = {self.arrays}: must be at least 2 where there is one bank"
            wrong.append(Violation("arrays", problem))
        if not _is_number(self.bandwidth) or not 0.01 <= self.bandwidth <= LINE_BYTES:
            problem = f" = {quoted(self.bandwidth)}: must be a number from 0.01 to {LINE_BYTES}"
            wrong.append(Violation("bandwidth", problem))
        if not _are_formats(self.formats):
            known = ", ".join(FLOAT_FORMATS)
            problem = f" = {quoted(self.formats)}: must be different ones of {known}"
            wrong.append(Violation("formats", problem))
        return wrong + flag_violations(self, ("skip",))

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"formats": list(self.formats)}

    @property
    def tiles(self) -> int:
        """Arrays of all banks: tile t is array t % ``arrays`` of bank t // ``arrays``."""
        return self.banks * self.arrays

    @property
    def compute_bits(self) -> int:
        return self.tiles * self.wordlines * self.bitlines

    @property
    def bank_words(self) -> int:
        """Words of a bank's arrays."""
        return self.arrays * self.wordlines * self.bitlines // (8 * WORD_BYTES)

    @property
    def memory_words(self) -> int:
        return self.memory_bytes // WORD_BYTES

    @property
    def memory_lines(self) -> int:
        return self.memory_bytes // LINE_BYTES

    @cached_property
    def line_cycles(self) -> int:
        """Cycles for which a line has main memory."""
        return max(1, ceil(LINE_BYTES / self._memory_bandwidth))

    @cached_property
    def wide_line_quarters(self) -> int:
        """Quarters of a cycle for which ``memory_channels`` lines at once have main memory."""
        octets = self.memory_channels * LINE_BYTES
        return max(QUARTERS, ceil(QUARTERS * octets / self._memory_bandwidth))

    @property
    def _memory_bandwidth(self) -> Fraction:
        """Bytes a cycle of all banks."""
        return Fraction(self.bandwidth).limit_denominator(1000) * self.banks

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations that banks have, by name; floating-point ones are called
        ``format.name``."""
        found = dict(INTEGER_OPERATIONS)
        for format in self.formats:
            found |= {each.name: each for each in FLOAT_OPERATIONS[format].values()}
        return found

    @cached_property
    def rom(self) -> Rom:
        """The microprograms of ``operations``."""
        return rom(self.operations.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_formats(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and all(isinstance(each, str) and each in FLOAT_FORMATS for each in value)
        and len(set(value)) == len(value)
    )
