"""The nest that a plan computes has the plan's bits, where the source's order has others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise_plan
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.compiler.sram_compute.tdfg.run import run
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Binary, Nest
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32
from gnarl.sw.workloads.loops.python.source import read_file
from tests.support.sram_compute.tensor_graphs import nest_of

EXAMPLES = Path(__file__).parents[5] / "examples"


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape, np.float32)


def require_compiled_order(nest: Nest, steps: Any, values: dict[str, Any]) -> None:
    ordered, temporaries = compiled_order(nest, steps)
    assert temporaries
    found = run(nest, steps, bind(nest, values))
    wanted = GoldenLoops(ordered).run(bind(ordered, values))
    source = GoldenLoops(nest).run(bind(nest, values))
    for name in nest.results:
        assert found[name].tobytes() == wanted[name].tobytes()
        np.testing.assert_allclose(found[name], source[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "parameters, body, values",
    [
        ("a: float32[n], s: float32[1]", "for i in range(n): s[0] += a[i]", {"a": random(37)}),
        (
            "a: float32[n, m], s: float32[n, 1]",
            "for i in range(n):\n t = 0.5\n for j in range(1, m): t += a[i, j] * a[i, 0]\n"
            " s[i, 0] = t",
            {"a": random(5, 7)},
        ),
    ],
)
def test_sums_by_halves(parameters: str, body: str, values: dict[str, Any]):
    nest = nest_of(parameters, body)
    require_compiled_order(nest, plan(nest), values)


def test_sums_in_another_order():
    pytest.importorskip("egglog")
    nest = read_file(EXAMPLES / "conv2d.py")
    steps = optimise_plan(plan(nest), reassociate=True)
    values = {"a": random(6, 7), "corner": 0.1, "edge": 0.2, "middle": -0.3}
    require_compiled_order(nest, steps, values)


def test_without_sums_it_is_the_nest_itself():
    nest = read_file(EXAMPLES / "stencil2d.py")
    assert compiled_order(nest, plan(nest)) == (nest, frozenset())


def test_what_is_read_more_than_once_is_computed_once():
    """Four squares, each of the last one: written out, 16 loads of an element."""
    lines = ["t0 = a[i]", *(f"t{each + 1} = t{each} * t{each}" for each in range(4))]
    body = "\n ".join(("for i in range(n):", *lines, "s[0] += t4"))
    nest = nest_of("a: float32[n], s: float32[1]", body)
    values = {"a": np.float32(1) + random(5) / 16}
    require_compiled_order(nest, plan(nest), values)
    ordered, _ = compiled_order(nest, plan(nest))
    found = [each for each in nodes(ordered.body) if isinstance(each, Binary)]
    assert sum((each.operator, each.type) == ("*", FLOAT32) for each in found) == 4
