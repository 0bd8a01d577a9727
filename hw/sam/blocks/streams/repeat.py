"""Repeat: each reference, once for every coordinate of an inner index."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop, level_after, raised
from gnarl.hw.sam.token import Kind, token_stream


class Repeat(Instanced):
    """Gives the reference at hand for every repeat signal, and a stop for every end of a fiber.

    The stop of a fiber has level 0, or one above that of the stop that follows the reference; a
    stop without a reference before it takes an end of fiber of its own. Empty tokens are repeated
    like references. Source: SAM, repeater.

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

        with m.If(ref.valid & repsig.valid):
            with m.If(is_data(ref) & is_data(repsig)):
                step.pass_on(out, ref)
                step.ready(repsig)
            with m.Elif(is_data(ref) & is_stop(repsig)):
                with m.If(following.valid):
                    step.give(out, Kind.STOP, level_after(following))
                    step.take(ref, repsig)
                    with m.If(is_stop(following)):
                        step.take(following)
                    step.ready()
            with m.Elif(is_stop(ref) & is_stop(repsig)):
                step.give(out, Kind.STOP, raised(ref))
                step.ready(ref, repsig)
            with m.Elif(is_done(ref) & is_done(repsig)):
                step.pass_on(out, ref)
                step.ready(ref, repsig)
            with m.Else():
                m.d.comb += self.fault.eq(1)
        return m
