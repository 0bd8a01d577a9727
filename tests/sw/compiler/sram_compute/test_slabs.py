"""Arrays that banks have no room for: slabs leave what nests mean in the model's memory."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.lower.lower import OutsideError
from gnarl.sw.compiler.sram_compute.slabs import SlabCodeGenerator, Slabs
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_file
from tests.support.sram_compute.lowered_memory import execute_slabs
from tests.support.sram_compute.tensor_graphs import nest_of

EXAMPLES = Path(__file__).parents[4] / "examples"

FEW = SramConfig(
    banks=2, arrays=2, wordlines=256, bitlines=64, memory_bytes=1 << 17, latency=2, bandwidth=32
)
"""256 bitlines."""


def random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    chance = np.random.default_rng(len(shape))
    if dtype != np.float32:
        return chance.integers(-100, 100, shape, dtype)
    return chance.standard_normal(shape, np.float32)


def require_golden(nest: Nest, values: dict[str, Any], tile: Any = None) -> Slabs:
    steps, binding = plan(nest), bind(nest, values)
    slabs = SlabCodeGenerator(nest, steps, FEW).generate(binding, tile)
    found = execute_slabs(slabs, nest, binding.arrays, FEW)
    ordered, _ = compiled_order(nest, steps, slabs.orders)
    wanted = GoldenLoops(ordered).run(bind(ordered, values))
    for name in nest.results:
        assert found[name].tobytes() == wanted[name].tobytes(), name
    return slabs


@pytest.mark.parametrize(
    "name, values, count",
    [
        ("vec_add", {"a": random(1000), "b": random(1000)}, 4),
        ("stencil1d", {"a": random(700), "b": random(700), "steps": 2}, 16),
        ("stencil2d", {"a": random(40, 16), "b": random(40, 16), "steps": 2}, 12),
        ("conv2d", {"a": random(33, 19), "corner": 0.1, "edge": 0.2, "middle": -0.3}, 6),
        ("mm", {"a": random(50, 3), "b": random(3, 16)}, 4),
    ],
)
def test_examples(name: str, values: dict[str, Any], count: int):
    slabs = require_golden(read_file(EXAMPLES / f"{name}.py"), values)
    assert len(slabs.slabs) == count


@pytest.mark.parametrize(
    "parameters, body, values",
    [
        # Lines of the narrowest type are whole, and arrays need not have one size.
        (
            "a: int8[n], b: int32[n + 20], c: int16[n]",
            "for i in range(n):\n b[i] = int32(a[i]) * 3\n c[i] = c[i] + int16(a[i])",
            {"a": random(500, dtype=np.int8), "c": random(500, dtype=np.int16)},
        ),
        # Halos on one side, of several rows, and rows that nothing writes.
        (
            "a: int32[n, m], b: int32[n, m]",
            "for i in range(5, n - 2):\n for j in range(m): b[i, j] = a[i - 5, j] - a[i, j]",
            {"a": random(61, 16, dtype=np.int32), "b": random(61, 16, dtype=np.int32)},
        ),
        # How far rows move follows from loops in order; results are smaller than operands.
        (
            "a: int32[n + 4, m], w: int32[5, 1], b: int32[n, m]",
            "for k in range(5):\n for i in range(n):\n  for j in range(m):\n"
            "   b[i, j] += a[i + k, j] * w[k, 0]",
            {"a": random(64, 16, dtype=np.int32), "w": random(5, 1, dtype=np.int32)},
        ),
        # A row is copied to all rows of a slab; sums along rows stay within slabs.
        (
            "a: float32[n, m], v: float32[1, m], s: float32[n, 1]",
            "for i in range(n):\n for j in range(m): s[i, 0] += a[i, j] * v[0, j]",
            {"a": random(45, 16), "v": random(1, 16)},
        ),
        # Several statements, of which later ones read what others wrote; three dimensions.
        (
            "a: int32[p, n, m], b: int32[p, n, m], c: int32[p, n, m]",
            """
for i in range(1, p):
    for j in range(n):
        for k in range(m): b[i, j, k] = a[i, j, k] + a[i - 1, j, k]
for i in range(p):
    for j in range(1, n):
        for k in range(m): c[i, j, k] = max(b[i, j - 1, k], 3)
