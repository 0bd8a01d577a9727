"""Two compressed lookups and their intersection, with queues between them, as graphs have them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.blocks.joins.intersect import Intersect
from gnarl.hw.sam.blocks.lookups.compressed_lookup import CompressedLookup
from gnarl.hw.sam.token import token_layout, token_stream


class Pair(Instanced):
    """Members: ``ref0``, ``ref1`` in; ``out_crd``, ``out_ref0``, ``out_ref1`` out; ``mem_seg0``,
    ``mem_crd0``, ``mem_seg1``, ``mem_crd1``; ``fault`` out. ``skip``: with hints.
    """

    def __init__(self, width: int, skip: bool, array_words: int, depth: int = 8) -> None:
        self._width = width
        self._skip = skip
        self._array_words = array_words
        self._depth = depth
        stream = token_stream(width)
        members = {f"ref{lane}": In(stream) for lane in range(2)}
        members |= {f"mem_seg{lane}": Out(ReadPort(width, width, 2)) for lane in range(2)}
        members |= {f"mem_crd{lane}": Out(ReadPort(width, width)) for lane in range(2)}
        members |= {name: Out(stream) for name in ("out_crd", "out_ref0", "out_ref1")}
        super().__init__(members | {"fault": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.join = join = Intersect(self._width, self._width, self._width)
        faults = join.fault
        for lane in range(2):
            lookup = CompressedLookup(self._width, self._skip, self._array_words)
            m.submodules[f"lookup{lane}"] = lookup
            wiring.connect(m, lookup.ref, wiring.flipped(getattr(self, f"ref{lane}")))
            for array in ("seg", "crd"):
                port = wiring.flipped(getattr(self, f"mem_{array}{lane}"))
                wiring.connect(m, getattr(lookup, f"mem_{array}"), port)
            for name in ("crd", "ref"):
                m.submodules[f"{name}{lane}"] = queue = Queue(
                    token_layout(self._width), self._depth
                )
                wiring.connect(m, getattr(lookup, f"out_{name}"), queue.i)
                wiring.connect(m, queue.o, getattr(join, f"{name}{lane}"))
            if self._skip:
                m.d.comb += lookup.hint.eq(getattr(join, f"hint{lane}"))
            faults = faults | lookup.fault
        for name in ("out_crd", "out_ref0", "out_ref1"):
            wiring.connect(m, getattr(join, name), wiring.flipped(getattr(self, name)))
        m.d.comb += self.fault.eq(faults)
        return m
