"""Fold: the sum, or the maximum, of the words of a block of values."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import EnableInserter, Instanced
from gnarl.hw.sam.blocks.values.delay import Delay
from gnarl.hw.sam.blocks.values.reduce import REDUCTIONS
from gnarl.hw.sam.token import token_stream


class Fold(Instanced):
    """One word for each block of values; stops and done pass.

    Neighbours are put together in pairs, pairs of pairs and so on: words 0 and 1, 2 and 3, then
    these results. Empty tokens count as the word 0. One token a cycle.

    Parameters: ``format`` of values; ``op``, a name of ``REDUCTIONS``; ``words`` of a block, a
    power of two, at least 2; ``stages`` >= 1 of each adder.

    Members: ``val`` in; ``out_val`` out.
    """

    def __init__(self, format: NumberFormat, op: str, words: int, stages: int) -> None:
        self._format = format
        self._op = REDUCTIONS[op]
        self._words = words
        self._stages = stages
        super().__init__(
            {
                "val": In(token_stream(words * format.width)),
                "out_val": Out(token_stream(format.width)),
            }
        )

    @staticmethod
    def latency(words: int, stages: int) -> int:
        """Cycles from a block to its result."""
        return (words - 1).bit_length() * stages

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width, val = self._format.width, self.val
        latency = self.latency(self._words, self._stages)
        m.submodules.delay = delay = Delay(width, latency)
        wiring.connect(m, delay.o, wiring.flipped(self.out_val))
        # The payload of an empty token is the word 0.
        left = [val.payload.payload.word_select(word, width) for word in range(self._words)]
        level = 0
        while len(left) > 1:
            results = []
            for place, (one, other) in enumerate(zip(left[::2], left[1::2], strict=True)):
                unit = ArithmeticUnit(self._format, self._stages)
                m.submodules[f"unit_{level}_{place}"] = EnableInserter(delay.enable)(unit)
                m.d.comb += [unit.left.eq(one), unit.right.eq(other), unit.operation.eq(self._op)]
                results.append(unit.o)
            left, level = results, level + 1
        m.d.comb += [
            delay.result.eq(left[0]),
            delay.i.payload.kind.eq(val.payload.kind),
            delay.i.payload.payload.eq(val.payload.payload),
            delay.i.valid.eq(val.valid),
            val.ready.eq(delay.i.ready),
        ]
        return m
