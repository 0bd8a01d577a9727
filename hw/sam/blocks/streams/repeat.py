"""Repeat: each reference, once for every coordinate of an inner index."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.sam.blocks.agreement import is_closed_by, level_of
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop, level_after
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_stream


class Repeat(Instanced):
    """Gives the reference at hand for every repeat signal, and the signals' stops.

    A fiber ends when its signals do. A stop above level 0 is that of the references, too, one level
    lower, behind the reference or without one; where it comes late, nothing waits for it. Empty
    tokens are repeated like references. Source: SAM, repeater, whose signals have no levels.

    Parameters: ``width`` of references, which may be values, too; ``signal_width`` of signals.

    Members: ``ref``, ``repsig`` in; ``out_ref`` out; ``fault`` out: the two disagree.
    """

    def __init__(self, width: int, signal_width: int) -> None:
        super().__init__(
            {
                "ref": In(token_stream(width)),
                "repsig": In(token_stream(signal_width)),
                "out_ref": Out(token_stream(width)),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ref, following = look_ahead(m, self.ref)
        repsig, out = self.repsig, self.out_ref
        step = TokenStep(m, inputs=[ref, following, repsig], outputs=[out])
        # A fiber in a stop of ``level``, without what follows its reference.
        ends, ended = Signal(), Signal()
        level = Signal(LEVEL_BITS)

        with m.If(ref.valid & ended & (level_after(ref) != level)):
            m.d.comb += self.fault.eq(1)
        with m.Elif(ref.valid & ended & is_stop(ref)):
            step.ready(ref)
        with m.Elif(ref.valid & repsig.valid):
            with m.If(is_data(ref) & is_data(repsig)):
                step.pass_on(out, ref)
                step.ready(repsig)
            with m.Elif(is_data(ref) & is_stop(repsig)):
                step.give(out, Kind.STOP, level_of(repsig))
                step.ready(ref, repsig)
                with m.If(following.valid & is_closed_by(following, repsig)):
                    step.take(following)
                with m.Else():
                    m.d.comb += ends.eq(1)
            with m.Elif(is_closed_by(ref, repsig)):
                step.give(out, Kind.STOP, level_of(repsig))
                step.ready(ref, repsig)
            with m.Elif(is_done(ref) & is_done(repsig)):
                step.pass_on(out, ref)
                step.ready(ref, repsig)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        with m.If(step.done):
            m.d.sync += [ended.eq(ends), level.eq(level_of(repsig))]
        return m
