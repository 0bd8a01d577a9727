"""What views of waves show of in-SRAM computing."""

from __future__ import annotations

from gnarl.sw.runtime.machine.waves.view import Unit

_PORT = ("port__request", "port__response")

UNITS = (
    Unit("fetch", bits=("idle",), numbers=("available", "take"), streams=_PORT),
    Unit(
        "unit",
        bits=(
            *("accepted", "finished", "banks_idle", "starts_transfer", "transfer_busy"),
            *("starts_exchange", "exchange_busy", "starts_near", "near_streams", "near_copies"),
            *("starts_core", "core_busy"),
        ),
        numbers=("place", "fault"),
        streams=("bank",),
    ),
    Unit("bank_0", bits=("busy", "computes", "moves"), streams=("command",)),
    Unit("bank_0.controller.sequencer", numbers=("pc",), streams=("program",)),
    Unit("transfer", bits=("busy",), numbers=("line", "tile"), streams=_PORT),
    Unit("exchange", bits=("busy",), numbers=("state", "distance")),
    Unit("near_memory", bits=("busy", "streams", "copies", "waits"), streams=_PORT),
    Unit("vector_core", bits=("busy", "halted", "issued"), streams=_PORT),
    Unit("vector_core.unit.sequencer", numbers=("pc",), streams=("instruction",)),
    Unit("main", streams=_PORT),
)
