"""What can go wrong in a cycle: faults of blocks, and runs in which nothing moves any more."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Mux
from amaranth.lib import data
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder, Rank
from gnarl.hw.sam.memory_map import ErrorCause


def fault_recorder(units: int) -> FaultRecorder:
    """A recorder of faults, a bit for each unit: of a cycle's the lowest counts, then a deadlock.

    What is recorded: ``faults``; ``stuck``: nothing moves any more; ``offers``, a bit for each
    unit, which offers a token that is not taken.
    """
    layout = data.StructLayout({"faults": units, "stuck": 1, "offers": units})
    return FaultRecorder(layout, ErrorCause, _ranked)


def _ranked(faults: Any) -> list[Rank]:
    first_offer_or_none = Cat(faults.offers, 1)
    return [
        (ErrorCause.FAULT, faults.faults, 0),
        (ErrorCause.DEADLOCK, Mux(faults.stuck, first_offer_or_none, 0), 0),
    ]
