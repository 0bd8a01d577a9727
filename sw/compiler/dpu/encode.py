"""Encodes a schedule as instructions: opcodes and columns of fields. Source: DPU-v2, section
III.E."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnarl.hw.dpu.assembly import assemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import WRITE_COPY, Opcode
from gnarl.sw.compiler.dpu.memory import MemoryLayout
from gnarl.sw.compiler.dpu.registers import register_addresses
from gnarl.sw.compiler.dpu.schedule import Schedule
from gnarl.sw.compiler.dpu.state import MEMORY_LOAD, MEMORY_RELOAD, MEMORY_STORE, NONE


class Encoded(NamedTuple):
    """Instructions: as ``instructions`` gives them, and the bytes of all of them."""

    opcode: np.ndarray
    columns: dict[str, np.ndarray]
    stream: np.ndarray


def encoded(schedule: Schedule, layout: MemoryLayout, config: DpuConfig) -> Encoded:
    """The instructions of a schedule. O(cycles · banks)."""
    opcode, columns = instructions(schedule, layout, config)
    return Encoded(opcode, columns, assemble(config, opcode, columns))


def instructions(
    schedule: Schedule, layout: MemoryLayout, config: DpuConfig
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """``(opcode uint8 [n], columns)``: one instruction a cycle, then HALT; see ``isa.instruction``.

    O(cycles · banks).
    """
    cycles, length = schedule.cycles, schedule.length
    read = cycles.read
    reads = read != NONE
    read_address = np.zeros(reads.shape, np.min_scalar_type(config.registers - 1))
    read_address[reads] = register_addresses(schedule, config.registers)[read[reads]]
    del read
    memory, busy, write_source = cycles.memory, cycles.busy, cycles.write_source
    loads = (memory == MEMORY_LOAD) | (memory == MEMORY_RELOAD)
    stores = memory == MEMORY_STORE
    only_copies = busy & ~(write_source > WRITE_COPY).any(axis=1)
    opcode = np.full(length + 1, Opcode.HALT, np.uint8)
    opcode[:length] = np.select(
        [busy & loads, busy & stores, only_copies, busy, loads, stores],
        [
            Opcode.EXEC_LOAD,
            Opcode.EXEC_STORE,
            Opcode.COPY,
            Opcode.EXEC,
            Opcode.LOAD,
            Opcode.STORE,
        ],
        Opcode.NOP,
    )
    columns = {
        "read_enable": reads,
        "valid_reset": cycles.release & reads,
        "read_address": read_address,
        "source": cycles.source,
        "operation": cycles.operation,
        "write_source": write_source,
        "write_enable": write_source == WRITE_COPY,
        "row": layout.row,
        "load_enable": cycles.load != NONE,
        "store_enable": cycles.store != NONE,
    }
    columns = {
        name: np.concatenate([column, np.zeros((1, *column.shape[1:]), column.dtype)])
        for name, column in columns.items()
    }
    return opcode, columns
