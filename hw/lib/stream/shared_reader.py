"""Reads of a memory that others use, too, with several requests under way."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, fifo
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.memory_ports import ReadPort


class SharedReader(Instanced):
    """A port's requests under way, and their answers until they are taken.

    Parameters: ``latency`` from a grant to its answer, at least 1, of which the memory takes the
    first cycle; ``in_flight``, most requests that are granted and not answered; others wait.

    Members: ``port``, a ``ReadPort`` of these parameters in; ``wants`` out: a request may be
    granted; ``granted`` in: it is; ``arrives``, ``row`` in: what it reads, a cycle later.
    """

    def __init__(
        self, address_bits: int, width: int, words: int, latency: int, in_flight: int
    ) -> None:
        self._latency = latency
        self._in_flight = in_flight
        super().__init__(
            {
                "port": In(ReadPort(address_bits, width, words)),
                "wants": Out(1),
                "granted": In(1),
                "arrives": In(1),
                "row": In(data.ArrayLayout(width, words)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        address, answer = self.port.address, self.port.data
        m.submodules.answers = answers = fifo.SyncFIFO(
            width=len(self.row.as_value()), depth=self._in_flight
        )
        taken = answer.valid & answer.ready
        under_way = Signal(range(self._in_flight + 1))
        m.d.sync += under_way.eq(under_way + self.granted - taken)
        m.d.comb += [
            self.wants.eq(address.valid & (under_way != self._in_flight)),
            address.ready.eq(self.granted),
            answers.w_data.eq(self.row.as_value()),
        ]
        if self._latency == 1:
            m.d.comb += [
                answer.valid.eq(answers.r_rdy | self.arrives),
                answer.payload.eq(Mux(answers.r_rdy, answers.r_data, self.row.as_value())),
                answers.w_en.eq(self.arrives & (answers.r_rdy | ~answer.ready)),
                answers.r_en.eq(answer.ready),
            ]
        else:
            # Answers wait in their queue until their time has come.
            due = Signal.like(under_way)
            becomes_due = self.arrives
            if self._latency > 2:
                delay = Signal(self._latency - 2)
                m.d.sync += delay.eq(Cat(self.arrives, delay))
                becomes_due = delay[-1]
            m.d.sync += due.eq(due + becomes_due - taken)
            m.d.comb += [
                answer.valid.eq(due != 0),
                answer.payload.eq(answers.r_data),
                answers.w_en.eq(self.arrives),
                answers.r_en.eq(taken),
            ]
        return m
