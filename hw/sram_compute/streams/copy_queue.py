"""Copies between memory and words of banks, which are done one after the other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.streams.word_copy import PENDING

QUEUED_COPIES = 3
"""Copies that wait behind the one that is done."""


class CopyQueue(wiring.Component):
    """A queue of ``QUEUED_COPIES``, which shows what is in it. Latency: 1 cycle.

    Members: ``i`` in, ``o`` out, streams of ``isa.COPY``; ``pending0``, ``pending1``, … out: a
    ``PENDING`` of each that waits.
    """

    def __init__(self) -> None:
        pending = {f"pending{place}": Out(PENDING) for place in range(QUEUED_COPIES)}
        copies = stream.Signature(isa.COPY)
        super().__init__({"i": In(copies), "o": Out(copies), **pending})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        places = range(QUEUED_COPIES)
        copies = [Signal(isa.COPY, name=f"copy_{place}") for place in places]
        level = Signal(range(QUEUED_COPIES + 1))
        leaves, comes = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(level != QUEUED_COPIES),
            self.o.valid.eq(level != 0),
            self.o.payload.eq(copies[0]),
            leaves.eq(self.o.valid & self.o.ready),
            comes.eq(self.i.valid & self.i.ready),
        ]
        m.d.sync += level.eq(level + comes - leaves)
        with m.If(leaves):
            m.d.sync += [one.eq(behind) for one, behind in zip(copies, copies[1:], strict=False)]
        for place in places:
            with m.If(comes & (level - leaves == place)):
                m.d.sync += copies[place].eq(self.i.payload)
            pending = getattr(self, f"pending{place}")
            m.d.comb += [
                pending.valid.eq(level > place),
                *(pending[name].eq(copies[place][name]) for name in ("is_store", "words", "lines")),
            ]
        return m


def is_early(access: data.View, pending: data.View) -> Value:
    """Whether an ``access_layout`` is of what is still to be copied: of words that are written, or
    that are read and it writes; or of bitlines."""
    behind = (access.line - pending.words)[: len(access.line)]
    changes = ~pending.is_store | access.write.any()
    is_among = access.is_transposed | changes & (behind < pending.lines)
    return access.enable & pending.valid & is_among
