"""Sizes of random nests with corners, and what is in their arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from tests.support.arithmetic.special_floats import SPECIAL

LANES = (2, 4, 8, 16)
PADDING = 4
"""Elements of each dimension behind those that loops count through."""

ARRAYS = {"a": "n", "b": "n", "c": "n", "d": "m", "e": "nm", "f": "mn", "h": "nn", "g": "2"}
"""Arrays of data, by the dimensions that they have."""

EXTENTS = {"n": f"n + {PADDING}", "m": f"m + {PADDING}", "2": f"2 * n + {2 * PADDING}"}
PLACES = {"x": "nn", "y": "nn", "v": "nm", "j": "mn"}
"""Arrays of places: which dimension they have, and of which they hold places."""


class CornerValues:
    """Values drawn from ``random``; ``note`` is told of the corners that they have.

    exact
        whether numbers are whole and so small that sums of them are the same in any order.
    """

    def __init__(self, random: Random, note: Callable[[str, bool], None], *, exact: bool) -> None:
        self._random = random
        self._noted = note
        self._exact = exact

    def _size(self) -> int:
        kinds = ("size 0", "size 1", "odd size", *["lanes and one"] * 2, *["all lanes"] * 2)
        kind = self._random.choice(kinds)
        lanes = self._random.choice(LANES)
        if kind in ("size 0", "size 1"):
            size = int(kind[-1])
        elif kind == "odd size":
            size = self._random.choice((3, 5, 7, 9, 11, 13, 19))
        elif kind == "all lanes":
            size = lanes * self._random.choice((1, 2))
        else:
            size = lanes * self._random.choice((1, 1, 2)) + self._random.choice((-1, 1))
        self._noted(kind, True)
        return min(size, 33)

    def values(self, types: Mapping[str, ScalarType], main: ScalarType) -> dict[str, np.ndarray]:
        """All of a nest: ``types`` of the arrays of data, and ``main`` of the others."""
        rng = np.random.default_rng(self._random.getrandbits(32))
        sizes = {"n": self._size(), "m": self._size()}
        n, m = sizes["n"], sizes["m"]
        lengths = {"n": n + PADDING, "m": m + PADDING, "2": 2 * n + 2 * PADDING}
        shapes = {name: [lengths[each] for each in ARRAYS[name]] for name in types}
        values = {name: self._data(rng, type, shapes[name]) for name, type in types.items()}
        for name, (of, held) in PLACES.items():
            values[name] = self._places(rng, lengths[of], lengths[held])
        values["o"] = np.sort(rng.integers(0, n + 1, n + PADDING)).astype(np.int32)
        values["l"] = rng.integers(0, min(n, 5) + 1, n + PADDING).astype(np.int32)
        if self._random.random() < 0.4:
            self._noted("empty rows", True)
            values["o"] = (values["o"] // 3 * 3).astype(np.int32)
            values["l"] *= rng.random(n + PADDING) < 0.3
        z = self._random.choice((0, 0, 1, 3))
        values |= {"r": self._data(rng, main, [4]), "w": self._data(rng, main, [z])}
        values["s"] = self._data(rng, main, [])
        values["t"] = np.array(rng.integers(0, n + 1), np.int32)
        return values

    def _data(self, rng: np.random.Generator, type: ScalarType, shape: list[int]) -> np.ndarray:
        kind = self._random.choice(("small", "small", "zeros", "edges", "edges"))
        if kind == "zeros":
            return np.zeros(shape, type.dtype)
        if type == FLOAT32:
            if self._exact:
                return rng.integers(-2, 3, shape).astype(np.float32)
            found = rng.standard_normal(shape).astype(np.float32)
            edges = SPECIAL
            self._noted("special floats", kind == "edges")
        else:
            found = rng.integers(max(type.least, -3), 8, shape).astype(type.dtype)
            edges = np.array([type.least, type.least + 1, 0, type.most - 1, type.most], type.dtype)
            self._noted("edges", kind == "edges")
        chance = self._random.choice((0.1, 0.5)) if kind == "edges" else 0.0
        return np.asarray(np.where(rng.random(shape) < chance, rng.choice(edges, shape), found))

    def _places(self, rng: np.random.Generator, count: int, most: int) -> np.ndarray:
        kind = self._random.choice(("", "", "same places", "last place", "permutation", "repeats"))
        if kind == "same places":
            found = np.full(count, rng.integers(most))
        elif kind == "last place":
            found = np.full(count, most - 1)
        elif kind == "permutation":
            found = rng.permutation(max(count, most))[:count] % most
        elif kind == "repeats":
            found = rng.integers(0, min(most, 3), count)
        else:
            found = rng.integers(0, most, count)
        self._noted(kind, kind not in ("", "repeats"))
        return found.astype(np.int32)
