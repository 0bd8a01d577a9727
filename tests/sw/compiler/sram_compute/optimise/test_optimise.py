"""Optimised tDFGs: cheaper, never dearer, and with the same bits unless sums may be reordered."""

from __future__ import annotations

import time
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.optimise.costs import graph_cost, node_cost
from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise, optimise_plan
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Move,
    Reduce,
    arrays_of,
)
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, regions
from gnarl.sw.workloads.loops.ir.nest import COMPARISONS
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.loops.python.source import read_file
from tests.support.sram_compute.tensor_graphs import nest_of, planned, require_golden

pytest.importorskip("egglog")

EXAMPLES = Path(__file__).parents[5] / "examples"


def count(graph: Graph, function: str) -> int:
    return sum(isinstance(each, Compute) and each.function == function for each in graph.nodes)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def test_figure_6_multiplies_by_each_constant_once():
    (region,) = regions(plan(read_file(EXAMPLES / "conv2d.py")))
    assert count(region.graph, "*") == 9
    exact = optimise(region.graph, reassociate=False).graph
    assert (count(exact, "*"), count(exact, "+")) == (3, 8)
    free = optimise(region.graph, reassociate=True).graph
    assert count(free, "*") == 3
    assert graph_cost(free) < graph_cost(exact) < graph_cost(region.graph)


def test_regions_that_are_alike_are_optimised_once(monkeypatch: pytest.MonkeyPatch):
    """There and back: arrays have each other's names."""
    seen: list[Graph] = []

    def counted(graph: Graph, **options: Any) -> Any:
        seen.append(graph)
        return optimise(graph, **options)

    monkeypatch.setattr("gnarl.sw.compiler.sram_compute.optimise.saturate.optimise", counted)
    nest = read_file(EXAMPLES / "stencil1d.py")
    better = optimise_plan(plan(nest), reassociate=False)
    there, back = (region.graph for region in regions(better))
    assert len(seen) == 1
    assert [list(arrays_of(graph)) for graph in (there, back)] == [["a"], ["b"]]
    assert [graph.outputs[0].array for graph in (there, back)] == ["b", "a"]
    assert there.outputs[0].place != back.outputs[0].place
    (_, loop) = regions(plan(nest))
    assert graph_cost(back) == graph_cost(there) < graph_cost(loop.graph)


def test_gathers_that_are_alike_are_optimised_once():
    """One gathers by an index that is loaded, one by one that is not."""
    nest = nest_of(
        "a: int32[n, m], b: int32[n, m], c: int32[n, m], p: int32[n], q: int32[n]",
        "for i in range(n):\n    for j in range(m): b[i, j] = a[p[i], j] * 5\n"
        "for i in range(n):\n    for j in range(m): c[i, j] = b[q[i], j] * 5",
    )
    better = optimise_plan(plan(nest), reassociate=False)
    assert [list(arrays_of(region.graph)) for region in regions(better)] == [["a", "p"], ["b", "q"]]


def test_statements_that_differ_in_numbers_are_optimised_once(monkeypatch: pytest.MonkeyPatch):
    """Not those in which numbers are equal where those of others differ."""
    seen: list[Graph] = []

    def counted(graph: Graph, **options: Any) -> Any:
        seen.append(graph)
        return optimise(graph, **options)

    monkeypatch.setattr("gnarl.sw.compiler.sram_compute.optimise.saturate.optimise", counted)
    numbers = [(3, 5), (5, 3), (-1, 0), (7, 7), (9, 9), (2, 4)]
    arrays = ", ".join(f"b{at}: int32[n]" for at in range(len(numbers)))
    nest = nest_of(
        f"a: int32[n], {arrays}",
        "\n".join(
            f"for i in range(1, n - 1):\n    b{at}[i] = "
            f"a[i] * {one} + a[i - 1] * {one} + a[i + 1] * {two}"
            for at, (one, two) in enumerate(numbers)
        ),
    )
    better = optimise_plan(plan(nest), reassociate=False)
    assert len(seen) == 2
    require_golden(nest, better, {"a": np.arange(-20, 20, dtype=np.int32)})


def test_a_sum_takes_as_many_rounds_as_lines_of_bitlines_have():
    move, add, line = (
        node_cost(kind, function, INT32)
        for kind, function in ((Move, ""), (Compute, "+"), (Reduce, "+"))
    )
    assert line == (move + add) * log2(SramConfig().bitlines)
    assert node_cost(Broadcast, "", INT32) == move > add
    assert node_cost(Const, "", INT32) == INT32.bits


