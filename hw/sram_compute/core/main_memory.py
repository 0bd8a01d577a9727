"""Main memory, and which part of the system has it."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_port import connect_wider
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sram_compute.commands.command_fetch import CommandFetch
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.core.memory_turns import MemoryTurns
from gnarl.hw.sram_compute.core.vector_core import VectorCore
from gnarl.hw.sram_compute.streams.near_memory import NearMemory
from gnarl.hw.sram_compute.transfer.array_transfer import ArrayTransfer


class Users(NamedTuple):
    """The users of main memory."""

    fetch: CommandFetch
    transfer: ArrayTransfer
    near: NearMemory | None
    core: VectorCore | None


def add_main_memory(
    m: Module,
    config: SramConfig,
    window: Window,
    host: wiring.PureInterface,
    users: Users,
    reset: Signal,
    busy: Signal,
    was_busy: Signal,
) -> Value:
    """Adds main memory, which belongs to transfers or the core while they are under way, else to
    the fetch and to copies. ``host``: what writes and reads ``window``; ``reset``: of what belongs
    to a run; ``busy``, ``was_busy``: a run is under way, was a cycle before.

    Gives what happens in a cycle: a line of the program is asked for, of an array, one is written;
    the core asks for one, it writes one.
    """
    fetch, transfer, near, core = users
    main = LineMemory(
        window,
        LINE_WORDS,
        config.latency,
        1 if core is None else core.tag_bits,
        config.line_cycles,
    )
    m.submodules.main = ResetInserter(was_busy & ~busy)(main)
    wiring.connect(m, wiring.flipped(host), main.host)
    m.d.comb += main.busy.eq(busy)
    fetches, transfers = Signal(), Signal()
    core_runs, is_shared = Signal(), Signal()
    m.d.comb += [
        is_shared.eq(~(transfer.busy | core_runs)),
        fetches.eq(is_shared),
        transfers.eq(transfer.busy),
    ]
    ports = [(transfer.port, transfer.busy)]
    if near is None:
        ports.append((fetch.port, is_shared))
    else:
        turns = MemoryTurns((config.memory_lines - 1).bit_length())
        m.submodules.turns = ResetInserter(reset)(turns)
        wiring.connect(m, fetch.port, turns.fetch)
        wiring.connect(m, near.port, turns.copy)
        ports.append((turns.down, is_shared))
        m.d.comb += [
            fetches.eq(is_shared & turns.is_fetch),
            transfers.eq(transfer.busy | is_shared & ~turns.is_fetch),
        ]
    if core is not None:
        ports.append((core.port, core_runs))
        m.d.comb += core_runs.eq(core.busy)
    for port, is_on in ports:
        with m.If(is_on):
            connect_wider(m, port, main.port)
    request = main.port.request
    reads, writes = Signal(), Signal()
    m.d.comb += [
        writes.eq(request.valid & request.ready & request.payload.write.any()),
        reads.eq(request.valid & request.ready & ~request.payload.write.any()),
    ]
    return Cat(
        fetches & reads,
        transfers & reads,
        transfers & writes,
        core_runs & reads,
        core_runs & writes,
    )
