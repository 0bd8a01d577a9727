"""Access programs by hand, and the memories that they walk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.tmu.access_isa import Event, EventKind, Mode, StreamKind
from hw.tmu.access_program import (
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


def load(base: int, length: int, a: Operand = own(0), **fields: object) -> Stream:
    """A memory stream that somebody reads."""
    return Stream(StreamKind.MEMORY, a=a, base=base, length=length, queued=True, **fields)  # type: ignore[arg-type]


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
    )
    row = load(bases[2], rows * dimension, parent(1), b=own(0), scale=dimension, queue=5 * slots)
    element = Unit(
        upper_immediate=dimension,
        streams=(Stream(StreamKind.INDUCTION, queued=level < 2, queue=4 * slots), row),
    )
    elements = Layer(Mode.LOCKSTEP if level else Mode.SINGLE, (element,), slots)
    return AccessProgram((segments, lookups, elements), EVENTS[level])


def _step(layer: int, event: Event, kind: EventKind, **fields: int) -> EventStep:
    return EventStep(layer, event, kind, **fields)


_LAST = _step(0, Event.END, EventKind.TOKEN, token=ALL_END)
EVENTS = {
    0: (
        _step(2, Event.ITERATION, EventKind.WORD),
        _step(2, Event.ITERATION, EventKind.WORD, of_layer=2),
        _step(2, Event.ITERATION, EventKind.WORD, of_layer=2, stream=1),
        _step(2, Event.ITERATION, EventKind.TOKEN, token=ELEMENT),
        _LAST,
    ),
    1: (
        _step(2, Event.ITERATION, EventKind.WORD),
        _step(2, Event.ITERATION, EventKind.WORD, of_layer=2),
        _step(2, Event.ITERATION, EventKind.MASK, of_layer=2),
        _step(2, Event.ITERATION, EventKind.VECTOR, of_layer=2, stream=1),
        _step(2, Event.ITERATION, EventKind.TOKEN, token=ELEMENT),
        _LAST,
    ),
    3: (
        _step(2, Event.ITERATION, EventKind.VECTOR, of_layer=2, stream=1),
        _step(2, Event.END, EventKind.TOKEN, token=VECTOR_END),
        _step(1, Event.END, EventKind.TOKEN, token=SEGMENT_END),
        _LAST,
    ),
}
"""Levels' events."""
