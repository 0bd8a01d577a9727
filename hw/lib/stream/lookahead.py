"""Sees the second item of a stream, too."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Lookahead(wiring.Component):
    """Offers the first item of a stream as ``head``, and the one after it as ``following``.

    Latency: 0 cycles. ``following`` is there from the cycle after the one in which ``head`` was
    first offered, or at once if the item before was taken without it, as soon as it has come.

    Parameters: ``shape`` of payloads.

    Members: ``i`` in; ``head``, ``following`` out; ``is_held`` out: ``head`` came in an earlier
    cycle. ``following`` may be taken together with ``head`` only.
    """

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "head": Out(stream.Signature(shape)),
                "following": Out(stream.Signature(shape)),
                "is_held": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, head, following = self.i, self.head, self.following
        held = Signal()
        item = Signal.like(i.payload)
        m.d.comb += [
            head.valid.eq(held | i.valid),
            head.payload.eq(Mux(held, item, i.payload)),
            following.valid.eq(held & i.valid),
            following.payload.eq(i.payload),
            i.ready.eq(~held | head.ready),
            self.is_held.eq(held),
        ]
        with m.If(i.valid & i.ready):
            m.d.sync += item.eq(i.payload)
        # What comes in stays here, unless it is what is being taken.
        with m.If(held):
            m.d.sync += held.eq(~head.ready | (i.valid & ~following.ready))
        with m.Else():
            m.d.sync += held.eq(i.valid & ~head.ready)
        return m


def look_ahead(m: Module, i: Any, name: str = "lookahead") -> tuple[Any, Any]:
    """``head`` and ``following`` of ``i``, an input of a component, by a ``Lookahead`` in ``m``."""
    m.submodules[name] = lookahead = Lookahead(i.payload.shape())
    wiring.connect(m, wiring.flipped(i), lookahead.i)
    return lookahead.head, lookahead.following
