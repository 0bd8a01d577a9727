"""Function: a function of one number, of each value of a stream."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.functions.function import Function, FunctionUnit, check_function, most_stages
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.values.delay import Delay
from gnarl.hw.sam.token import token_stream


class FunctionBlock(Instanced):
    """``op`` of each value; empty tokens count as the word 0; stops and done pass.

    One token a cycle. Results and their errors as in ``FunctionUnit``. Source: FuseFlow, section 7.

    Parameters: ``format`` of values; ``op``, the name of a ``Function`` in lower case; ``words`` of
    a value, each of which has its own unit. Raises ``ValueError`` where there is no such function
    in this format.

    Members: ``val`` in; ``out_val`` out.
    """

    def __init__(self, format: NumberFormat, op: str, words: int = 1) -> None:
        function = getattr(Function, op.upper())
        check_function(format, function)
        self._format = format
        self._function = function
        self._words = words
        stream = token_stream(words * format.width)
        super().__init__({"val": In(stream), "out_val": Out(stream)})

    @staticmethod
    def latency(op: str) -> int:
        """Cycles from a value to its result."""
        return most_stages(getattr(Function, op.upper()))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width = self._format.width
        units = [FunctionUnit(self._format, self._function) for _ in range(self._words)]
        m.submodules.delay = delay = Delay(self._words * width, units[0].latency)
        wiring.connect(m, delay.o, wiring.flipped(self.out_val))
        val = self.val
        for word, unit in enumerate(units):
            m.submodules["unit" if self._words == 1 else f"unit_{word}"] = unit
            m.d.comb += [
                # The payload of an empty token is the word 0.
                unit.i.eq(val.payload.payload.word_select(word, width)),
                unit.enable.eq(delay.enable),
                delay.result.word_select(word, width).eq(unit.o),
            ]
        m.d.comb += [
            delay.i.payload.kind.eq(val.payload.kind),
            delay.i.payload.payload.eq(val.payload.payload),
            delay.i.valid.eq(val.valid),
            val.ready.eq(delay.i.ready),
        ]
        return m