""",
            {"a": random(11, 4, 16, dtype=np.int32)},
        ),
    ],
)
def test_nests(parameters: str, body: str, values: dict[str, Any]):
    slabs = require_golden(nest_of(parameters, body), values)
    assert len(slabs.slabs) > 1
    assert len({slab.code.tiling.tile for slab in slabs.slabs}) == 1


class RandomRows:
    """Statements that write rows of c and d from rows of a and b, moved by some, rows of w, which
    all slabs have, and what they wrote before."""

    parameters = (
        "a: int16[n + 3, m], b: int16[n, m], w: int16[3, m], c: int16[n, m], d: int16[n, m]"
    )

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def body(self) -> str:
        lines = [self._statement() for _ in range(self._chance.randint(1, 3))]
        if self._chance.random() < 0.3:
            inner = "\n".join(lines).replace("\n", "\n ")
            return f"for k in range({self._chance.choice((0, 1, 2))}):\n {inner}"
        return "\n".join(lines)

    def _statement(self) -> str:
        chance = self._chance
        target = f"{chance.choice('cd')}[i, j]"
        value = self._expression(chance.randint(1, 3))
        low, high = chance.randint(2, 4), chance.randint(2, 4)
        stored = f"{target} {chance.choice(['=', '+='])} {value}"
        return f"for i in range({low}, n - {high}):\n for j in range(2, m - 2): {stored}"

    def _expression(self, depth: int) -> str:
        chance = self._chance
        if depth == 0 or chance.random() < 0.3:
            column = chance.choice([f"j + {chance.randint(-2, 2)}", str(chance.randint(0, 6))])
            array, row = chance.choice(
                [
                    ("a", f"i + {chance.randint(-1, 3)}"),
                    ("b", f"i + {chance.randint(-2, 2)}"),
                    ("w", str(chance.randint(0, 2))),
                    (chance.choice("cd"), "i"),
                ]
            )
            return f"{array}[{row}, {column}]"
        left, right = self._expression(depth - 1), self._expression(depth - 1)
        return f"({left} {chance.choice('+-*')} {right})"


@settings(max_examples=15)
@given(st.integers(0, 1 << 32), st.integers(13, 60))
def test_random_rows(seed: int, rows: int):
    nest = nest_of(RandomRows.parameters, RandomRows(Random(seed)).body())
    assume(not refusals(plan(nest)))
    numbers = np.random.default_rng(seed)
    shapes = {"a": (rows + 3, 16), "b": (rows, 16), "w": (3, 16), "c": (rows, 16), "d": (rows, 16)}
    values = {name: numbers.integers(-50, 50, shape, np.int16) for name, shape in shapes.items()}
    assert len(require_golden(nest, values).slabs) != 1


def test_loops_without_iterations_have_no_slabs():
    """Rows depend on each other, so that each iteration has slabs of its own; here there is
    none."""
    body = """
for j in range(m - 2, 0, -1):
    for i in range(n - 1, 0, -1): b[i, j] = b[i - 1, j - 1] + b[i, j - 1] + a[i]
"""
    nest = nest_of("a: float32[n], b: float32[n, m]", body)
    steps = plan(nest, serial=True)
    binding = bind(nest, {"a": random(300), "b": random(300, 2)})
    slabs = SlabCodeGenerator(nest, steps, FEW).generate(binding, None)
    assert (slabs.slabs, slabs.estimate, slabs.returns, slabs.orders) == ((), 0, 0, {})
    assert not len(slabs.places.numbers)


def test_a_given_tile_is_that_of_all_slabs():
    nest = read_file(EXAMPLES / "stencil2d.py")
    values = {"a": random(40, 16), "b": random(40, 16), "steps": 1}
    slabs = require_golden(nest, values, (16, 4, 1))
    assert {slab.code.tiling.tile for slab in slabs.slabs} == {(16, 4, 1)}
    assert len(require_golden(nest, values, "best").slabs) > 1


@pytest.mark.parametrize(
    "parameters, body, values, reason",
    [
        (
            "a: int32[n, m], b: int32[n, m]",
            "for i in range(n):\n for j in range(m): b[i, j] = a[0, j] + a[i, j]",
            {"a": (100, 16)},
            r"^a: a row of it is copied to all others$",
        ),
        (
            "a: int32[n], s: int32[1]",
            "for i in range(n): s[0] += a[i]",
            {"a": (1000,)},
            r"^a: its rows become one$",
        ),
        (
            "a: int32[n]",
            "for i in range(n - 1): a[i] = a[i + 1]",
            {"a": (1000,)},
            r"^a: rows are read that another slab writes$",
        ),
        (
            "a: int32[n, 1], b: int32[m]",
            "for j in range(m): b[j] = a[0, 0] + b[j]",
            {"a": (1, 1), "b": (1000,)},
            r"^b: has no dimension 1 of the lattice$",
        ),
    ],
)
def test_what_has_no_slabs_is_refused(
    parameters: str, body: str, values: dict[str, tuple[int, ...]], reason: str
):
    nest = nest_of(parameters, body)
    arrays = {name: np.zeros(shape, np.int32) for name, shape in values.items()}
    with pytest.raises(WorkloadError, match=reason):
        SlabCodeGenerator(nest, plan(nest), FEW).generate(bind(nest, arrays), None)


def test_accesses_are_checked_on_whole_arrays():
    nest = nest_of("a: int32[n], b: int32[n]", "for i in range(n): b[i] = a[i + 1]")
    message = r"^f\.py:2:\d+: a: index 1000 in dimension 0: must be at least 0 and less than 1000$"
    with pytest.raises(OutsideError, match=message):
        SlabCodeGenerator(nest, plan(nest), FEW).generate(
            bind(nest, {"a": np.zeros(1000, np.int32)}), None
        )


def test_rows_that_do_not_fit_are_refused():
    nest = nest_of(
        "a: int32[n, m], b: int32[n, m]",
        "for i in range(n):\n for j in range(m): b[i, j] = a[i, j]",
    )
    with pytest.raises(CapacityError, match=r"for a lattice of 1008 in 16 tiles of 64 "):
        SlabCodeGenerator(nest, plan(nest), FEW).generate(
            bind(nest, {"a": np.zeros((3, 1000), np.int32)}), None
        )
