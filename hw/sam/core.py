"""A SAM machine without its host port: blocks, memories and control."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ResetInserter
from amaranth.lib import wiring

from hw.lib.machine import core_members
from hw.sam.config import SamConfig
from hw.sam.control import Control
from hw.sam.counters import Counters
from hw.sam.datapath import Datapath
from hw.sam.fabric.fabric import Fabric, configuration_layout
from hw.sam.fault import FaultRecorder
from hw.sam.graph_datapath import GraphDatapath
from hw.sam.memory.local_memory import LocalArrays
from hw.sam.memory.shared_memory import SharedArrays
from hw.sam.memory_map import WATCHDOG_CYCLES, ErrorCause, arrays_of, memory_map
from hw.sam.settings import Settings
from hw.sam.unit import all_settings


class Core(wiring.Component):
    """Blocks that pass tokens to each other until all is written. Source: SAM; FuseFlow, section 2.

    Members: ``core_members(memory_map(config))``.
    """

    def __init__(self, config: SamConfig) -> None:
        self._config = config
        self._map = memory_map(config)
        super().__init__(core_members(self._map))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        datapath = GraphDatapath(config) if config.fabric is None else Fabric(config)
        m.submodules.control = control = Control()
        m.submodules.datapath = ResetInserter(control.reset)(datapath)
        patience = WATCHDOG_CYCLES + (config.memory_latency if config.memory == "shared" else 0)
        m.submodules.faults = faults = FaultRecorder(len(datapath.units), patience)
        m.d.comb += [
            control.start.eq(self.start),
            control.stop.eq(self.stop),
            control.clear.eq(self.clear),
            control.fault.eq(faults.fault),
            control.error.eq(faults.cause != ErrorCause.NONE),
            control.finished.eq(datapath.done),
            faults.watch.eq(control.busy),
            faults.faults.eq(datapath.faults),
            faults.offers.eq(datapath.offers),
            faults.moves.eq(datapath.active),
            faults.clear.eq(self.clear),
            self.busy.eq(control.busy),
            self.done.eq(control.done),
            self.cause.eq(faults.cause),
            self.detail.eq(faults.detail),
            self.cycles.eq(control.cycles),
        ]
        self._connect_settings(m, datapath)
        self._connect_counters(m, datapath, control)
        self._connect_memories(m, datapath, control)
        return m

    def _connect_settings(self, m: Module, datapath: Datapath) -> None:
        config = self._config
        if rows := len(all_settings(datapath.units)):
            window = self._map.window("settings")
            m.submodules.settings = settings = Settings(window, [config.index_bits] * rows)
            wiring.connect(m, settings.host, wiring.flipped(self.windows.settings))
            m.d.comb += datapath.settings.as_value().eq(settings.values.as_value())
        if config.fabric is not None:
            widths = list(configuration_layout(config).members.values())
            m.submodules.configuration = configuration = Settings(
                self._map.window("configuration"), widths
            )
            wiring.connect(m, configuration.host, wiring.flipped(self.windows.configuration))
            m.d.comb += datapath.configuration.eq(configuration.values)

    def _connect_counters(self, m: Module, datapath: Datapath, control: Control) -> None:
        events = len(datapath.moves) + len(datapath.offers)
        m.submodules.counters = counters = Counters(events)
        happens = Cat(datapath.moves, datapath.offers)
        m.d.comb += [
            counters.happens.eq(Mux(control.busy, happens, 0)),
            counters.clear.eq(control.begin | self.clear),
        ]
        values = [
            *(counters.o[event] for event in range(events)),
            *(datapath.counts[place] for place in range(len(self._map.counters) - events)),
        ]
        for name, value in zip(self._map.counters, values, strict=True):
            m.d.comb += self.counters[name].eq(value)

    def _connect_memories(self, m: Module, datapath: Datapath, control: Control) -> None:
        config = self._config
        arrays = arrays_of(config, datapath.units)
        memory: Any = (
            LocalArrays(arrays, config.index_bits)
            if config.memory == "local"
            else SharedArrays(
                arrays,
                config.index_bits,
                config.memory_bandwidth,
                config.memory_latency,
                config.memory_in_flight,
            )
        )
        m.submodules.memory = memory
        m.d.comb += [memory.busy.eq(control.busy), memory.reset.eq(control.reset)]
        for window, _ in arrays:
            name = window.name
            wiring.connect(m, getattr(datapath.ports, name), getattr(memory.ports, name))
            wiring.connect(
                m, getattr(memory.windows, name), wiring.flipped(getattr(self.windows, name))
            )
