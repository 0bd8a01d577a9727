"""Sums of a line in the order of tiles, written out for the golden model."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import TileOrder
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.sram_compute.tensor_graphs import nest_of


def summed(line: np.ndarray, order: TileOrder) -> np.float32:
    """What lies beyond the line changes nothing."""
    whole = np.full(order.tile * order.tiles * order.banks, -0.0, np.float32)
    whole[: len(line)] = line
    parts = whole.reshape(order.banks, order.tiles, order.tile)
    while parts.shape[2] > order.kept:
        half = parts.shape[2] // 2
        parts = parts[:, :, :half] + parts[:, :, half:]
    for _ in range(2):  # tiles of a bank, then banks, each from the last one on
        total = parts[:, -1] if parts.ndim == 3 else parts[-1]
        for place in reversed(range(parts.shape[-2] - 1)):
            total = total + (parts[:, place] if parts.ndim == 3 else parts[place])
        parts = total
    while len(parts) > 1:
        parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
    return np.float32(parts[0])


@pytest.mark.parametrize(
    "length, order",
    [
        (128, TileOrder(8, 4, 4, 4)),
        (97, TileOrder(8, 4, 4, 4)),
        (33, TileOrder(8, 1, 8, 1)),
        (3, TileOrder(4, 4, 1, 1)),
        (70, TileOrder(16, 2, 3, 2)),
    ],
)
def test_the_order_of_tiles(length: int, order: TileOrder):
    nest = nest_of("a: float32[n], s: float32[1]", "for i in range(n): s[0] += a[i]")
    a = np.random.default_rng(2).standard_normal(length, np.float32)
    values = {"a": a, "s": np.array([0.25], np.float32)}
    ordered, temporaries = compiled_order(nest, plan(nest), {0: order})
    assert temporaries
    found = GoldenLoops(ordered).run(bind(ordered, values))["s"]
    assert found[0] == np.float32(0.25) + summed(a, order)
