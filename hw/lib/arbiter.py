"""Who comes next: turns between many that want the same thing."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.lowest_one import lowest_one


class RoundRobin(Instanced):
    """Grants one request a cycle; the one after the last that was granted comes first.

    So a request that stays waits for at most one turn of each other. Latency: 0 cycles.

    Parameters: ``requests``, how many.   Members: ``requests`` in, ``grant`` out, at most one bit.
    """

    def __init__(self, requests: int) -> None:
        super().__init__({"requests": In(requests), "grant": Out(requests)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        later = Signal.like(self.requests)  # those behind the last that was granted
        waiting = Signal.like(self.requests)
        m.d.comb += [
            waiting.eq(self.requests & later),
            self.grant.eq(lowest_one(Mux(waiting.any(), waiting, self.requests))),
        ]
        with m.If(self.grant.any()):
            m.d.sync += later.eq(~(self.grant | (self.grant - 1)))
        return m
