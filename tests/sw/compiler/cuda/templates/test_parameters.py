"""What candidates of the templates try, and sizes that they share with the kernels."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.templates.row_lanes import RowLanes
from gnarl.sw.workloads.embedding.model import Feature

PARAMETERS = {
    "block_samples": {
        "vector": (1, 2, 4, 8),
        "samples": (1, 2, 4),
        "unroll": (1, 2, 4, 8),
        "stage": (0, 1, 2),
    },
    "one_hot": {"vector": (1, 2, 4, 8), "samples_per_thread": (1, 2, 4)},
    "reduce_by_key": {
        "vector": (1, 2, 4, 8),
        "values_per_block": (128, 256, 512, 1024, 2048),
        "unroll": (2, 4, 8),
    },
    "split_sample": {"vector": (1, 2, 4, 8), "parts": (2, 4, 8, 16), "unroll": (2, 4, 8)},
    "sub_warp_per_sample": {
        "vector": (1, 2, 4, 8),
        "threads": (2, 4, 8, 16),
        "unroll": (1, 2, 4, 8),
        "samples_in_turn": (1, 4),
    },
    "pooled_bags": {"vector": (1, 2, 4, 8), "rows": (1, 2, 4, 8, 16, 32)},
    "short_bags": {"vector": (1, 2, 4, 8)},
    "table_in_shared": {
        "capacity": (4, 8, 16, 32, 64, 96, 160, 224),
        "vector": (1, 2, 4, 8),
        "threads": (4, 8, 16, 32),
        "samples": (32, 64, 128, 256),
    },
    "warp_per_sample": {
        "vector": (1, 2, 4, 8),
        "rows": (1, 2, 4, 8, 16, 32),
        "unroll": (1, 2, 4, 8),
        "samples_per_warp": (1, 2, 4, 8),
    },
}

WORK = {
    "block_samples": (1029.0, 100624.0, 33043.5, 228.0),
    "one_hot": (585.0, 43952.0, 15398.325, 0.0),
    "reduce_by_key": (3173.0, 549527.2, 247456.8, 480.0),
    "split_sample": (115.0, 9196.875, 1181.367, 35.625),
    "sub_warp_per_sample": (2065.0, 359120.0, 230780.0, 0.0),
    "table_in_shared": (2548.0, 1116240.0, 117360.0, 16.0),
    "warp_per_sample": (2378.0, 263160.0, 125880.0, 0.0),
}
"""The numbers of ``Work``, each summed up over all candidates for a feature."""


@pytest.mark.parametrize("name", WORK)
def test_estimates_are_what_they_were(name: str) -> None:
    """They are fitted: who changes one of them looks at the others, too."""
    template, feature = templates()[name], Feature("f", 1000, 48, weighted=True)
    found = [
        astuple(template.work(schedule, feature, 128, 512, 512 * 20.0, 33.0))
        for schedule in template.candidates(feature, 128)
    ]
    assert np.sum(found, axis=0) == pytest.approx(WORK[name], abs=1e-3, rel=0)


def test_values_that_candidates_try() -> None:
    found = {
        template.name: {parameter.name: parameter.values for parameter in template.parameters}
        for template in templates().values()
    }
    assert found == PARAMETERS


def test_rows_on_lanes() -> None:
    feature = Feature("f", rows=100, dim=48)
    rows = RowLanes(feature, vector=4)
    assert (rows.vectors, rows.lanes, rows.tiles) == (12, 16, 1)
    assert RowLanes(replace(feature, dim=512), vector=4).tiles == 4
    # Floats: 128 threads are four warps, of 16 lanes with vectors of four each.
    assert rows.warp_totals_bytes(128) == 4 * 16 * 4 * 4
    assert rows.partial_bytes() == 48 * 4
    # Sectors of 32 bytes: six of the row, an eighth of one for an index of four bytes.
    assert rows.row_sectors() == 6 + 4 / 32
    assert RowLanes(replace(feature, weighted=True), vector=4).row_sectors() == 6 + 8 / 32
    assert rows.sample_sectors() == 6 + 4 / 32
