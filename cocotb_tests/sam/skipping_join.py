"""Two lookups of compressed levels that an intersection tells what it no longer needs."""

from __future__ import annotations

import random
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.stream.memory_ports import ReadPort
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.blocks.joins.intersect import Intersect
from gnarl.hw.sam.blocks.lookups.compressed_lookup import CompressedLookup
from gnarl.hw.sam.token import token_layout, token_stream
from tests.support.sam import cases, reference
from tests.support.sam.cases import Case
from tests.support.sam.nested import mapped, stream


class SkippingJoin(wiring.Component):
    """Lanes 0 and 1 of an ``Intersect``, from references of their fibers.

    Members: ``ref0``, ``ref1`` in; ``out_crd``, ``out_ref0``, ``out_ref1``, ``fault`` out;
    ``mem_seg0``, ``mem_crd0``, ``mem_seg1``, ``mem_crd1``.
    """

    def __init__(self, width: int, array_words: int) -> None:
        self._width = width
        self._array_words = array_words
        stream = token_stream(width)
        names = ("out_crd", "out_ref0", "out_ref1")
        super().__init__(
            {f"ref{lane}": In(stream) for lane in range(2)}
            | {f"mem_seg{lane}": Out(ReadPort(width, width, 2)) for lane in range(2)}
            | {f"mem_crd{lane}": Out(ReadPort(width, width)) for lane in range(2)}
            | {name: Out(stream) for name in names}
            | {"fault": Out(1)}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width = self._width
        m.submodules.join = join = Intersect(width, width, width)
        fault = join.fault
        for lane in range(2):
            lookup = CompressedLookup(width, True, self._array_words)
            m.submodules[f"lookup{lane}"] = lookup
            wiring.connect(m, wiring.flipped(getattr(self, f"ref{lane}")), lookup.ref)
            for array in ("mem_seg", "mem_crd"):
                outside = wiring.flipped(getattr(self, f"{array}{lane}"))
                wiring.connect(m, getattr(lookup, array), outside)
            for kind in ("crd", "ref"):
                m.submodules[f"{kind}{lane}"] = queue = Queue(token_layout(width), 4)
                wiring.connect(m, getattr(lookup, f"out_{kind}"), queue.i)
                wiring.connect(m, queue.o, getattr(join, f"{kind}{lane}"))
            m.d.comb += lookup.hint.eq(getattr(join, f"hint{lane}"))
            fault = fault | lookup.fault
        for name in ("out_crd", "out_ref0", "out_ref1"):
            wiring.connect(m, getattr(join, name), wiring.flipped(getattr(self, name)))
        m.d.comb += self.fault.eq(fault)
        return m


def case_of_skipping_join(rng: random.Random) -> Case:
    """Fibers of any lengths, so that lanes skip far, not at all, and past the end."""
    depth = rng.randint(0, cases.MAX_DEPTH - 1)
    lanes, inputs, reads = [], {}, {}
    parents = cases.tree(rng, depth, lambda: None)
    below = rng.choice([12, 60, 1 << 32])
    for lane in range(2):
        segments: list[list[int]] = []
        crds: list[int] = []
        for _ in range(6):
            length = rng.choice([0, 1, rng.randint(2, 6), rng.randint(7, 60)])
            first = len(crds)
            crds += sorted(rng.sample(range(below), min(length, below)))
            segments.append([first, len(crds)])

        def reference_of_fiber(_: Any) -> int:
            return reference.EMPTY if rng.random() < 0.1 else rng.randrange(6)

        inputs[f"ref{lane}"] = stream(mapped(reference_of_fiber, parents, depth), depth)
        reads[f"seg{lane}"] = segments
        reads[f"crd{lane}"] = [[one] for one in crds]
        lanes.append(
            reference.Lane(*reference.lookup_compressed(inputs[f"ref{lane}"], segments, crds))
        )
    outs = reference.intersect(*lanes)
    return Case(
        inputs, dict(zip(("out_crd", "out_ref0", "out_ref1"), outs, strict=True)), {}, reads
    )
