"""The set abstractions and classifiers of PointNet++. Source: Infinity Stream, table 4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scale:
    """A row of table 4: ``widths`` of its three layers."""

    name: str
    neighbours: int
    radius: float
    widths: tuple[int, ...]

    @property
    def squared_radius(self) -> np.float32:
        return np.float32(self.radius**2 if self.radius < 10 else 1e30)


@dataclass(frozen=True)
class Network:
    """A network of PointNet++.

    levels
        for each, how many centroids, and the set abstractions of these, side by side.
    widths
        of fully connected layers behind them.
    """

    name: str
    points: int
    levels: tuple[tuple[int, tuple[Scale, ...]], ...]
    widths: tuple[int, ...]


_INFINITY = float("inf")
_SA3 = (1, (Scale("SA3", 128, _INFINITY, (256, 512, 1024)),))
_CLASSES = (512, 256, 10)
_POINTS = 4096

SSG = Network(
    "SSG",
    _POINTS,
    (
        (512, (Scale("SA1", 32, 0.2, (64, 64, 128)),)),
        (128, (Scale("SA2", 64, 0.4, (128, 128, 256)),)),
        _SA3,
    ),
    _CLASSES,
)
MSG = Network(
    "MSG",
    _POINTS,
    (
        (
            512,
            (
                Scale("SA4", 16, 0.1, (32, 32, 64)),
                Scale("SA5", 32, 0.2, (64, 64, 128)),
                Scale("SA6", 128, 0.4, (64, 96, 128)),
            ),
        ),
        (
            128,
            (
                Scale("SA7", 16, 0.2, (64, 64, 128)),
                Scale("SA8", 32, 0.4, (128, 128, 256)),
                Scale("SA9", 128, 0.8, (128, 128, 256)),
            ),
        ),
        _SA3,
    ),
    _CLASSES,
)
SMALL = Network("small", 64, ((8, (Scale("SA", 4, 0.5, (8,)),)),), (4,))
"""For where it must be quick."""

NETWORKS = {each.name: each for each in (SSG, MSG, SMALL)}
