"""Fold: the sum, or the maximum, of the words of a block of values along an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import EnableInserter, Instanced
from gnarl.hw.sam.blocks.values.delay import Delay
from gnarl.hw.sam.blocks.values.reduce import REDUCTIONS
from gnarl.hw.sam.token import token_stream


class Fold(Instanced):
    """Values that lack an index which those that come in have words along; stops and done pass.

    Neighbours along the index are put together in pairs, pairs of pairs and so on: words 0 and 1, 2
    and 3, then these results. Empty tokens count as the word 0. One token a cycle.

    Parameters: ``format`` of values; ``op``, a name of ``REDUCTIONS``; ``groups``, for each word of
    a result the words that it is made of: a power of two of them, at least 2; ``stages`` >= 1 of
    each adder.

    Members: ``val`` in; ``out_val`` out.
    """

    def __init__(
        self, format: NumberFormat, op: str, groups: Sequence[Sequence[int]], stages: int
    ) -> None:
        self._format = format
        self._op = REDUCTIONS[op]
        self._groups = groups
        self._stages = stages
        words = sum(map(len, groups))
        super().__init__(
            {
                "val": In(token_stream(words * format.width)),
                "out_val": Out(token_stream(len(groups) * format.width)),
            }
        )

    @staticmethod
    def latency(words: int, stages: int) -> int:
        """Cycles from a block to its result, of ``words`` along the index."""
        return (words - 1).bit_length() * stages

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width, val = self._format.width, self.val
        latency = self.latency(len(self._groups[0]), self._stages)
        m.submodules.delay = delay = Delay(len(self._groups) * width, latency)
        wiring.connect(m, delay.o, wiring.flipped(self.out_val))
        # The payload of an empty token is the word 0. Groups are next to each other, and of as many
        # words each, so that pairs never have words of two.
        payload = val.payload.payload
        left = [payload.word_select(word, width) for group in self._groups for word in group]
        level = 0
        while len(left) > len(self._groups):
            results = []
            for place, (one, other) in enumerate(zip(left[::2], left[1::2], strict=True)):
                unit = ArithmeticUnit(self._format, self._stages)
                m.submodules[f"unit_{level}_{place}"] = EnableInserter(delay.enable)(unit)
                m.d.comb += [unit.left.eq(one), unit.right.eq(other), unit.operation.eq(self._op)]
                results.append(unit.o)
            left, level = results, level + 1
        m.d.comb += [
            delay.result.eq(Cat(left)),
            delay.i.payload.kind.eq(val.payload.kind),
            delay.i.payload.payload.eq(val.payload.payload),
            delay.i.valid.eq(val.valid),
            val.ready.eq(delay.i.ready),
        ]
        return m
