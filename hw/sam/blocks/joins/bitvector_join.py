"""Bitvector intersect and union: the coordinates that both of two bitvectors have, or either."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.blocks.agreement import agree
from gnarl.hw.sam.blocks.joins.bit_walk import BitWalk
from gnarl.hw.sam.step import TokenStep, is_data, is_stop
from gnarl.hw.sam.token import Kind, token_stream


class BitvectorJoin(Instanced):
    """Coordinates that come of the words of two lanes; for each lane its reference, or empty.

    The reference beside a word is that of its lowest one. A lane whose fiber ends before the
    other's has no ones there. Stops and done pass. Latency: 0 cycles; one coordinate a cycle, and a
    cycle for words of which none comes.

    Parameters: ``width`` of coordinates and references; ``joined``, of two words the bits whose
    coordinates come out.

    Members: ``bv0``, ``ref0``, ``bv1``, ``ref1`` in; ``out_crd``, ``out_ref0``, ``out_ref1`` out;
    ``fault`` out: stops or done of the two lanes, or of one lane's two streams, disagree.
    """

    def __init__(self, width: int, joined: Callable[[Value, Value], Value]) -> None:
        self._width = width
        self._joined = joined
        refs, words = token_stream(width), token_stream(BITVECTOR_BITS)
        super().__init__(
            {
                "bv0": In(words),
                "ref0": In(refs),
                "bv1": In(words),
                "ref1": In(refs),
                "out_crd": Out(refs),
                "out_ref0": Out(refs),
                "out_ref1": Out(refs),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = [(self.bv0, self.ref0, self.out_ref0), (self.bv1, self.ref1, self.out_ref1)]
        step = TokenStep(
            m,
            inputs=[self.bv0, self.ref0, self.bv1, self.ref1],
            outputs=[self.out_crd, self.out_ref0, self.out_ref1],
        )
        words = [Signal(BITVECTOR_BITS, name=f"word{lane}") for lane in range(2)]
        for word, (bv, _, _) in zip(words, lanes, strict=True):
            m.d.comb += word.eq(Mux(is_data(bv), bv.payload.payload, 0))
        walk = BitWalk(m, self._joined(*words), self._width)

        all_there = self.bv0.valid & self.ref0.valid & self.bv1.valid & self.ref1.valid
        lanes_agree = agree(self.bv0, self.ref0) & agree(self.bv1, self.ref1)
        some_word = is_data(self.bv0) | is_data(self.bv1)
        word_against_stop = some_word & (is_stop(self.bv0) | is_stop(self.bv1))
        with m.If(all_there):
            with m.If(~lanes_agree | ~(agree(self.bv0, self.bv1) | word_against_stop)):
                m.d.comb += self.fault.eq(1)
            with m.Elif(some_word):
                with m.If(walk.is_one):
                    step.give(self.out_crd, Kind.DATA, walk.crd)
                for word, (bv, ref, out_ref) in zip(words, lanes, strict=True):
                    with m.If(walk.is_one):
                        with m.If(walk.is_in(word)):
                            located = ref.payload.payload + walk.ones_below(word)
                            step.give(out_ref, Kind.DATA, located)
                        with m.Else():
                            step.give(out_ref, Kind.EMPTY)
                    with m.If(walk.is_last & is_data(bv)):
                        step.take(bv, ref)
                step.ready()
            with m.Else():
                step.pass_on(self.out_crd, self.ref0)
                for bv, ref, out_ref in lanes:
                    step.pass_on(out_ref, ref)
                    step.take(bv, ref)
                step.ready()
        walk.passed(step.done, ~some_word)
        return m


class BitvectorIntersect(BitvectorJoin):
    """``BitvectorJoin`` of the ones in both lanes. Source: SAM, bitvector intersecter."""

    def __init__(self, width: int) -> None:
        super().__init__(width, operator.and_)


class BitvectorUnion(BitvectorJoin):
    """``BitvectorJoin`` of the ones in either lane."""

    def __init__(self, width: int) -> None:
        super().__init__(width, operator.or_)
