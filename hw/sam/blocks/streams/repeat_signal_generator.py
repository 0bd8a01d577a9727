"""Repeat signal generator: how often to repeat what, from the coordinates of an inner index."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.step import TokenStep, is_data
from gnarl.hw.sam.token import Kind, token_stream


class RepeatSignalGenerator(Instanced):
    """A repeat signal, as data 0, for every data or empty token; stops and done as they are.

    Latency: 0 cycles; one token a cycle. Source: SAM, repeat signal generator, whose stops have no
    levels.

    Parameters: ``width`` of coordinates, or whatever else is counted; ``signal_width`` of signals.

    Members: ``crd`` in; ``out_repsig`` out.
    """

    def __init__(self, width: int, signal_width: int) -> None:
        super().__init__(
            {"crd": In(token_stream(width)), "out_repsig": Out(token_stream(signal_width))}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        crd, out = self.crd, self.out_repsig
        step = TokenStep(m, inputs=[crd], outputs=[out])
        with m.If(crd.valid):
            with m.If(is_data(crd)):
                step.give(out, Kind.DATA)
            with m.Else():
                step.pass_on(out, crd)
            step.ready(crd)
        return m
