"""What can go wrong in a cycle, and which of it counts."""

from __future__ import annotations

from typing import Any

from amaranth.lib import data
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.decoder import illegal_layout
from gnarl.hw.dpu.isa import (
    OPERATION_DETAIL,
    WRITE_SOURCE_DETAIL,
    ErrorCause,
    Opcode,
    address_bits,
)
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder, Rank


def fault_layout(config: DpuConfig) -> data.StructLayout:
    """All that can go wrong in a cycle.

    ``illegal``: see ``decoder``; ``beyond``: the instruction doesn't end within the memory;
    ``opcode``, ``row``, ``address`` (of its first byte): the instruction's own; ``empty``,
    ``full``, ``conflict``: a bit for each bank.
    """
    row_bits = (config.data_rows - 1).bit_length()
    return data.StructLayout(
        {
            "illegal": illegal_layout(config),
            "beyond": 1,
            "opcode": Opcode.as_shape(),
            "row": row_bits,
            "address": address_bits(config),
            "empty": config.banks,
            "full": config.banks,
            "conflict": config.banks,
        }
    )


def fault_recorder(config: DpuConfig) -> FaultRecorder:
    """A recorder of the fault with the lowest cause of a cycle; within it, of the first here."""
    return FaultRecorder(fault_layout(config), ErrorCause, _ranked, config.fault_stages)


def _ranked(faults: Any) -> list[Rank]:
    illegal = faults.illegal
    return [
        (ErrorCause.ILLEGAL_OPCODE, illegal.opcode, faults.opcode),
        (ErrorCause.ILLEGAL_OPCODE, illegal.operation, OPERATION_DETAIL),
        (ErrorCause.ILLEGAL_OPCODE, illegal.write_source, WRITE_SOURCE_DETAIL),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, faults.beyond, faults.address),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.row, faults.row),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.source, 0),
        (ErrorCause.ADDRESS_OUT_OF_RANGE, illegal.read_address, 0),
        (ErrorCause.READ_OF_EMPTY_REGISTER, faults.empty, 0),
        (ErrorCause.WRITE_TO_FULL_BANK, faults.full, 0),
        (ErrorCause.WRITE_CONFLICT, faults.conflict, 0),
    ]
