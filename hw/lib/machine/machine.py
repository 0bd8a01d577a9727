"""A target's machine: what it has of its own, run control, and the common host port."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder
from gnarl.hw.lib.machine.host import HostPort, HostSignature, WindowSignature
from gnarl.hw.lib.machine.memory_map import CommonCause, MemoryMap
from gnarl.hw.lib.machine.run_control import RunControl


class Core(wiring.Component):
    """A machine without its host port. Subclasses add memories and whatever runs.

    In ``elaborate`` they call ``add_run_control``, connect the result's ``finished`` and ``works``,
    and connect ``windows``.

    Parameters: ``memory_map``.

    Members: ``start``, ``stop``, ``clear``, ``limit``, ``busy``, ``done``, ``cause``, ``detail``,
    ``cycles``, ``counters`` and ``windows``: as ``HostPort`` has them, seen from the other side.
    """

    def __init__(self, memory_map: MemoryMap) -> None:
        self.memory_map = memory_map
        counters = data.StructLayout(dict.fromkeys(memory_map.counters, 64))
        no_limit = (1 << memory_map.limit_bits) - 1
        windows = {window.name: In(WindowSignature(window)) for window in memory_map.windows}
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "clear": In(1),
                "limit": In(memory_map.limit_bits, init=no_limit),
                "busy": Out(1),
                "done": Out(1),
                "cause": Out(8),
                "detail": Out(32),
                "cycles": Out(64),
                "counters": Out(counters),
                "windows": Out(wiring.Signature(windows)),
            }
        )

    def add_run_control(
        self,
        m: Module,
        faults: FaultRecorder,
        events: Counters | None,
        values: Iterable[Value] = (),
        cycle_bits: int = 64,
    ) -> RunControl:
        """Puts run control, ``faults`` and ``events`` into ``m``, behind the host's registers.

        A run ends with the first fault, or at the host's limit, which is an error, too.
        The counters of the memory map are those of ``events``, if there are any, whose ``happens``
        counts during a run, and behind them ``values``. ``cycle_bits`` hold the cycles of any run.
        """
        m.submodules.control = control = RunControl(cycle_bits, self.memory_map.limit_bits)
        m.submodules.faults = faults
        m.d.comb += [
            control.start.eq(self.start),
            control.stop.eq(self.stop),
            control.clear.eq(self.clear),
            control.fault.eq(faults.fault),
            control.limit.eq(self.limit),
            control.error.eq((faults.cause != 0) | control.expired),
            faults.watch.eq(control.busy),
            faults.clear.eq(self.clear),
            self.busy.eq(control.busy),
            self.done.eq(control.done),
            self.cause.eq(Mux(control.expired, CommonCause.CYCLE_LIMIT, faults.cause)),
            self.detail.eq(Mux(control.expired, 0, faults.detail)),
            self.cycles.eq(control.cycles),
        ]
        counts = list(values)
        if events is not None:
            m.submodules.counters = events
            m.d.comb += [
                events.watch.eq(control.busy),
                events.clear.eq(control.begin | self.clear),
            ]
            counts = [*(events.o[event] for event in range(len(events.happens))), *counts]
        for name, value in zip(self.memory_map.counters, counts, strict=True):
            m.d.comb += self.counters[name].eq(value)
        return control

    def add_totals(
        self,
        m: Module,
        control: RunControl,
        watch: ValueLike,
        totals: Iterable[Signal],
        amounts: Iterable[ValueLike],
    ) -> None:
        """Each of ``totals`` adds up its amount in the cycles of ``watch``, from 0 in each run."""
        for total, amount in zip(totals, amounts, strict=True):
            with m.If(control.begin | self.clear):
                m.d.sync += total.eq(0)
            with m.Elif(watch):
                m.d.sync += total.eq(total + amount)


class Machine(wiring.Component):
    """A machine as one component.

    Parameters: ``core``; ``digest`` of the configuration, hexadecimal.

    Members: ``host``: the common host port, with the registers and windows of the memory map.
    """

    def __init__(self, core: Core, digest: str) -> None:
        self._core = core
        self._port = HostPort(core.memory_map, int(digest[:8], 16))
        super().__init__({"host": Out(HostSignature())})

    @property
    def core(self) -> Core:
        """What is behind the port; its ``busy``, ``done`` and ``cause`` are those of a status."""
        return self._core

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        m.submodules.port = port = self._port
        wiring.connect(m, port.host, wiring.flipped(self.host))
        for name in ("start", "stop", "clear", "limit"):
            m.d.comb += getattr(core, name).eq(getattr(port, name))
        for name in ("busy", "done", "cause", "detail", "cycles"):
            m.d.comb += getattr(port, name).eq(getattr(core, name))
        if port.memory_map.counters:
            m.d.comb += port.counters.eq(core.counters)
        for window in port.memory_map.windows:
            wiring.connect(
                m, getattr(port.windows, window.name), getattr(core.windows, window.name)
            )
        return m
