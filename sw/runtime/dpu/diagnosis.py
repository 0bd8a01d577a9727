"""Finds where a DPU's RTL and its model part ways: the first word stored that differs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.dpu.assembly import disassemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode
from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import Rows


def written_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Rows that the program's instructions store to, by window: int [n], ascending."""
    _, rows, _ = _stores(launch)
    return {"data": np.unique(rows)}


def volatile_rows(launch: Launch) -> dict[str, np.ndarray] | None:
    """The rows as from ``written_rows``; ``None``, any, for a malformed stream, at which the
    machine stops."""
    try:
        return written_rows(launch, {})
    except ValueError:
        return None


def first_difference(
    launch: Launch, found: Mapping[str, Rows], model: Mapping[str, Rows]
) -> str | None:
    """The first store of which a word differs in the rows of ``written_rows`` after the end.

    ``None`` if all are equal. Words that a later store overwrites are not seen.
    """
    start = DpuConfig.from_dict(launch.config).start_cycles
    instructions, rows, masks = _stores(launch)
    for instruction, row, mask in zip(instructions.tolist(), rows.tolist(), masks, strict=True):
        banks = np.flatnonzero(mask)
        places = np.full(len(banks), row)
        left, right = found["data"].at(places, banks), model["data"].at(places, banks)
        wrong = np.flatnonzero(left != right)
        if len(wrong):
            at = wrong[0]
            return (
                f"instruction {instruction} in cycle {start + instruction} stores "
                f"{int(left[at]):#010x} to row {row}, bank {banks[at]}, "
                f"the model {int(right[at]):#010x}"
            )
    return None


def _stores(launch: Launch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number and row of each storing instruction, int [n], and the banks, bool [n, banks]."""
    config = DpuConfig.from_dict(launch.config)
    wanted = ["read_enable", "store_enable", "row"]
    opcodes, columns, _ = disassemble(config, launch.sections["instructions"], wanted)
    alone, beside = opcodes == Opcode.STORE, opcodes == Opcode.EXEC_STORE
    # A STORE stores all that it reads.
    masks = np.zeros((len(opcodes), config.banks), bool)
    masks[alone] = columns["read_enable"][alone]
    if beside.any():
        masks[beside] = columns["store_enable"][beside]
    numbers = np.flatnonzero(alone | beside)
    return numbers, columns["row"][numbers].astype(np.int64), masks[numbers]
