"""The DPU's instruction formats, its error causes, and its place in the host's address space.

Instructions have different lengths, a multiple of 8 bits each, and follow each other in the
instruction memory without gaps. The opcode is in the lowest bits of every format.
Source: DPU-v2, sections III.B to III.E and figure 7.
"""

from __future__ import annotations

from functools import cache

from amaranth.hdl import unsigned
from amaranth.lib import data
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.topology import writers
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.operation import Operation


class Opcode(IntEnum, metaclass=EnumType, shape=4):
    """What an instruction does. ``EXEC_LOAD`` and ``EXEC_STORE`` exist with ``overlap`` only."""

    NOP = 0
    HALT = 1
    EXEC = 2
    COPY = 3
    LOAD = 4
    STORE = 5
    EXEC_LOAD = 6
    EXEC_STORE = 7


PeOp = Operation
"""What a PE computes from its left and right input. Value 7 is illegal."""


class ErrorCause(IntEnum, metaclass=EnumType, shape=8):
    """Why the machine stopped. ``detail`` is the bank, the row or address, or the opcode."""

    NONE = 0
    ILLEGAL_OPCODE = 1
    ADDRESS_OUT_OF_RANGE = 2
    READ_OF_EMPTY_REGISTER = 3
    WRITE_TO_FULL_BANK = 4
    WRITE_CONFLICT = 5


OPERATION_DETAIL = 0x100
"""Detail of an illegal PE operation, plus the PE's number."""

WRITE_SOURCE_DETAIL = 0x200
"""Detail of an illegal write source, plus the bank."""

WRITE_NONE = 0
WRITE_COPY = 1
FIRST_WRITER = 2
"""Values of ``write_source``: nothing; the bank's own crossbar output; then the PEs of
``topology.writers`` in order."""


def opcodes(config: DpuConfig) -> list[Opcode]:
    """The opcodes that this configuration executes."""
    beside_exec = (Opcode.EXEC_LOAD, Opcode.EXEC_STORE)
    return [opcode for opcode in Opcode if config.overlap or opcode not in beside_exec]


def write_source_bits(config: DpuConfig) -> int:
    """Width of one bank's ``write_source``."""
    return (FIRST_WRITER + len(writers(config, config.banks - 1)) - 1).bit_length()


@cache
def instruction(config: DpuConfig, opcode: Opcode) -> data.StructLayout:
    """The fields of one format, ``opcode`` first, with ``padding`` to whole bytes last.

    read_enable, read_address, valid_reset
        a bit, an address and a bit for each bank: read it; where; and free that register.
    source
        for each tree input, the bank that the crossbar hands to it.
    operation
        for each PE, a ``PeOp``.
    write_source
        for each bank, ``WRITE_NONE``, ``WRITE_COPY`` or ``FIRST_WRITER + k`` for writer ``k``.
    write_enable
        for each bank, whether it takes its crossbar output (``COPY``).
    row
        row of the data memory.
    load_enable
        for each bank, whether it takes its word of the row.
    store_enable
        for each bank, whether the word that it reads goes to the row. A ``STORE`` stores every
        bank that it reads.
    """
    banks = config.banks
    address_bits = (config.registers - 1).bit_length()
    bank_bits = (banks - 1).bit_length()
    row_bits = (config.data_rows - 1).bit_length()
    read = {
        "read_enable": unsigned(banks),
        "valid_reset": unsigned(banks),
        "read_address": data.ArrayLayout(unsigned(address_bits), banks),
    }
    crossbar = {"source": data.ArrayLayout(unsigned(bank_bits), banks)}
    trees = {
        "operation": data.ArrayLayout(PeOp.as_shape(), config.pes),
        "write_source": data.ArrayLayout(unsigned(write_source_bits(config)), banks),
    }
    row = {"row": unsigned(row_bits)}
    body: dict[Opcode, dict] = {
        Opcode.NOP: {},
        Opcode.HALT: {},
        Opcode.EXEC: {**read, **crossbar, **trees},
        Opcode.COPY: {**read, **crossbar, "write_enable": unsigned(banks)},
        Opcode.LOAD: {**row, "load_enable": unsigned(banks)},
        Opcode.STORE: {**row, **read},
        Opcode.EXEC_LOAD: {**read, **crossbar, **trees, **row, "load_enable": unsigned(banks)},
        Opcode.EXEC_STORE: {**read, **crossbar, **trees, **row, "store_enable": unsigned(banks)},
    }
    fields = {"opcode": Opcode.as_shape(), **body[opcode]}
    size = data.StructLayout(fields).size
    if size % 8:
        fields["padding"] = unsigned(8 - size % 8)
    return data.StructLayout(fields)


def instruction_bytes(config: DpuConfig, opcode: Opcode) -> int:
    """Length of one format in bytes."""
    return instruction(config, opcode).size // 8


def instruction_word_bits(config: DpuConfig) -> int:
    """IL, bits that the instruction memory supplies in a cycle: the longest format, in 32s."""
    longest = max(instruction(config, opcode).size for opcode in opcodes(config))
    return -(-longest // 32) * 32


def instruction_memory_bytes(config: DpuConfig) -> int:
    """What the instruction memory holds."""
    return config.instruction_words * instruction_word_bits(config) // 8


def address_bits(config: DpuConfig) -> int:
    """Width of byte addresses of instructions, of the one behind the memory, too.

    Programs have no loops, so a number of instructions that have issued in a run is no wider.
    """
    return instruction_memory_bytes(config).bit_length()


ISSUED = ("exec", "copy", "load", "store", "nop")
"""Counters of instructions issued that execute trees, copy, load, store (an ``EXEC_LOAD`` counts as
``exec`` and ``load``), and do nothing."""

COUNTERS = (*ISSUED, *LOSSES)
"""The DPU's own 64-bit counters, in the host's order: ``ISSUED``, and results of PEs that lost
something, see ``gnarl.hw.lib.losses``."""


def loss_bits(config: DpuConfig) -> int:
    """Width of a number of results of PEs in a run."""
    return address_bits(config) + config.pes.bit_length()
