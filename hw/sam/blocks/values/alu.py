"""ALU: values of two streams, put together one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.values.delay import Delay
from gnarl.hw.sam.blocks.values.unit_row import ONE, UnitRow, words_at
from gnarl.hw.sam.token import token_stream

OPERATIONS = {
    "add": Operation.ADD,
    "sub": Operation.SUB,
    "mul": Operation.MUL,
    "max": Operation.MAX,
    "min": Operation.MIN,
}
"""Operations of arithmetic units by their names in graphs."""


class Alu(Instanced):
    """``val0`` ``op`` ``val1`` of the data of two streams; stops and done, which both must share.

    Empty tokens count as the word 0. Of blocks of values, each word meets the one at the same
    coordinates: a value of one word meets every word. Latency: ``stages`` cycles; one token a
    cycle. Source: SAM, ALUs; FuseFlow, section 7, of blocks; arithmetic as in ``ArithmeticUnit``.

    Parameters: ``format`` of values; ``stages`` >= 1; ``op``, a name of ``OPERATIONS``; None for
    one that is set from outside; ``places``, for each word of a result the words of the two values
    that it is made of.

    Members: ``val0``, ``val1`` in; ``out_val`` out; ``operation`` in, if ``op`` is None, the same
    during a run; ``fault`` out: data against stop or done, or different stops.
    """

    def __init__(
        self,
        format: NumberFormat,
        stages: int,
        op: str | None,
        places: tuple[Sequence[int], Sequence[int]] = (ONE, ONE),
    ) -> None:
        self._op = op
        self._format = format
        self._stages = stages
        self._places = places
        self._words = len(places[0])
        counts = (*(max(each) + 1 for each in places), self._words)
        stream0, stream1, out = (token_stream(count * format.width) for count in counts)
        setting = {"operation": In(Operation)} if op is None else {}
        super().__init__(
            {"val0": In(stream0), "val1": In(stream1), "out_val": Out(out), "fault": Out(1)}
            | setting
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width = self._format.width
        m.submodules.delay = delay = Delay(self._words * width, self._stages)
        row = UnitRow(m, self._format, self._stages, self._words, delay.enable)
        wiring.connect(m, delay.o, wiring.flipped(self.out_val))
        val0, val1 = self.val0, self.val1
        m.d.comb += [
            # The payload of an empty token is the word 0.
            row.left.eq(words_at(val0.payload.payload, self._places[0], width)),
            row.right.eq(words_at(val1.payload.payload, self._places[1], width)),
            row.operation.eq(self.operation if self._op is None else OPERATIONS[self._op]),
            delay.result.eq(row.o),
            delay.i.payload.kind.eq(val0.payload.kind),
            delay.i.payload.payload.eq(val0.payload.payload),
        ]
        with m.If(val0.valid & val1.valid):
            with m.If(agree(val0, val1)):
                m.d.comb += [
                    delay.i.valid.eq(1),
                    val0.ready.eq(delay.i.ready),
                    val1.ready.eq(delay.i.ready),
                ]
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m
