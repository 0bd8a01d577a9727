"""Value drop: removes values that are zero, with their coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import FloatFormat, NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.step import TokenStep, is_data
from gnarl.hw.sam.token import token_stream


class ValDrop(Instanced):
    """Passes pairs of coordinate and value, unless the value is 0, +0, -0 or empty, or a
    block of such values; passes stops.

    Latency: 0 cycles; one token a cycle. Source: SAM, value dropper.

    Parameters: ``width`` of coordinates; ``format`` of values; ``words`` of a value.

    Members: ``crd``, ``val`` in; ``out_crd``, ``out_val`` out; ``fault`` out: the two disagree.
    """

    def __init__(self, width: int, format: NumberFormat, words: int = 1) -> None:
        self._format = format
        self._words = words
        super().__init__(
            {
                "crd": In(token_stream(width)),
                "val": In(token_stream(words * format.width)),
                "out_crd": Out(token_stream(width)),
                "out_val": Out(token_stream(words * format.width)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd, val = self.crd, self.val
        step = TokenStep(m, inputs=[crd, val], outputs=[self.out_crd, self.out_val])
        width = self._format.width
        magnitude_bits = width - 1 if isinstance(self._format, FloatFormat) else width
        magnitudes = (
            val.payload.payload.word_select(word, width)[:magnitude_bits]
            for word in range(self._words)
        )

        with m.If(crd.valid & val.valid):
            with m.If(agree(crd, val)):
                with m.If(~(is_data(val) & (Cat(magnitudes) == 0))):
                    step.pass_on(self.out_crd, crd)
                    step.pass_on(self.out_val, val)
                step.ready(crd, val)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m
