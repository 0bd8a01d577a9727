"""DPU programs written by hand: instructions from the fields that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gnarl.hw.dpu.assembly import BANK_MASKS, assemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, Opcode, PeOp
from gnarl.hw.dpu.topology import pe_number, writers


@dataclass(frozen=True)
class Instruction:
    """One instruction; banks, lanes and PEs that aren't mentioned do nothing.

    reads
        register to read, by bank; ``free``: those of these banks to free.
    lanes
        bank to take, by lane.
    operations
        what to compute, by PE (tree, layer, place).
    results
        PE (tree, layer, place) to write, by bank; ``write_sources``: raw numbers instead.
    copies
        banks that take their lane.
    row, banks
        of the data memory: the row, and the banks to load or store.
    """

    opcode: Opcode
    reads: Mapping[int, int] = field(default_factory=dict)
    free: Sequence[int] = ()
    lanes: Mapping[int, int] = field(default_factory=dict)
    operations: Mapping[tuple[int, int, int], int] = field(default_factory=dict)
    results: Mapping[int, tuple[int, int, int]] = field(default_factory=dict)
    write_sources: Mapping[int, int] = field(default_factory=dict)
    copies: Sequence[int] = ()
    row: int = 0
    banks: Sequence[int] = ()


NOP = Instruction(Opcode.NOP)
HALT = Instruction(Opcode.HALT)


def load(row: int, *banks: int) -> Instruction:
    return Instruction(Opcode.LOAD, row=row, banks=banks)


def store(row: int, reads: Mapping[int, int], free: Sequence[int] = ()) -> Instruction:
    return Instruction(Opcode.STORE, reads=reads, free=free, row=row)


def copy(
    reads: Mapping[int, int], lanes: Mapping[int, int], free: Sequence[int] = ()
) -> Instruction:
    """Lane b goes to bank b."""
    return Instruction(Opcode.COPY, reads=reads, free=free, lanes=lanes, copies=list(lanes))


def add(
    reads: Mapping[int, int],
    lanes: Mapping[int, int],
    result: int,
    operation: int = PeOp.ADD,
    free: Sequence[int] = (),
) -> Instruction:
    """The first PE of layer 1 computes lane 0 ``operation`` lane 1 into bank ``result``."""
    pe = (0, 1, 0)
    return Instruction(Opcode.EXEC, reads, free, lanes, {pe: operation}, {result: pe})


def program(config: DpuConfig, instructions: Sequence[Instruction]) -> np.ndarray:
    """The byte stream, uint8."""
    count, banks = len(instructions), config.banks
    columns = {name: np.zeros((count, banks), bool) for name in BANK_MASKS}
    for name in ("read_address", "source", "write_source"):
        columns[name] = np.zeros((count, banks), int)
    columns["operation"] = np.zeros((count, config.pes), int)
    columns["row"] = np.array([instruction.row for instruction in instructions], int)
    for number, instruction in enumerate(instructions):
        for bank, register in instruction.reads.items():
            columns["read_enable"][number, bank] = True
            columns["read_address"][number, bank] = register
        for bank in instruction.free:
            columns["valid_reset"][number, bank] = True
        for lane, bank in instruction.lanes.items():
            columns["source"][number, lane] = bank
        for pe, operation in instruction.operations.items():
            columns["operation"][number, pe_number(config, *pe)] = operation
        for bank, pe in instruction.results.items():
            source = FIRST_WRITER + writers(config, bank).index(pe_number(config, *pe))
            columns["write_source"][number, bank] = source
        for bank, source in instruction.write_sources.items():
            columns["write_source"][number, bank] = source
        columns["write_enable"][number, list(instruction.copies)] = True
        columns["load_enable"][number, list(instruction.banks)] = True
        columns["store_enable"][number, list(instruction.banks)] = True
    opcodes = np.array([instruction.opcode for instruction in instructions], np.uint8)
    return assemble(config, opcodes, columns)
