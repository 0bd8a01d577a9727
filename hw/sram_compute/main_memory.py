"""Main memory, and which part of the system has it."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from hw.lib.instanced import ResetInserter
from hw.lib.lines.line_memory import LineMemory
from hw.lib.lines.line_port import connect_wider
from hw.lib.lines.line_size import LINE_WORDS
from hw.lib.memory_map import Window
from hw.sram_compute.array_transfer import ArrayTransfer
from hw.sram_compute.command_fetch import CommandFetch
from hw.sram_compute.config import SramConfig
from hw.sram_compute.near_memory import NearMemory
from hw.sram_compute.vector_core import VectorCore


class Users(NamedTuple):
    """Of main memory."""

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
    busy: Signal,
    was_busy: Signal,
) -> Value:
    """Adds main memory, which belongs to transfers, copies or the core while they are under way,
    else to the fetch. ``host``: what writes and reads ``window``; ``busy``, ``was_busy``: a run is
    under way, was a cycle before.

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
    fetches, core_runs, transfers = Signal(), Signal(), Signal()
    ports = [(fetch.port, fetches), (transfer.port, transfer.busy)]
    m.d.comb += transfers.eq(transfer.busy)
    if near is not None:
        ports.append((near.port, near.copies))
        m.d.comb += transfers.eq(transfer.busy | near.copies)
    if core is not None:
        ports.append((core.port, core_runs))
        m.d.comb += core_runs.eq(core.busy)
    m.d.comb += fetches.eq(~(transfers | core_runs))
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
