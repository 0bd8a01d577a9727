"""Blocks that read levels and values: lookups, locate, arrays of values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnarl.hw.sam.block_types import BITVECTOR_BITS, DENSE
from gnarl.hw.sam.token import DONE, EMPTY
from gnarl.sw.runtime.sam.model.tokens import STOP, Done, Inputs, Parents, Site, Stream
from gnarl.sw.workloads.refusals import first_true


def root(site: Site, inputs: Inputs) -> Done:
    return Done({"out_ref": np.array([0, DONE])})


def fiberlookup(site: Site, inputs: Inputs) -> Done:
    """Every fiber that is referred to, and its stop."""
    refs = inputs["ref"]
    if site.block["format"] == DENSE:
        size = site.setting("size")
        wide = _Expansion(site, refs, lambda rows: (rows * size, np.full(len(rows), size)))
        crd, ref = wide.positions(), wide.rows()
        site.require_index(ref, "reference")
        wide.finish(crd, ref)
    else:
        wide = _Expansion(site, refs, lambda rows: _segments(site, rows))
        ref = wide.rows()
        wide.finish(ref)
        crd = site.rows("crd", ref, wide.ends)[:, 0]
        wide.finish(crd)
    return Done({"out_crd": crd, "out_ref": ref})


def _segments(site: Site, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    start, end = site.rows("seg", rows).T
    if (at := first_true(end < start)) is not None:
        site.fail(f"segment {rows[at]} ends at {end[at]}: must not be before {start[at]}")
    return start, end - start


def bitvectorlookup(site: Site, inputs: Inputs) -> Done:
    """Every word of the fibers that are referred to, with the ones before it, and a stop."""
    words = site.setting("words")
    wide = _Expansion(site, inputs["ref"], lambda rows: (rows * words, np.full(len(rows), words)))
    bv, ref = site.rows("bv", wide.rows(), wide.ends).T.copy()
    wide.finish(bv, ref)
    return Done({"out_bv": bv, "out_ref": ref})


_Fibers = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""First rows and lengths, int64 [n] each, of the fibers of references."""


class _Expansion:
    """A fiber for each reference, of rows that follow each other; an empty token's is empty."""

    def __init__(self, site: Site, refs: Stream, fibers: _Fibers) -> None:
        parents = Parents(refs)
        self._parents = parents
        site.require_levels(parents.stops)
        heads = refs.tokens[parents.heads]
        present = parents.given & (heads != EMPTY)
        starts, counts = np.zeros((2, len(heads)), np.int64)
        starts[present], counts[present] = fibers(heads[present])
        self._count = int(counts.sum()) + len(heads)
        site.require_room(self._count)
        self.ends = np.append(np.cumsum(counts + 1) - 1, self._count)
        self._starts, self._lengths = starts, counts + 1
        self._firsts = self.ends[:-1] - counts

    def rows(self) -> np.ndarray:
        """The rows, with something at the places of stops and done."""
        return self._ascending(self._starts - self._firsts)

    def positions(self) -> np.ndarray:
        """Positions in fibers, likewise."""
        return self._ascending(-self._firsts)

    def _ascending(self, offsets: np.ndarray) -> np.ndarray:
        values = np.arange(self._count + 1)
        values[:-1] += np.repeat(offsets, self._lengths)
        return values

    def finish(self, *streams: np.ndarray) -> None:
        """Puts stops and done into the streams."""
        for tokens in streams:
            tokens[self.ends[:-1]] = self._parents.stops
            tokens[-1] = DONE


def bitvectorexpand(site: Site, inputs: Inputs) -> Done:
    """A coordinate and a reference for each one in the words."""
    crd, ref = expand(site, inputs["bv"], inputs["ref"], ("bv", "ref"))
    return Done({"out_crd": crd, "out_ref": ref})


def expand(
    site: Site, bv: Stream, ref: Stream, names: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and references of a bitvector's ones."""
    site.require_same(bv, ref, names)
    words = bv.words
    words[bv.ends] = 1
    site.require_room(int(np.bitwise_count(words).sum(dtype=np.int64)))
    octets = words.astype("<u4").view(np.uint8).reshape(-1, 4)
    places, bits = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    # Each place has one token for every one in its word, and one if it controls.
    counts = np.bincount(places, minlength=len(bv))
    firsts = np.cumsum(counts) - counts
    ends = firsts[bv.ends]
    begins = np.concatenate([[0], bv.ends[:-1] + 1])
    word = places - np.repeat(begins, np.diff(ends, prepend=-1))
    crd = word * BITVECTOR_BITS + bits
    refs = ref.tokens[places] + np.arange(len(places)) - firsts[places]
    crd[ends] = refs[ends] = bv.tokens[bv.ends]
    return crd, refs


def locate(site: Site, inputs: Inputs) -> Done:
    """The reference of each coordinate in the dense fiber that is referred to beside it."""
    crd, ref = inputs["crd"], inputs["ref"]
    site.require_same(crd, ref, ("crd", "ref"))
    size = site.setting("size")
    coordinates = crd.tokens[crd.is_data]
    if len(coordinates) and int(coordinates.max()) >= size:
        site.fail(f"coordinate {coordinates.max()}: must be below the level's size, {size}")
    parent = ref.tokens[crd.is_data]
    rows = np.where(parent == EMPTY, EMPTY, parent * size + coordinates)
    site.require_index(rows[parent != EMPTY], "reference")
    out = ref.tokens.copy()
    out[crd.is_data] = rows
    return Done({"out_ref": out})


def arrayvals(site: Site, inputs: Inputs) -> Done:
    """The values that are referred to; 0 where there is no operand."""
    refs = inputs["ref"]
    absent = np.flatnonzero(refs.tokens >= STOP)
    rows = site.rows("vals", refs.tokens, absent)
    values = site.payloads(rows.astype(np.uint32))
    values[refs.ends] = refs.tokens[refs.ends]
    return Done({"out_val": values})
