"""The way of tokens alongside a pipelined unit that computes their payloads."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sam.step import is_data
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_stream


class Delay(wiring.Component):
    """Gives tokens ``latency`` cycles after it has taken them, data with what the unit computed.

    The whole pipeline stalls while its last token is not accepted; else it takes one token a cycle.
    Empty tokens become data: what the unit made of them.

    Parameters: ``width`` of results; ``latency`` of the unit, at least 1.

    Members: ``i`` in: tokens without their data; ``enable`` out: the unit's registers move;
    ``result`` in: what the unit gives; ``o`` out.
    """

    def __init__(self, width: int, latency: int) -> None:
        self._latency = latency
        super().__init__(
            {
                "i": In(token_stream(LEVEL_BITS)),
                "enable": Out(1),
                "result": In(width),
                "o": Out(token_stream(width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        valid, token = i.valid, i.payload
        for stage in range(self._latency):
            next_valid = Signal(name=f"valid_{stage}")
            next_token = Signal.like(token, name=f"token_{stage}")
            with m.If(self.enable):
                m.d.sync += [next_valid.eq(valid), next_token.eq(token)]
            if stage == 0:
                with m.If(self.enable & is_data(i)):
                    m.d.sync += next_token.kind.eq(Kind.DATA)
            valid, token = next_valid, next_token
        m.d.comb += [
            self.enable.eq(~valid | o.ready),
            i.ready.eq(self.enable),
            o.valid.eq(valid),
            o.payload.kind.eq(token.kind),
        ]
        with m.If(token.kind == Kind.DATA):
            m.d.comb += o.payload.payload.eq(self.result)
        with m.Else():
            m.d.comb += o.payload.payload.eq(token.payload)
        return m
