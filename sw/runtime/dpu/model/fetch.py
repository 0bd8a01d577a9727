"""The instructions of a program as the DPU fetches them, up to where it ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.hw.dpu.assembly import disassemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    OPERATION_DETAIL,
    WRITE_SOURCE_DETAIL,
    ErrorCause,
    Opcode,
    PeOp,
    instruction_bytes,
    instruction_memory_bytes,
    opcodes,
)
from gnarl.hw.dpu.topology import writers
from gnarl.hw.lib.errors import CapacityError

EXECS = (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE)
LOADS = (Opcode.LOAD, Opcode.EXEC_LOAD)
STORES = (Opcode.STORE, Opcode.EXEC_STORE)

Fault = tuple[ErrorCause, int]
"""A cause and its detail."""


@dataclass(frozen=True)
class Fetched:
    """The instructions that issue, in order.

    opcodes, columns, addresses
        of the ``n`` instructions before the end, as ``disassemble`` gives them.
    idle
        NOPs that follow them, from memory that the program leaves at 0.
    end
        why nothing issues after that, or ``None`` if the last instruction is HALT.
    end_address
        byte address of what would issue next.
    """

    opcodes: np.ndarray
    columns: dict[str, np.ndarray]
    addresses: np.ndarray
    idle: int
    end: Fault | None
    end_address: int


def fetch(config: DpuConfig, stream: np.ndarray) -> Fetched:
    """Follows ``stream`` (uint8 bytes), with 0 in the rest of the instruction memory.

    Raises ``CapacityError`` if the stream is longer than that.
    """
    size = instruction_memory_bytes(config)
    if len(stream) > size:
        raise CapacityError(
            f"program of {len(stream)} bytes: the instruction memory holds {size}, "
            f"as instruction_words = {config.instruction_words} says"
        )
    lengths = {code.value: instruction_bytes(config, code) for code in opcodes(config)}
    mask = (1 << Opcode.as_shape().width) - 1
    codes = (stream & np.uint8(mask)).tolist()
    address, halted = 0, False
    end: Fault | None = None
    while address < len(codes) and not halted and end is None:
        length = lengths.get(codes[address])
        if length is None:
            end = (ErrorCause.ILLEGAL_OPCODE, codes[address])
        elif address + length > size:
            end = (ErrorCause.ADDRESS_OUT_OF_RANGE, address)
        else:
            halted = codes[address] == Opcode.HALT
            address += length
    memory = np.zeros(max(address, len(stream)), np.uint8)
    memory[: len(stream)] = stream
    fetched = disassemble(config, memory[:address])
    idle = 0
    if not halted and end is None:
        idle = size - address
        end = (ErrorCause.ADDRESS_OUT_OF_RANGE, size)
    return Fetched(*fetched, idle=idle, end=end, end_address=address + idle)


def illegal_fields(config: DpuConfig, fetched: Fetched) -> dict[int, Fault]:
    """The instructions, by number, that a decoder refuses, and the first reason in its order."""
    exec_ = np.isin(fetched.opcodes, EXECS)[:, None]
    crossed = exec_ | (fetched.opcodes == Opcode.COPY)[:, None]
    moved = np.isin(fetched.opcodes, (*LOADS, *STORES))[:, None]
    columns = fetched.columns
    limits = [FIRST_WRITER + len(writers(config, bank)) for bank in range(config.banks)]
    addressed = columns["read_enable"] | columns["valid_reset"]
    illegal, out_of_range = ErrorCause.ILLEGAL_OPCODE, ErrorCause.ADDRESS_OUT_OF_RANGE
    checks = [
        (illegal, OPERATION_DETAIL, exec_ & (columns["operation"] >= len(PeOp))),
        (illegal, WRITE_SOURCE_DETAIL, exec_ & (columns["write_source"] >= limits)),
        (out_of_range, None, moved & (columns["row"][:, None] >= config.data_rows)),
        (out_of_range, 0, crossed & (columns["source"] >= config.banks)),
        (out_of_range, 0, addressed & (columns["read_address"] >= config.registers)),
    ]
    faults: dict[int, Fault] = {}
    for cause, base, wrong in checks:
        for number in np.flatnonzero(wrong.any(axis=1)).tolist():
            place = int(np.argmax(wrong[number]))
            detail = int(columns["row"][number]) if base is None else base + place
            faults.setdefault(number, (cause, detail))
    return faults
