"""Main memory, and which part of the system has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_port import connect_part, connect_wider
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.sram_compute.commands.command_fetch import CommandFetch
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.core.memory_turns import MemoryTurns
from gnarl.hw.sram_compute.core.pace import Pace
from gnarl.hw.sram_compute.core.vector_core import VectorCore
from gnarl.hw.sram_compute.streams.near_memory import NearMemory
from gnarl.hw.sram_compute.transfer.array_transfer import ArrayTransfer


class Events(NamedTuple):
    """What happens in a cycle: a line of the program is asked for; the core asks for one, writes
    one. How many of arrays are asked for, are written."""

    fetched: Value
    core_read: Value
    core_written: Value
    loaded: Value
    stored: Value


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
) -> Events:
    """Adds main memory, which belongs to transfers or the core while they are under way, else to
    the fetch and to copies. ``host``: what writes and reads ``window``; ``reset``: of what belongs
    to a run; ``busy``, ``was_busy``: a run is under way, was a cycle before.
    """
    fetch, transfer, near, core = users
    ends = was_busy & ~busy
    tag_bits = 1 if core is None else core.tag_bits
    main = _memory(config, window, tag_bits)
    m.submodules.main = ResetInserter(ends)(main)
    _connect_host(m, config, host, main.host)
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
    memory, wide = main.port, transfer.busy & transfer.wide
    if config.memory_channels > 1:
        memory = _paced(m, config, main, wide, ends)
    for port, is_on in ports:
        connect = connect_wider if port is transfer.port else _connect_user(config)
        with m.If(is_on):
            connect(m, port, memory)
    request = memory.request
    reads, writes = Signal(), Signal()
    m.d.comb += [
        writes.eq(request.valid & request.ready & request.payload.write.any()),
        reads.eq(request.valid & request.ready & ~request.payload.write.any()),
    ]
    lines = Mux(wide, config.memory_channels, 1)
    return Events(
        fetches & reads,
        core_runs & reads,
        core_runs & writes,
        Mux(transfers & reads, lines, 0),
        Mux(transfers & writes, lines, 0),
    )


def _memory(config: SramConfig, window: Window, tag_bits: int) -> LineMemory:
    """Main memory; of several channels, whose lines side by side are one, as fast as they come."""
    channels = config.memory_channels
    if channels == 1:
        return LineMemory(window, LINE_WORDS, config.latency, tag_bits, config.line_cycles)
    lines = replace(window, rows=window.rows // channels, words=channels * LINE_WORDS)
    return LineMemory(
        lines,
        lines.words,
        config.latency,
        tag_bits + _channel_bits(config),
        in_flight=config.latency // config.line_cycles + 1,
    )


def _channel_bits(config: SramConfig) -> int:
    return (config.memory_channels - 1).bit_length()


def _connect_host(
    m: Module, config: SramConfig, host: wiring.PureInterface, memory: wiring.PureInterface
) -> None:
    bits = _channel_bits(config)
    if not bits:
        wiring.connect(m, wiring.flipped(host), memory)
        return
    m.d.comb += [
        memory.row.eq(host.row >> bits),
        memory.lane.eq(Cat(host.lane, host.row[:bits])),
        *(getattr(memory, name).eq(getattr(host, name)) for name in _WRITES),
        host.read_data.eq(memory.read_data),
    ]


_WRITES = ("selected", "write_enable", "write_data")


def _connect_user(config: SramConfig) -> Callable[[Module, Any, Any], None]:
    """Connects a port for single lines."""
    return connect_wider if config.memory_channels == 1 else connect_part


def _paced(m: Module, config: SramConfig, main: LineMemory, wide: Value, ends: Value) -> Any:
    """The port of a memory whose requests have it for as long as its bandwidth says."""
    pace = Pace(config.line_cycles, config.wide_line_quarters)
    m.submodules.pace = ResetInserter(ends)(pace)
    port = main.port.signature.create()
    asked, passed = port.request, main.port.request
    m.d.comb += [
        passed.payload.eq(asked.payload),
        passed.valid.eq(asked.valid & pace.free),
        asked.ready.eq(passed.ready & pace.free),
        pace.accepts.eq(asked.valid & asked.ready),
        pace.wide.eq(wide),
        port.idle.eq(main.port.idle & pace.free),
        port.response.valid.eq(main.port.response.valid),
        port.response.payload.eq(main.port.response.payload),
        main.port.response.ready.eq(port.response.ready),
    ]
    return port
