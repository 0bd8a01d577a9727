"""The DPU's counters, errors and memories in the host's address space."""

from __future__ import annotations

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import COUNTERS, ErrorCause, instruction_memory_bytes, instruction_word_bits
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window


def memory_map(config: DpuConfig) -> MemoryMap:
    """``instructions``: the program's bytes in order, lowest byte lowest in each 32-bit word.

    ``data``: one word of the datapath's format for each bank, bank 0 first, in each row.
    """
    instructions = Window(
        "instructions", config.instruction_words, instruction_word_bits(config) // 32
    )
    data = Window("data", config.data_rows, config.banks, config.width)
    return MemoryMap(
        [
            instructions.in_shared_memory("core.instruction_memory"),
            data.in_shared_memory("core.data_memory.memory"),
        ],
        COUNTERS,
        ErrorCause,
        cycle_bits(config),
    )


def cycle_bits(config: DpuConfig) -> int:
    """Bits of the cycle counter, enough for the longest run."""
    return config.run_cycles(instruction_memory_bytes(config)).bit_length()
