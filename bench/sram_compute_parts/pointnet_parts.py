"""Calls of ``pointnet.c`` in parts that the host has time for and the machine has room for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isqrt

import numpy as np

from bench.sram_compute_parts.pointnet_network import Call, accumulated, layer, rectified

LIMITS = {"core": 1 << 18, "near": 1 << 17}
"""Operations of a part, about: from such a part and one of twice as many rounds all others
follow."""

_BLOCK = 8
"""Rows of a layer on the core, at least, and a multiple of them: it computes several at once."""

_NEAR_ROWS, _NEAR_ROWS_AT_ONCE = 4, 28
"""Rows of a layer near memory, at least: with fewer, main memory takes longer to give weights. The
second where rows are whole rounds of 16 banks, and stream engines compute seven at once."""

NEAR_SIDE = _ROUND = 512
"""Inputs and outputs of a layer near memory, at most; and outputs that are whole rounds."""

LAYERS = ("connect", "connect_relu")


def rounds_of(call: Call, place: str) -> int:
    """Rounds of a part on the core or near memory."""
    found = max(1, LIMITS[place] // call.work)
    if call.function in LAYERS:
        if place == "core":
            found = max(1, found // _BLOCK) * _BLOCK
        else:
            is_whole = call.given["w"].shape[1] % _ROUND == 0
            found = _NEAR_ROWS_AT_ONCE if is_whole else max(_NEAR_ROWS, found)
    return min(found, call.rounds)


def rounds_in_memory(call: Call, bitlines: int) -> int:
    """Rounds of a part that fills ``bitlines``, one element on each: a power of two, or all."""
    cells = min(call.cells, isqrt(bitlines)) if call.function in LAYERS else call.cells
    found = 1 << max(1, bitlines // cells).bit_length() - 1
    return min(found, call.rounds)


def split(call: Call, cells: int) -> Iterator[Call]:
    """A layer as parts, one after the other, with square weights of ``cells`` elements at most,
    for which there is room: each adds its products to the sums of those before, so that results
    have the same bits. Anything else as it is."""
    side = isqrt(cells)
    if call.function not in LAYERS or max(call.given["w"].shape) <= side:
        yield call
        return
    x, w, bias = (call.given[name] for name in ("x", "w", "bias"))
    inputs, outputs = w.shape
    is_rectified = call.function == "connect_relu"
    for columns in _ranges(outputs, side):
        first, *others = _ranges(inputs, side)
        some, weights = _array(bias[:, columns]), _array(w[:, columns])
        begun = layer(_array(x[:, first]), weights[first], some, is_rectified and not others)
        yield begun
        sums = begun.wanted["y"]
        for each in others:
            added = sums.copy()
            accumulated(added, x[:, each], weights[each])
            yield _part("accumulate", sums, added, x=_array(x[:, each]), w=weights[each])
            sums = added
        if others and is_rectified:
            yield _part("rectify", sums, rectified(sums))


def _part(function: str, before: np.ndarray, after: np.ndarray, **others: np.ndarray) -> Call:
    """A call of a layer, which changes y."""
    given = {**others, "y": before}
    sliced = {name: (0, 1) for name in given if name != "w"}
    return Call(function, given, {"y": after}, sliced, len(before), before.shape[1])


def _ranges(size: int, most: int) -> list[slice]:
    bounds = [*range(0, size, most), size]
    return [slice(*each) for each in pairwise(bounds)]


def _array(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values)
