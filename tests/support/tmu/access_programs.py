"""Access programs by hand, and the memories that they walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gnarl.hw.tmu.access_isa import Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import (
    AccessProgram,
    EventStep,
    Layer,
    Operand,
    Stream,
    Unit,
    own,
    parent,
)

INDUCTION = Stream(StreamKind.INDUCTION)
ELEMENT, VECTOR_END, SEGMENT_END, ALL_END = 16, 17, 18, 19
"""Tokens."""


OWN_INDUCTION = own(0)


def load(base: int, length: int, a: Operand = OWN_INDUCTION, **fields: Any) -> Stream:
    """A memory stream that somebody reads."""
    return Stream(StreamKind.MEMORY, a=a, base=base, length=length, queued=True, **fields)


@dataclass(frozen=True)
class Bags:
    """EmbeddingBag's operands: indices, starts of segments and their end, rows of the table."""

    indices: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint32]
    table: npt.NDArray[np.uint32]

    @classmethod
    def random(
        cls, rng: np.random.Generator, segments: int, most: int, rows: int, dimension: int
    ) -> Bags:
        lengths = rng.integers(0, most + 1, segments)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        indices = rng.integers(0, rows, offsets[-1])
        table = rng.integers(0, 2**32, (rows, dimension))
        return cls(indices.astype(np.uint32), offsets.astype(np.uint32), table.astype(np.uint32))

    def memory(self, words: int, skew: int = 0) -> tuple[npt.NDArray[np.uint32], list[int]]:
        """Memory with offsets, indices and table, and where they lie, ``skew`` words off a line."""
        image = np.full(words, 0xDEAD_BEEF, np.uint32)
        bases, end = [], 0
        for array in (self.offsets, self.indices, self.table.reshape(-1)):
            bases.append(-(-end // 16) * 16 + skew)
            end = bases[-1] + len(array)
            image[bases[-1] : end] = array
        return image, bases


def embedding_bag(bags: Bags, bases: list[int], level: int, slots: int = 16) -> AccessProgram:
    """The loops of figure 7, with what levels 0, 1 and 3 put into queues."""
    rows, dimension = bags.table.shape
    events = EVENTS[level]
    segments = Layer(
        Mode.SINGLE,
        (
            Unit(
                upper_immediate=len(bags.offsets) - 1,
                streams=(
                    Stream(StreamKind.INDUCTION, queued=True, queue=0),
                    load(bases[0], len(bags.offsets), queue=slots),
                    load(bases[0], len(bags.offsets), immediate=1, queue=2 * slots),
                ),
            ),
        ),
        slots,
        events=events[0],
    )
    lookups = Layer(
        Mode.SINGLE,
        (
            Unit(
                parent(1),
                parent(2),
                streams=(INDUCTION, load(bases[1], len(bags.indices), queue=3 * slots)),
            ),
        ),
        slots,
        events=events[1],
    )
    row = load(bases[2], rows * dimension, parent(1), b=own(0), scale=dimension, queue=5 * slots)
    element = Unit(
        upper_immediate=dimension,
        streams=(Stream(StreamKind.INDUCTION, queued=level < 2, queue=4 * slots), row),
    )
    mode = Mode.LOCKSTEP if level else Mode.SINGLE
    elements = Layer(mode, (element,), slots, events=events[2])
    return AccessProgram((segments, lookups, elements))


_LAST = {Event.END: (EventStep(EventKind.TOKEN, token=ALL_END),)}
EVENTS: dict[int, tuple[dict[Event, tuple[EventStep, ...]], ...]] = {
    0: (
        _LAST,
        {},
        {
            Event.ITERATION: (
                EventStep(EventKind.WORD),
                EventStep(EventKind.WORD, layer=2),
                EventStep(EventKind.WORD, layer=2, stream=1),
                EventStep(EventKind.TOKEN, token=ELEMENT),
            )
        },
    ),
    1: (
        _LAST,
        {},
        {
            Event.ITERATION: (
                EventStep(EventKind.WORD),
                EventStep(EventKind.WORD, layer=2),
                EventStep(EventKind.MASK, layer=2),
                EventStep(EventKind.VECTOR, layer=2, stream=1),
                EventStep(EventKind.TOKEN, token=ELEMENT),
            )
        },
    ),
    3: (
        _LAST,
        {Event.END: (EventStep(EventKind.TOKEN, token=SEGMENT_END),)},
        {
            Event.ITERATION: (EventStep(EventKind.VECTOR, layer=2, stream=1),),
            Event.END: (EventStep(EventKind.TOKEN, token=VECTOR_END),),
        },
    ),
}
"""Events of the three layers, by level."""
