"""The rows of a level whose fibers all have the same size."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from gnarl.hw.lib.stream.lookahead import Lookahead
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import Kind, token_layout


class FiberRows:
    """Counts through the fibers of references: that of r has the rows r * size and so on.

    Made once in ``elaborate``; ``advance`` ends it. ``refs``, a stream of tokens as wide as
    ``size``, the same during a run.

    ``ref``, ``following``: the first two tokens; ``is_there``: the first one has a row left, which
    is ``row``, the fiber's row ``number``; ``end``, if that is not 0: where the rows before it end,
    with a bit more.

    The multiplication comes before the tokens' register: what is made of a row takes long enough.
    """

    def __init__(self, m: Module, refs: Any, size: Value) -> None:
        self._m = m
        width = len(size)
        m.submodules.lookahead = lookahead = Lookahead(token_layout(width))
        self.ref, self.following = lookahead.head, lookahead.following
        self.number, self.row, self.end = Signal(width), Signal(width), Signal(width + 1)
        self.is_there = Signal()
        first, held = Signal(width), Signal(width)
        m.d.comb += [
            lookahead.i.valid.eq(refs.valid),
            lookahead.i.payload.eq(refs.payload),
            refs.ready.eq(lookahead.i.ready),
            first.eq(size * refs.payload.payload),
            self.end.eq(held + self.number),
            self.row.eq(Mux(lookahead.is_held, self.end[:width], first)),
            self.is_there.eq((self.ref.payload.kind == Kind.DATA) & (self.number != size)),
        ]
        with m.If(refs.ready):
            m.d.sync += held.eq(first)

    def advance(self, step: TokenStep) -> None:
        """Goes on when the ``step`` is done that has used the row, or else ended the fiber."""
        with self._m.If(step.done):
            self._m.d.sync += self.number.eq(Mux(self.is_there, self.number + 1, 0))