@pytest.mark.parametrize(
    "name, values",
    [
        ("stencil1d", {"a": random(37), "b": random(37), "steps": 3}),
        ("conv2d", {"a": random(9, 11), "corner": 0.1, "edge": 0.2, "middle": -0.3}),
        ("mm", {"a": random(5, 3), "b": random(3, 4)}),
    ],
)
def test_floats_keep_their_bits(name: str, values: dict[str, Any]):
    nest = read_file(EXAMPLES / f"{name}.py")
    require_golden(nest, optimise_plan(plan(nest), reassociate=False), values)


@pytest.mark.parametrize(
    "parameters, body, values",
    [
        (
            "a: int32[n], b: int32[n]",
            "for i in range(2, n - 1): b[i] = a[i - 2] * 5 + a[i + 1] * 5",
            {},
        ),
        (
            "a: int32[n, m], b: int32[n, m]",
            "for i in range(n):\n for j in range(1, m): b[i, j] = a[i, 0] * 3 + a[i, j - 1] * 3",
            {},
        ),
        (
            "a: int32[n, m], b: int32[n, m]",
            (
                "for i in range(1, n):\n for j in range(m): b[i, j] = -a[i "
                "- 1, j] if a[i - 1, j] < 0 else a[i, j] * a[i, j]"
            ),
            {},
        ),
        (
            "a: int32[n, m], b: int32[n, 1]",
            "for i in range(n):\n for j in range(m): b[i, 0] += a[i, j] * 2 + a[i, 0] * 2",
            {},
        ),
    ],
)
def test_integers_are_the_same_in_any_order(parameters: str, body: str, values: dict[str, Any]):
    nest, steps = planned(parameters, body)
    shape = (5, 6)[: parameters.count("m]") + 1]
    values = {"a": np.random.default_rng(0).integers(-99, 99, shape, np.int32)}
    better = optimise_plan(steps, reassociate=False)
    for before, after in zip(regions(steps), regions(better), strict=True):
        assert graph_cost(after.graph) <= graph_cost(before.graph)
    require_golden(nest, better, values)


@pytest.mark.parametrize(
    "computed",
    [
        *(f"{{}} {operator} 3" for operator in ("+", "-", "*", "//", "%", "<<", ">>")),
        *(f"1 if {{}} {operator} 3 else 2" for operator in sorted(COMPARISONS)),
        "1 if {} < 3 and {} > 1 else 2",
        "1 if not ({} < 3 or {} > 5) else 2",
        *(f"{name}({{}}, 3)" for name in ("min", "max")),
        "-{}",
        "abs({})",
    ],
)
def test_operators_of_integers_beside_floats_and_of_scalars_alone(computed: str):
    nest, steps = planned(
        "a: int32[n], x: float32[n], b: float32[n], c: int32[n], s: int32",
        "for i in range(n):\n"
        f" b[i] = float32({computed.replace('{}', 'a[i]')}) * x[i]\n"
        "for i in range(n):\n"
        f" c[i] = {computed.replace('{}', 's')}",
    )
    numbers = np.random.default_rng(0)
    values = {"a": numbers.integers(-9, 9, 12, np.int32), "x": random(12), "s": -5}
    require_golden(nest, optimise_plan(steps, reassociate=False), values)


def test_a_common_factor_is_taken_out_of_a_sum():
    nest = nest_of(
        "a: int32[n], b: int32[n], c: int32[n]", "for i in range(n): c[i] = a[i] * 7 + b[i] * 7"
    )
    (region,) = regions(plan(nest))
    assert count(optimise(region.graph, reassociate=False).graph, "*") == 1


def test_what_is_best_already_stays():
    (region,) = regions(plan(read_file(EXAMPLES / "vec_add.py")))
    assert optimise(region.graph, reassociate=True).graph is region.graph


def test_many_terms_that_commute_take_bounded_time():
    terms = " + ".join(f"a[i + {at}] * w[{at}]" for at in range(27))
    nest = nest_of(
        "a: float32[n], w: float32[27], b: float32[n]", f"for i in range(n - 27): b[i] = {terms}"
    )
    (region,) = regions(plan(nest))
    start = time.monotonic()
    found = optimise(region.graph, reassociate=True).graph
    assert time.monotonic() - start < 20
    assert graph_cost(found) <= graph_cost(region.graph)
