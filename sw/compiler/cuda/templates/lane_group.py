"""Mirrors ``gnarl/lane_group.cuh``: lanes of a warp that pool a bag, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gnarl.sw.compiler.cuda.templates.costs import pool_instructions, store_instructions
from gnarl.sw.workloads.embedding.model import Feature

_MOST_IN_FLIGHT = 32
"""Elements of a lane."""


@dataclass(frozen=True)
class LaneGroup:
    """The parameters of the C++ struct of that name."""

    feature: Feature
    threads: int
    vector: int
    rows: int
    unroll: int

    @property
    def passes(self) -> int:
        """Passes over a row's columns, each with all rows."""
        return -(-self._chunks // self._pass_chunks)

    @property
    def _chunks(self) -> int:
        """Vectors of a row for each lane."""
        return -(-self.feature.dim // (self.vector * (self.threads // self.rows)))

    @property
    def _pass_chunks(self) -> int:
        return min(self._chunks, max(1, _MOST_IN_FLIGHT // (self.vector * self.unroll)))

    def rounds(self, length: float) -> int:
        """Rounds in which a bag of so many indices is pooled, in each pass."""
        return math.ceil(length / (self.rows * self.unroll))

    def warp_instructions(self, length: float) -> float:
        """Instructions for a bag in each group of a warp, the longest having so many indices."""
        feature = self.feature
        row = 2 + feature.weighted + pool_instructions(feature, self.vector, self._pass_chunks)
        round_ = self.unroll * row + 5
        fetches = 1 + math.ceil(length / max(self.threads, self.rows * self.unroll))
        fetch = 8 + 2 * feature.weighted
        combine = 2 * self.vector * (self.rows.bit_length() - 1)
        store = store_instructions(self.vector, self._pass_chunks)
        of_pass = self.rounds(length) * round_ + fetches * fetch + combine + store
        return 20 + self.passes * of_pass
