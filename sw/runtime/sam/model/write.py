"""Blocks that write results."""

from __future__ import annotations

import numpy as np

from gnarl.hw.sam.block_types import BITVECTOR, BITVECTOR_BITS, COMPRESSED
from gnarl.hw.sam.graph import own_shape
from gnarl.hw.sam.token import EMPTY
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Site


def fiberwrite(site: Site, inputs: Inputs) -> Done:
    """A level of the result."""
    crd = inputs["crd"]
    data = crd.tokens[crd.is_data]
    if (data == EMPTY).any():
        site.fail("crd has an empty token: must be a coordinate")
    lengths = crd.lengths[:-1]
    if not site.block["keep_empty"]:
        lengths = lengths[lengths > 0]
    if site.block["format"] == COMPRESSED:
        site.require_room_for("crd", len(data))
        site.require_room_for("seg", len(lengths))
        ends = np.cumsum(lengths)
        written = {"crd": _rows(data), "seg": _rows(ends - lengths, ends)}
        return Done({}, written, {"fibers": len(lengths), "entries": len(data)})
    if site.block["format"] == BITVECTOR:
        words = _bitvector(site, data, lengths)
        ones = np.bitwise_count(words).astype(np.int64)
        rows = _rows(words, np.cumsum(ones) - ones)
        return Done({}, {"bv": rows}, {"rows": len(rows), "entries": len(data)})
    return Done({})


def _rows(*words: np.ndarray) -> np.ndarray:
    """Rows of an array, uint32 [rows, words], of their words."""
    return np.stack(words, axis=1).astype(np.uint32)


def _bitvector(site: Site, data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    words = site.setting("words")
    if len(data) and int(data.max()) >= words * BITVECTOR_BITS:
        site.fail(f"coordinate {data.max()}: must be below {words * BITVECTOR_BITS}")
    site.require_room_for("bv", words * len(lengths))
    bits = np.zeros(words * len(lengths), np.uint32)
    row = np.repeat(np.arange(len(lengths)), lengths) * words + data // BITVECTOR_BITS
    np.bitwise_or.at(bits, row, np.uint32(1) << (data % BITVECTOR_BITS).astype(np.uint32))
    return bits


def valwrite(site: Site, inputs: Inputs) -> Done:
    """The values; empty tokens are the word 0."""
    values = inputs["val"]
    words = site.words_of("val", values)[values.is_data]
    site.require_room_for("vals", len(words))
    rows = words[:, site.shape("val").places(own_shape(site.block))]
    return Done({}, {"vals": rows}, {"entries": len(words)})
