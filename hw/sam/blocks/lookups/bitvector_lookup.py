"""Fiber lookup of a bitvector level: words with a bit for every coordinate."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.bypass_queue import BypassQueue
from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.blocks.lookups.fiber_end import give_end
from gnarl.hw.sam.blocks.lookups.fiber_rows import FiberRows
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_layout, token_stream


class BitvectorLookup(Instanced):
    """For a reference r, the rows r * words and so on, ``words`` of them; then a stop.

    A row holds a word of bits and how many ones the array has before it, which is the reference of
    the word's lowest one. The fiber of an empty token has no words; a stop without a reference
    before it is raised. Latency: the memory's; one token a cycle. Source: SAM, bitvector scanner.

    Parameters: ``width`` of references, that of words; ``array_words``, rows of the array;
    ``in_flight``, most reads under way. Raises ``ValueError`` for another width.

    Members: ``ref`` in; ``words`` in, the same during a run; ``out_bv``, ``out_ref`` out;
    ``mem_bv``, a ``ReadPort``; ``fault`` out: a row beyond the array was asked for.
    """

    def __init__(self, width: int, array_words: int, in_flight: int = 8) -> None:
        if width != BITVECTOR_BITS:
            raise ValueError(
                f"index_bits = {width}: must be {BITVECTOR_BITS} for a bitvector level, whose rows "
                "hold its words"
            )
        self._array_words = array_words
        self._in_flight = in_flight
        super().__init__(
            {
                "ref": In(token_stream(width)),
                "words": In(width),
                "out_bv": Out(token_stream(BITVECTOR_BITS)),
                "out_ref": Out(token_stream(width)),
                "mem_bv": Out(ReadPort(width, width, 2)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rows = FiberRows(m, self.ref, self.words)
        m.submodules.asked = asked = BypassQueue(token_layout(LEVEL_BITS), self._in_flight)
        self._request(m, rows, asked.i)
        self._answer(m, asked.o)
        return m

    def _request(self, m: Module, rows: FiberRows, asked: Any) -> None:
        """Reads rows, and says in ``asked`` what is to come of what was read and of stops."""
        address, ref, following = self.mem_bv.address, rows.ref, rows.following
        step = TokenStep(m, inputs=[ref, following], outputs=[address, asked])
        with m.If(ref.valid):
            with m.If(rows.is_there):
                step.send(address, rows.row)
                step.give(asked, Kind.DATA)
                step.ready()
            with m.Else():
                give_end(m, step, ref, following, asked)
        rows.advance(step)
        # Of rows that were asked for: a comparison would be too much behind the multiplication.
        m.d.comb += self.fault.eq((rows.number != 0) & (rows.end > self._array_words))

    def _answer(self, m: Module, asked: Any) -> None:
        row = self.mem_bv.data
        step = TokenStep(m, inputs=[asked, row], outputs=[self.out_bv, self.out_ref])
        with m.If(asked.valid):
            with m.If(asked.payload.kind == Kind.DATA):
                with m.If(row.valid):
                    step.give(self.out_bv, Kind.DATA, row.payload[0])
                    step.give(self.out_ref, Kind.DATA, row.payload[1])
                    step.ready(asked, row)
            with m.Else():
                step.pass_on(self.out_bv, asked)
                step.pass_on(self.out_ref, asked)
                step.ready(asked)
