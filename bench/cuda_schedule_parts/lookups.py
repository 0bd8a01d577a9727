"""What tasks of a batch look up: which rows come from memory, which are in a first-level cache."""

from __future__ import annotations

import numpy as np

from bench.cuda_schedule_parts.device import L1_BYTES, MULTIPROCESSORS
from gnarl.sw.compiler.cuda.architectures import SECTOR_BYTES
from gnarl.sw.program.jit import compiled
from gnarl.sw.workloads.embedding.model import EmbeddingModel

_LINE_BYTES = 128
FETCH_BYTES = 64
"""What the L2 cache fetches from memory at a time, two sectors."""


class Caches:
    """The L2 cache, which forgets nothing of a batch, and first-level caches, which keep what was
    used last."""

    def __init__(self, model: EmbeddingModel, l1_bytes: float = L1_BYTES) -> None:
        rows = max(feature.rows for feature in model.features)
        self._seen = np.zeros(rows, np.int32)
        self._used = np.full((MULTIPROCESSORS, rows), -np.inf)
        self._lines = np.full((MULTIPROCESSORS, rows), -np.inf)
        self._clock = np.zeros(MULTIPROCESSORS)
        self._l1_bytes = l1_bytes
        self._table = 0

    def look_up(
        self,
        row_bytes: int,
        indices: np.ndarray,
        begins: np.ndarray,
        ends: np.ndarray,
        where: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bytes of a feature's rows that cross the L2 cache, and that come from memory: float64
        [tasks].

        begins, ends
            of the tasks' places in ``indices``.
        where
            multiprocessors of the tasks.
        """
        self._table += 1
        self._clock += 2 * self._l1_bytes  # nothing is left of the table before
        l2 = np.zeros(len(begins))
        memory = np.zeros(len(begins))
        sector = max(1, SECTOR_BYTES // row_bytes)
        _look_up(
            indices,
            begins,
            ends,
            where,
            sector,
            float(-(-row_bytes // SECTOR_BYTES) * SECTOR_BYTES),
            max(1, _LINE_BYTES // row_bytes),
            float(max(_LINE_BYTES, row_bytes)),
            max(1, FETCH_BYTES // row_bytes),
            float(max(FETCH_BYTES, row_bytes)),
            self._l1_bytes,
            self._table,
            self._seen,
            self._used,
            self._lines,
            self._clock,
            l2,
            memory,
        )
        return l2, memory


@compiled
def _look_up(  # type: ignore[no-untyped-def]
    indices,
    begins,
    ends,
    where,
    sector_rows,
    sector_bytes,
    line_rows,
    line_bytes,
    fetch_rows,
    fetch_bytes,
    l1_bytes,
    table,
    seen,
    used,
    lines,
    clock,
    l2,
    memory,
):
    for task in range(len(begins)):
        at = where[task]
        for place in range(begins[task], ends[task]):
            sector = indices[place] // sector_rows
            line = indices[place] // line_rows
            since = clock[at] - l1_bytes
            kept = lines[at, line] > since
            if not (kept and used[at, sector] > since):
                l2[task] += sector_bytes
                fetch = indices[place] // fetch_rows
                if seen[fetch] != table:
                    seen[fetch] = table
                    memory[task] += fetch_bytes
                if not kept:
                    clock[at] += line_bytes
            used[at, sector] = clock[at]
            lines[at, line] = clock[at]
