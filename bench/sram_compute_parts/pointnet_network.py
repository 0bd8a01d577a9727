"""PointNet++'s classifiers in NumPy: what each stage is given, and the bits that it must have.

Source: Infinity Stream, table 4, and the stages of its section 8. Sums are in the order of
``pointnet.c``, in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from bench.sram_compute_parts.pointnet_table import Network, Scale

Arrays = Mapping[str, np.ndarray]

SAMPLE, QUERY, GATHER, MLP, AGGREGATE, CONNECTED = STAGES = (
    "furthest sample",
    "ball query",
    "gather",
    "MLP",
    "aggregate",
    "FC",
)
_ROWS = 1024
"""Rows of a layer that NumPy computes at once, so that they stay in the host's caches."""


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a function of ``pointnet.c``.

    given, wanted
        arrays by name, and what it makes of those that it writes; of these, those that are not
        given begin as zeros.
    scalars
        its parameters besides.
    sliced
        by name of an array the axis along which rounds lie, and how many elements each has there.
    rounds
        centroids, or rows: what one does, no other one needs; of sampling the first ones do not
        need the last ones.
    work
        operations of a round, about.
    """

    function: str
    given: Arrays
    wanted: Arrays
    sliced: Mapping[str, tuple[int, int]]
    rounds: int
    work: int
    scalars: Mapping[str, int | np.float32] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Elements of a round, of the array that has the most."""
        arrays = {**self.given, **self.wanted}
        return max(arrays[name].size // self.rounds for name in self.sliced)

    def first(self, rounds: int) -> Call:
        """The first of its rounds alone."""
        return Call(
            self.function,
            {name: self._cut(name, array, rounds) for name, array in self.given.items()},
            {name: self._cut(name, array, rounds) for name, array in self.wanted.items()},
            self.sliced,
            rounds,
            self.work,
            self.scalars,
        )

    def _cut(self, name: str, array: np.ndarray, rounds: int) -> np.ndarray:
        if name not in self.sliced:
            return array
        axis, factor = self.sliced[name]
        return np.ascontiguousarray(array[(slice(None),) * axis + (slice(rounds * factor),)])


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of a set abstraction, ``kernel``, or one that several of them share."""

    kernel: str
    name: str
    calls: tuple[Call, ...]


@cache
def stages(network: Network, seed: int) -> tuple[Stage, ...]:
    """The stages for a point cloud of uniform random points in [0, 1), with random weights."""
    random = np.random.default_rng(seed)
    at = random.random((3, network.points), np.float32)
    feature: np.ndarray | None = None
    in_order: list[Stage] = []
    for centroids, scales in network.levels:
        kernels = " to ".join(dict.fromkeys((scales[0].name, scales[-1].name)))
        call, centre = _sample(at, centroids)
        in_order.append(Stage(kernels, SAMPLE, (call,)))
        calls, middle, apart = _measure(at, centre)
        in_order.append(Stage(kernels, QUERY, calls))
        pooled = []
        for scale in scales:
            abstraction, largest = _abstraction(scale, at, feature, middle, apart, random)
            in_order += abstraction
            pooled.append(largest)
        at, feature = centre, np.concatenate(pooled, axis=1)
    assert feature is not None
    calls, _ = _layers(feature, network.widths, random, rectified=len(network.widths) - 1)
    return _joined([*in_order, Stage("FC", CONNECTED, calls)])


def _joined(found: Sequence[Stage]) -> tuple[Stage, ...]:
    """Merges stages of the same names: distances and ball query of a level of one scale."""
    calls: dict[tuple[str, str], tuple[Call, ...]] = {}
    for each in found:
        names = (each.kernel, each.name)
        calls[names] = calls.get(names, ()) + each.calls
    return tuple(Stage(*names, made) for names, made in calls.items())


def _sample(at: np.ndarray, centroids: int) -> tuple[Call, np.ndarray]:
    """Furthest point sampling of ``at`` [3, points]; and centres, [3, centroids]."""
    distance = np.full(at.shape[1], 1e30, np.float32)
    chosen = np.zeros(centroids, np.int32)
    for c in range(centroids):
        chosen[c] = np.argmax(distance) if c else 0
        distance = np.minimum(distance, _squares(at, at[:, chosen[c]]))
    wanted = {"chosen": chosen, "centre": at[:, chosen]}
    sliced = {"chosen": (0, 1), "centre": (1, 1)}
    call = Call("sample", {"at": at}, wanted, sliced, centroids, 8 * at.shape[1])
    return call, wanted["centre"]


def _squares(at: np.ndarray, centre: np.ndarray) -> np.ndarray:
    x, y, z = at - centre[:, None]
    return x * x + y * y + z * z


def _measure(at: np.ndarray, centre: np.ndarray) -> tuple[tuple[Call, ...], np.ndarray, np.ndarray]:
    """Centres as rows, [centroids, 3], and distances, [centroids, points]."""
    count = centre.shape[1]
    middle = np.ascontiguousarray(centre.T)
    turned = {"middle": middle}
    sliced = {"centre": (1, 1), "middle": (0, 1)}
    turn = Call("turn", {"centre": centre}, turned, sliced, count, 3)
    apart = {"apart": np.stack([_squares(at, each) for each in middle])}
    sliced = {"middle": (0, 1), "apart": (0, 1)}
    arrays = {"at": at, "middle": middle}
    measure = Call("distances", arrays, apart, sliced, count, 2 * at.shape[1])
    return (turn, measure), middle, apart["apart"]


def _abstraction(
    scale: Scale,
    at: np.ndarray,
    feature: np.ndarray | None,
    middle: np.ndarray,
    apart: np.ndarray,
    random: np.random.Generator,
) -> tuple[list[Stage], np.ndarray]:
    """All stages behind distances; and the largest, [centroids, widths[-1]]."""
    query = _query(scale, apart)
    gather, x = _gather(at, feature, middle, query.wanted)
    layers, y = _layers(x, scale.widths, random)
    aggregate = _aggregate(scale, y)
    by_kind = {QUERY: (query,), GATHER: gather, MLP: layers, AGGREGATE: (aggregate,)}
    by_scale = [Stage(scale.name, name, calls) for name, calls in by_kind.items()]
    return by_scale, aggregate.wanted["pooled"]


def _query(scale: Scale, apart: np.ndarray) -> Call:
    """Neighbours of each centroid; ``apart``: [centroids, points]."""
    count, points = apart.shape
    near = [np.flatnonzero(row < scale.squared_radius)[: scale.neighbours] for row in apart]
    padded = [np.append(each, [each[0]] * (scale.neighbours - len(each))) for each in near]
    wanted = {
        "neighbour": np.concatenate(padded).astype(np.int32),
        "owner": np.repeat(np.arange(count, dtype=np.int32), scale.neighbours),
    }
    slots = (0, scale.neighbours)
    return Call(
        "query",
        {"apart": apart},
        wanted,
        {"apart": (0, 1), "neighbour": slots, "owner": slots},
        count,
        8 * points,
        {"neighbours": scale.neighbours, "squared_radius": scale.squared_radius},
    )


def _gather(
    at: np.ndarray, feature: np.ndarray | None, middle: np.ndarray, found: Arrays
) -> tuple[tuple[Call, ...], np.ndarray]:
    """What layers have as x, [slots, 3 + channels]; ``feature``: [points, channels]."""
    neighbour, owner = found["neighbour"], found["owner"]
    channels = 0 if feature is None else feature.shape[1]
    x = np.zeros((len(neighbour), 3 + channels), np.float32)
    x[:, :3] = at.T[neighbour] - middle[owner]
    sliced = {name: (0, 1) for name in ("neighbour", "owner", "x")}
    arrays = {"at": at, "middle": middle, "neighbour": neighbour, "owner": owner}
    calls = [Call("gather_places", arrays, {"x": x.copy()}, sliced, len(x), 128)]
    if feature is not None:
        arrays = {"feature": feature, "neighbour": neighbour, "x": x.copy()}
        sliced = {name: (0, 1) for name in ("neighbour", "x")}
        x[:, 3:] = feature[neighbour]
        calls.append(Call("gather_features", arrays, {"x": x}, sliced, len(x), 4 * channels))
    return tuple(calls), x


def _layers(
    x: np.ndarray, widths: Sequence[int], random: np.random.Generator, rectified: int | None = None
) -> tuple[tuple[Call, ...], np.ndarray]:
    """Fully connected layers on ``x`` [rows, inputs], the first ``rectified`` ones, else all, with
    ReLU."""
    calls = []
    for number, width in enumerate(widths):
        inputs = x.shape[1]
        w = random.standard_normal((inputs, width), np.float32) * np.float32((2 / inputs) ** 0.5)
        bias = random.standard_normal((1, width), np.float32) * np.float32(0.1)
        is_rectified = rectified is None or number < rectified
        calls.append(layer(x, w, bias, is_rectified))
        x = calls[-1].wanted["y"]
    return tuple(calls), x


def layer(x: np.ndarray, w: np.ndarray, bias: np.ndarray, is_rectified: bool) -> Call:
    """A fully connected layer."""
    y = np.repeat(bias, len(x), axis=0)
    accumulated(y, x, w)
    if is_rectified:
        y = rectified(y)
    return Call(
        "connect_relu" if is_rectified else "connect",
        {"x": x, "w": w, "bias": bias},
        {"y": y},
        {"x": (0, 1), "y": (0, 1)},
        len(x),
        w.size,
    )


def accumulated(y: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    """Adds products to ``y`` [rows, outputs], input by input."""
    for rows in _rows_at_once(len(y)):
        for i, each in enumerate(w):
            y[rows] += x[rows, i, None] * each


def _rows_at_once(rows: int) -> Iterator[slice]:
    return (slice(first, first + _ROWS) for first in range(0, rows, _ROWS))


def rectified(y: np.ndarray) -> np.ndarray:
    return np.where(y > 0, y, np.float32(0))


def _aggregate(scale: Scale, y: np.ndarray) -> Call:
    """Pools the neighbours of each centroid. ``y``: [centroids * neighbours, width]."""
    slots, width = y.shape
    pooled = np.maximum(y.reshape(-1, scale.neighbours, width).max(1), np.float32(0))
    return Call(
        "aggregate",
        {"y": y},
        {"pooled": pooled},
        {"y": (0, scale.neighbours), "pooled": (0, 1)},
        slots // scale.neighbours,
        4 * scale.neighbours * width,
        {"neighbours": scale.neighbours, "first": 0},
    )
