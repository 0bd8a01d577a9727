"""A SAM machine without its host port: blocks, memories and control."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.machine import Core
from gnarl.hw.lib.machine.settings import Settings
from gnarl.hw.lib.machine.watchdog import Watchdog
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.datapath import Datapath
from gnarl.hw.sam.fabric.fabric import Fabric, configuration_layout
from gnarl.hw.sam.fault import fault_recorder
from gnarl.hw.sam.graph_datapath import GraphDatapath
from gnarl.hw.sam.memory.arrays import Arrays
from gnarl.hw.sam.memory.line_arrays import LineArrays
from gnarl.hw.sam.memory.local_memory import LocalArrays
from gnarl.hw.sam.memory.placement import PLACES
from gnarl.hw.sam.memory.shared_memory import SharedArrays
from gnarl.hw.sam.memory_map import arrays_of, memory_map, patience
from gnarl.hw.sam.unit import settings_of

COUNTER_BITS = 40
"""More than an hour of cycles at any clock that hardware of this kind reaches."""


class SamCore(Core):
    """Blocks that pass tokens to each other until all is written. Source: SAM; FuseFlow, section 2.

    Members: as ``Core``, with ``memory_map(config)``.
    """

    def __init__(self, config: SamConfig) -> None:
        self._config = config
        super().__init__(memory_map(config))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        datapath = GraphDatapath(config) if config.fabric is None else Fabric(config)
        reset, beyond = Signal(), Signal(len(datapath.units))
        arrays = arrays_of(config, datapath.units)
        memory = self._make_memory(m, arrays) if arrays else None
        of_lines = memory if isinstance(memory, LineArrays) else None
        done = Signal()
        noticed = self._notice(m, datapath, beyond, done, of_lines, reset)
        reads = [not writes for _, writes in arrays]
        happens = Cat(
            noticed.moves,
            noticed.operations,
            (noticed.requests[place] for place, is_read in enumerate(reads) if is_read),
            noticed.lines,
            noticed.offers,
        )
        faults = fault_recorder(len(datapath.units))
        events = Counters(len(happens), COUNTER_BITS) if config.counters else None
        counts = (
            datapath.counts[place] for place in range(sum(len(u.counts) for u in datapath.units))
        )
        control = self.add_run_control(m, faults, events, counts)
        m.submodules.watchdog = watchdog = Watchdog(patience(config))

        # A run starts with blocks reset, whatever the last one left, and blocks work during a run
        # only; after a complete one they keep what they have counted.
        m.submodules.datapath = ResetInserter(reset)(datapath)
        m.d.comb += [
            reset.eq(~control.busy & (control.begin | ~control.done)),
            control.finished.eq(noticed.done),
            # Cycles count from the first, in which roots give their reference, to the one in which
            # the last writer takes the end of its stream, or the last line is in memory.
            done.eq(datapath.done if of_lines is None else datapath.done & of_lines.settled),
            control.works.eq(~done),
            watchdog.watch.eq(control.busy),
            watchdog.moves.eq(Cat(noticed.moves, noticed.requests, noticed.channels).any()),
            faults.faults.faults.eq(noticed.faults),
            faults.faults.stuck.eq(watchdog.stuck),
            faults.faults.offers.eq(noticed.offers),
        ]
        if events is not None:
            m.d.comb += events.happens.eq(happens)
        self._connect_settings(m, datapath)
        if memory is not None:
            m.d.comb += [
                memory.busy.eq(control.busy),
                # A host may be reading lines once a run was broken off.
                memory.reset.eq(reset if of_lines is None else control.begin),
            ]
            for window, _ in arrays:
                wiring.connect(
                    m, getattr(datapath.ports, window.name), getattr(memory.ports, window.name)
                )
            if config.memory != "local":
                m.d.comb += beyond.eq(Cat(self._beyond(datapath, memory)))
            if of_lines is not None:
                m.d.comb += of_lines.drain.eq(datapath.done)
        return m

    @staticmethod
    def _notice(
        m: Module,
        datapath: Datapath,
        beyond: Signal,
        done: Signal,
        of_lines: LineArrays | None,
        reset: Signal,
    ) -> Any:
        """What blocks and their memory did a cycle ago, by the names of the datapath's members: the
        ways through their logic are long enough. ``beyond``: a bit for each unit, of faults besides
        its own; ``lines``: a bit for each array, then for each channel, which ``channels`` are in
        use."""
        none = Const(0, 0)
        happened: dict[str, Value] = {
            "moves": datapath.moves,
            "operations": getattr(datapath, "operations", none),
            "offers": datapath.offers,
            "faults": datapath.faults | beyond,
            "requests": getattr(datapath, "requests", none),
            "lines": none if of_lines is None else Cat(of_lines.lines, of_lines.accepts),
            "channels": none if of_lines is None else of_lines.moves,
            "done": done,
        }
        noticed: dict[str, Value] = dict.fromkeys(happened, none)
        for name, value in happened.items():
            if len(value):
                noticed[name] = register = Signal(len(value), name=f"noticed_{name}")
                m.d.sync += register.eq(value)
                with m.If(reset):
                    m.d.sync += register.eq(0)
        return SimpleNamespace(**noticed)

    def _connect_settings(self, m: Module, datapath: Datapath) -> None:
        config = self._config
        if rows := len(settings_of(datapath.units)):
            window = self.memory_map.window("settings")
            m.submodules.settings = settings = Settings(window, [config.index_bits] * rows)
            wiring.connect(m, settings.host, wiring.flipped(self.windows.settings))
            m.d.comb += datapath.settings.as_value().eq(settings.values.as_value())
        if config.fabric is not None:
            widths = list(configuration_layout(config).members.values())
            m.submodules.configuration = configuration = Settings(
                self.memory_map.window("configuration"), widths
            )
            wiring.connect(m, configuration.host, wiring.flipped(self.windows.configuration))
            m.d.comb += datapath.configuration.eq(configuration.values)

    def _make_memory(self, m: Module, arrays: Arrays) -> Any:
        """The memory of the arrays, which the host sees in its windows."""
        config = self._config
        m.submodules.memory = memory = _memory(config, arrays)
        if config.memory != "local":
            window = self.memory_map.window(PLACES)
            m.submodules.places = places = Settings(window, [window.word_bits] * window.rows)
            wiring.connect(m, places.host, wiring.flipped(self.windows.places))
            m.d.comb += memory.places.as_value().eq(places.values.as_value())
        for name in memory.windows.signature.members:
            wiring.connect(
                m, getattr(memory.windows, name), wiring.flipped(getattr(self.windows, name))
            )
        return memory

    @staticmethod
    def _beyond(datapath: Datapath, memory: Any) -> Iterator[Value]:
        """For each unit, whether one of its arrays is asked for a row beyond its place."""
        faults = iter(memory.faults)
        for unit in datapath.units:
            yield Cat(next(faults) for _ in unit.arrays).any()


def _memory(config: SamConfig, arrays: Arrays) -> Any:
    match config.memory:
        case "local":
            return LocalArrays(arrays, config.index_bits, config.local_latency)
        case "shared":
            return SharedArrays(
                arrays,
                config.index_bits,
                config.memory_bandwidth,
                config.memory_latency,
                config.memory_in_flight,
            )
        case _:
            return LineArrays(
                arrays,
                config.index_bits,
                line_words=config.line_words,
                channels=config.memory_channels,
                latency=config.memory_latency,
                line_cycles=config.line_cycles,
                slots=config.port_lines,
                ahead=config.prefetch_lines,
                in_flight=config.memory_in_flight,
            )
