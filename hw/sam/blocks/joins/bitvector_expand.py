"""Bitvector expand: from words of bits to coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.joins.bit_walk import BitWalk
from gnarl.hw.sam.step import TokenStep, is_data
from gnarl.hw.sam.token import Kind, token_stream


class BitvectorExpand(Instanced):
    """A coordinate and a reference for every one in the words of a fiber; stops and done pass.

    The reference beside a word is that of its lowest one. Latency: 0 cycles; one coordinate a
    cycle, and a cycle for a word without any.

    Parameters: ``width`` of coordinates and references.

    Members: ``bv``, ``ref`` in; ``out_crd``, ``out_ref`` out; ``fault`` out: the inputs disagree.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "bv": In(token_stream(BITVECTOR_BITS)),
                "ref": In(token_stream(width)),
                "out_crd": Out(token_stream(width)),
                "out_ref": Out(token_stream(width)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        bv, ref = self.bv, self.ref
        step = TokenStep(m, inputs=[bv, ref], outputs=[self.out_crd, self.out_ref])
        word = bv.payload.payload
        walk = BitWalk(m, word, self._width)

        with m.If(bv.valid & ref.valid):
            with m.If(~agree(bv, ref)):
                m.d.comb += self.fault.eq(1)
            with m.Elif(is_data(bv)):
                with m.If(walk.is_one):
                    step.give(self.out_crd, Kind.DATA, walk.crd)
                    located = ref.payload.payload + walk.ones_below(word)
                    step.give(self.out_ref, Kind.DATA, located)
                with m.If(walk.is_last):
                    step.take(bv, ref)
                step.ready()
            with m.Else():
                step.pass_on(self.out_crd, ref)
                step.pass_on(self.out_ref, ref)
                step.ready(bv, ref)
        walk.passed(step.done, ~is_data(bv))
        return m
