"""Sums that arrays begin and stream engines finish have the golden model's bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import DataObject, booleans, data, integers, sampled_from

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.lower.finish import orders_of
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.line_sums import TileOrder
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.compiler.sram_compute.tiles import Tiling
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from tests.support.sram_compute.lowered_memory import execute
from tests.support.sram_compute.tensor_graphs import nest_of

ENGINES = SramConfig(
    banks=2,
    arrays=4,
    wordlines=256,
    bitlines=64,
    memory_bytes=1 << 17,
    latency=2,
    bandwidth=32,
    near_lanes=1,
)


class Finishing(CodeGenerator):
    """Where stream engines can finish sums, they do, however long it takes. ``keeps``: as of
    ``orders_of``."""

    keeps = True

    def _orders(self, tiling: Tiling) -> list[dict[int, TileOrder]]:
        return [orders_of(range(3), tiling, self._config, keeps=self.keeps)]


def require_golden(nest: Nest, lowered: MemoryCode, values: Mapping[str, Any]) -> None:
    found = execute(lowered, bind(nest, values).arrays, ENGINES)
    ordered, _ = compiled_order(nest, plan(nest), lowered.orders)
    wanted = GoldenLoops(ordered).run(bind(ordered, values))
    for name in nest.results:
        assert found[name].tobytes() == wanted[name].tobytes(), name


def opcodes(lowered: MemoryCode) -> list[Opcode]:
    return [each.opcode for _, each in disassemble(lowered.units)]


NESTS = {
    0: "for i in range(n):\n t = {first}\n for j in range(m): t = {sum}\n s[i, 0] = t",
    1: "for j in range(m):\n t = {first}\n for i in range(n): t = {sum}\n s[0, j] = t",
}


@settings(max_examples=8)
@given(data())
def test_sums_of_random_lines(draw: DataObject):
    dimension = draw.draw(sampled_from([0, 1]))
    type = draw.draw(sampled_from(["float32", "int32"]))
    function = draw.draw(sampled_from(["+", "+", "min", "max"]))
    sizes = draw.draw(integers(1, 8)), draw.draw(integers(1, 64))
    total = f"{function}(t, a[i, j])" if function != "+" else "t + a[i, j]"
    first = 0.5 if type == "float32" else 5
    result = "n, 1" if dimension == 0 else "1, m"
    nest = nest_of(
        f"a: {type}[n, m], s: {type}[{result}]", NESTS[dimension].format(first=first, sum=total)
    )
    chance = np.random.default_rng(draw.draw(integers(0, 9)))
    values = {"a": (100 * chance.standard_normal(sizes)).astype(type)}
    generator = Finishing(nest, plan(nest), ENGINES)
    generator.keeps = draw.draw(booleans())
    tiling = draw.draw(sampled_from(generator.tilings(bind(nest, values))))
    lowered = generator.generate(bind(nest, values), tiling.tile)
    assert (Opcode.NEAR in opcodes(lowered)) == (dimension in lowered.orders)
    require_golden(nest, lowered, values)


@pytest.mark.parametrize("length", [512, 300, 40])
def test_a_long_sum_is_finished_where_that_is_faster(length: int):
    nest = nest_of("a: float32[n], s: float32[1]", "for i in range(n): s[0] += a[i]")
    values = {"a": np.random.default_rng(1).standard_normal(length, np.float32)}
    found = CodeGenerator(nest, plan(nest), ENGINES).generate(bind(nest, values))
    assert found.orders == {0: TileOrder(64, 32, *{512: (4, 2), 300: (4, 2), 40: (1, 1)}[length])}
    require_golden(nest, found, values)
    alone = CodeGenerator(nest, plan(nest), replace(ENGINES, near_lanes=0)).generate(
        bind(nest, values)
    )
    assert alone.orders == {} and Opcode.NEAR not in opcodes(alone)
    assert found.estimate < alone.estimate


def test_many_short_sums_stay_in_memory():
    nest = nest_of(
        "a: float32[n, m], s: float32[n, 1]",
        "for i in range(n):\n for j in range(m): s[i, 0] += a[i, j]",
    )
    values = {"a": np.random.default_rng(1).standard_normal((16, 32), np.float32)}
    found = CodeGenerator(nest, plan(nest), ENGINES).generate(bind(nest, values))
    assert found.orders == {} and Opcode.NEAR not in opcodes(found)


def test_a_sum_that_begins_elsewhere_stays_in_memory():
    """Engines would leave it in the first cell of its tile."""
    nest = nest_of("a: float32[n], s: float32[1]", "for i in range(1, n): s[0] += a[i]")
    values = {"a": np.random.default_rng(1).standard_normal(300, np.float32)}
    found = CodeGenerator(nest, plan(nest), ENGINES).generate(bind(nest, values))
    assert Opcode.NEAR not in opcodes(found)
    require_golden(nest, found, values)


@pytest.mark.parametrize(
    "shape, tile, dimension, order",
    [
        ((512, 1, 1), (64, 1, 1), 0, TileOrder(64, 32, 4, 2)),
        ((320, 1, 1), (64, 1, 1), 0, TileOrder(64, 32, 4, 2)),  # a tile in the second bank
        ((192, 1, 1), (64, 1, 1), 0, TileOrder(64, 32, 3, 1)),  # all in the first one
        ((64, 8, 1), (16, 4, 1), 0, TileOrder(16, 16, 4, 1)),  # a line in each bank
        ((64, 8, 1), (16, 4, 1), 1, TileOrder(4, 2, 1, 2)),  # four lines through both banks
        ((16, 28, 1), (16, 4, 1), 1, TileOrder(4, 2, 4, 2)),
        ((64, 2, 2), (64, 1, 1), 1, TileOrder(1, 1, 2, 1)),
        ((64, 3, 2), (64, 1, 1), 1, None),  # three tiles: lines are in no bank alone
        ((64, 1, 1), (64, 1, 1), 1, None),  # nothing is left to do
    ],
)
def test_lines_that_engines_can_finish(
    shape: tuple[int, ...], tile: tuple[int, ...], dimension: int, order: TileOrder | None
):
    found = orders_of([dimension], Tiling(shape, tile), ENGINES, keeps=True)
    assert found == ({} if order is None else {dimension: order})
