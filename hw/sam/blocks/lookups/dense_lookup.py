"""Fiber lookup of a dense level: every coordinate there is."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.sam.blocks.lookups.fiber_end import give_end
from gnarl.hw.sam.blocks.lookups.fiber_rows import FiberRows
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import Kind, token_stream


class DenseLookup(Instanced):
    """For a reference r, coordinates 0 to size - 1 with references r * size + coordinate; a stop.

    The fiber of an empty token is empty; a stop without a reference before it is raised. Latency:
    0 cycles; one token a cycle. Source: SAM, uncompressed level scanner.

    Parameters: ``width`` of coordinates and references.

    Members: ``ref`` in; ``size`` in, the same during a run; ``out_crd``, ``out_ref`` out.
    """

    def __init__(self, width: int) -> None:
        super().__init__(
            {
                "ref": In(token_stream(width)),
                "size": In(width),
                "out_crd": Out(token_stream(width)),
                "out_ref": Out(token_stream(width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rows = FiberRows(m, self.ref, self.size)
        ref, following = rows.ref, rows.following
        step = TokenStep(m, inputs=[ref, following], outputs=[self.out_crd, self.out_ref])
        with m.If(ref.valid):
            with m.If(rows.is_there):
                step.give(self.out_crd, Kind.DATA, rows.number)
                step.give(self.out_ref, Kind.DATA, rows.row)
                step.ready()
            with m.Else():
                give_end(m, step, ref, following, self.out_crd, self.out_ref)
        rows.advance(step)
        return m
