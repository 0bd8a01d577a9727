"""Fiber writer of a dense level: nothing is written, every coordinate has its place."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.step import is_done
from gnarl.hw.sam.token import token_stream


class DenseWriter(Instanced):
    """Takes a token a cycle until the stream is done.

    Parameters: ``width`` of coordinates.   Members: ``crd`` in; ``done`` out.
    """

    def __init__(self, width: int) -> None:
        super().__init__({"crd": In(token_stream(width)), "done": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.crd.ready.eq(~self.done)
        with m.If(self.crd.valid & is_done(self.crd)):
            m.d.sync += self.done.eq(1)
        return m
