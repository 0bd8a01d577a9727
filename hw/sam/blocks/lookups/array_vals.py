"""Array of values: the value of every reference."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.bypass_queue import BypassQueue
from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.sam.blocks.lookups.fetch import fetch
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_layout, token_stream


class ArrayVals(Instanced):
    """Reads the values that references name; an empty token becomes 0. Stops and done pass.

    Latency: the memory's for values, 0 cycles for other tokens with no value before them; one
    token a cycle. Source: SAM, array.

    Parameters: ``width`` of references; ``value_width``, of a word; ``array_words``, rows of the
    array; ``in_flight``, most reads under way; ``words`` of a row, which are a block of values.

    Members: ``ref`` in; ``out_val`` out; ``mem_vals``, a ``ReadPort``; ``fault`` out: a reference
    beyond the array.
    """

    def __init__(
        self,
        width: int,
        value_width: int,
        array_words: int,
        in_flight: int = 8,
        words: int = 1,
    ) -> None:
        self._array_words = array_words
        self._in_flight = in_flight
        super().__init__(
            {
                "ref": In(token_stream(width)),
                "out_val": Out(token_stream(words * value_width)),
                "mem_vals": Out(ReadPort(width, value_width, words)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        out, value = self.out_val, self.mem_vals.data
        m.submodules.asked = asked = BypassQueue(token_layout(LEVEL_BITS), self._in_flight)

        fetch(m, self.ref, self.mem_vals.address, asked.i, self._array_words, self.fault)

        answer = TokenStep(m, inputs=[asked.o, value], outputs=[out])
        with m.If(asked.o.valid):
            with m.If(asked.o.payload.kind == Kind.DATA):
                with m.If(value.valid):
                    answer.give(out, Kind.DATA, value.payload.as_value())
                    answer.ready(asked.o, value)
            with m.Else():
                with m.If(asked.o.payload.kind == Kind.EMPTY):
                    answer.give(out, Kind.DATA, 0)
                with m.Else():
                    answer.pass_on(out, asked.o)
                answer.ready(asked.o)
        return m
