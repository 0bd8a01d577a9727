"""A machine behind a serial line, as boards have it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.host_link import HostLink
from gnarl.hw.lib.machine.machine import Machine

LEDS = data.StructLayout({"idle": 1, "running": 1, "done": 1, "error": 1})
"""What the machine does, one of: nothing since its reset or a clear or stop; a run; nothing, and
its last run has finished; nothing since an error, which awaits a clear."""


class BoardMachine(wiring.Component):
    """A machine that a host drives through a serial line, with lights that show its state.

    Parameters: ``machine``, as a target's ``build`` makes it; ``clock_hz``, Hz, of domain ``sync``;
    ``baud``, bits a second, at most a quarter of it. Raises ``ConfigError`` where they do not go
    together.

    Members: ``rx`` in, ``tx`` out: the line, idle at 1; ``rx`` may change at any time. ``leds``
    out, of ``LEDS``, 1 for one that is lit.
    """

    def __init__(self, machine: Machine, clock_hz: int, baud: int) -> None:
        self._machine = machine
        self._link = HostLink(clock_hz, baud)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(LEDS)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.machine = machine = self._machine
        m.submodules.link = link = self._link
        wiring.connect(m, link.host, machine.host)
        core = machine.core
        error = Value.cast(core.cause) != 0
        m.d.comb += [
            link.rx.eq(self.rx),
            self.tx.eq(link.tx),
            self.leds.running.eq(core.busy),
            self.leds.error.eq(~core.busy & error),
            self.leds.done.eq(~core.busy & ~error & core.done),
            self.leds.idle.eq(~core.busy & ~error & ~core.done),
        ]
        return m
