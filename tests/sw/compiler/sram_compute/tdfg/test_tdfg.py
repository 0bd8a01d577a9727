"""From loop nests to tDFGs: graphs, what they mean, and why some nests have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, refusals, regions
from gnarl.sw.compiler.sram_compute.tdfg.run import run
from gnarl.sw.compiler.sram_compute.tdfg.text import dot, text
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.python.source import read_file
from tests.support.sram_compute.tensor_graphs import planned, require_golden

EXAMPLES = Path(__file__).parents[5] / "examples"


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def integers(*shape: int, most: int = 100) -> np.ndarray:
    return np.random.default_rng(1).integers(-most, most, shape, np.int32)


def printed(parameters: str, body: str) -> list[str]:
    return [line.strip() for line in text(planned(parameters, body)[1])]


def test_a_stencil_is_moves_and_computations():
    assert printed("a: float32[n], b: float32[n]", "for i in range(1, n - 1): b[i] = a[i - 1]") == [
        "region:",
        "lattice n",
        "%0 = tensor a : float32 [0, n-2)",
        "%1 = mv %0 dim=0 dist=1 : float32 [1, n-1)",
        "b[1, n-1) = %1",
    ]


def test_an_outer_product_is_broadcast_in_both_dimensions():
    found = [line.strip() for line in text(plan(read_file(EXAMPLES / "mm.py")))]
    assert found == [
        "for k in range(0, inner, 1):",
        "region:",
        "lattice lattice0 x lattice1",
        "%0 = tensor c : float32 [0, columns) x [0, rows)",
        "%1 = tensor a : float32 [k, k+1) x [0, rows)",
        "%2 = bc %1 dim=0 dist=-k count=columns : float32 [0, columns) x [0, rows)",
        "%3 = tensor b : float32 [0, columns) x [k, k+1)",
        "%4 = bc %3 dim=1 dist=-k count=rows : float32 [0, columns) x [0, rows)",
        "%5 = cmp * %2, %4 : float32 [0, columns) x [0, rows)",
        "%6 = cmp + %0, %5 : float32 [0, columns) x [0, rows)",
        "c[0, columns) x [0, rows) = %6",
    ]


def test_dot_has_an_edge_for_each_operand():
    found = list(dot(plan(read_file(EXAMPLES / "vec_add.py"))))
    assert found[0] == "digraph {"
    assert [line.strip() for line in found if "->" in line] == [
        "r0_0 -> r0_2;",
        "r0_1 -> r0_2;",
        "r0_2 -> r0_out0;",
    ]


@pytest.mark.parametrize(
    "parameters, body, values",
    [
        # The loop's variable may be anywhere in the array.
        (
            "a: int32[n], b: int32[n + 2]",
            "for i in range(n): b[i + 2] = a[i] * 3",
            {"a": integers(7)},
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(-1, n - 1): b[i + 1] = a[i + 1]",
            {"a": integers(7)},
        ),
        # A part is read by all: broadcasts along one or both dimensions.
        (
            "a: int32[n, m], b: int32[n, m]",
            "for i in range(n):\n for j in range(m): b[i, j] = a[i, 2] + a[1, j] - a[0, 0]",
            {"a": integers(4, 5)},
        ),
        # Locals, conditions, choices.
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n):\n t = a[i] * 2\n u = t + 1\n b[i] = u if t > 3 else t",
            {"a": integers(9, most=5)},
        ),
        (
            "a: int32[n], b: int32[n]",
            (
                "for i in range(n):\n if a[i] < 0: b[i] = -a[i]\n else: "
                "b[i] = 1 if a[i] == 0 and not a[i] > 7 else 2"
            ),
            {"a": integers(9, most=3)},
        ),
        # What is read is what was there before: an anti-dependence is none to a tensor.
        ("a: int32[n]", "for i in range(n - 1): a[i] = a[i + 1] + 1", {"a": integers(9)}),
        # Statements one after the other.
        (
            "a: int32[n], b: int32[n], c: int32[n]",
            "for i in range(n):\n b[i] = a[i] + 1\n c[i] = b[i] * 2",
            {"a": integers(9)},
        ),
        (
            "a: int32[n], b: int32[n], c: int32[n]",
            "for i in range(1, n):\n b[i] = a[i] + 1\n c[i] = b[i - 1] * 2",
            {"a": integers(9)},
        ),
        # A row that is not among those that are written.
        (
            "a: int32[n, m]",
            (
                "for k in range(n - 1):\n for i in range(k + 1, "
                "n):\n  for j in range(m): a[i, j] -= a[k, j]"
            ),
            {"a": integers(4, 3)},
        ),
        # Sums of integers, extrema, sums in locals.
        ("a: int32[n], s: int32[1]", "for i in range(n): s[0] += a[i]", {"a": integers(37)}),
        (
            "a: int32[n, m], s: int32[n, 1]",
            "for i in range(n):\n for j in range(m): s[i, 0] = max(s[i, 0], a[i, j])",
            {"a": integers(5, 7)},
        ),
        (
            "a: int32[n, m], s: int32[n, 1]",
            "for i in range(n):\n t = 5\n for j in range(1, m): t += a[i, j] * 2\n s[i, 0] = t",
            {"a": integers(5, 7)},
        ),
        (
            "a: int32[n, m], s: int32[1]",
            "for i in range(n):\n for j in range(m): s[0] += a[i, j]",
            {"a": integers(5, 7)},
        ),
        # A loop of few iterations is unrolled where its variable makes an index with another.
        (
            "a: float32[n], w: float32[3], b: float32[n]",
            "for i in range(n - 2):\n for k in range(3): b[i] += a[i + k] * w[k]",
            {"a": random(9), "w": random(3, seed=2)},
        ),
        # Gathers: transposed, strided, through an index.
        (
            "a: int32[n, m], b: int32[m, n]",
            "for i in range(m):\n for j in range(n): b[i, j] = a[j, i]",
            {"a": integers(3, 5)},
        ),
        (
            "a: int32[n], b: int32[m]",
            "for i in range(m): b[i] = a[2 * i + 1]",
            {"a": integers(9), "b": integers(4)},
        ),
        (
            "a: int32[n], p: int32[m], b: int32[m]",
            "for i in range(m): b[i] = a[p[i] + 1]",
            {"a": integers(9), "p": np.array([3, 0, 7], np.int32)},
        ),
        (
            "a: int32[n], p: int32[m], s: int32[1]",
            "for i in range(m): s[0] += a[p[i]]",
            {"a": integers(9), "p": np.array([3, 0, 7], np.int32)},
        ),
        # Empty, and types.
        (
            "a: int32[n], b: int32[n]",
            "for i in range(2, n - 2): b[i] = a[i - 2]",
            {"a": integers(1)},
        ),
        (
            "a: int8[n], b: uint8[n], c: float32[n]",
            (
                "for i in range(n):\n a[i] *= 5\n b[i] += "
                "uint8(a[i])\n c[i] = float32(a[i]) / 3.0 - sqrt(2.0)"
            ),
            {"a": np.arange(-5, 5, dtype=np.int8), "b": np.full(10, 250, np.uint8)},
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n): b[i] = (a[i] << 3) // 7 % 5 - (a[i] >> 2)",
            {"a": integers(9)},
        ),
    ],
)
def test_graphs_mean_what_nests_mean(parameters: str, body: str, values: dict[str, Any]):
    nest, steps = planned(parameters, body)
    assert refusals(steps) == ()
    require_golden(nest, steps, values)


def examples() -> dict[str, dict[str, Any]]:
    vector, matrix = random(37), random(9, 11)
    return {
        "vec_add": {"a": vector, "b": vector[::-1].copy()},
        "stencil1d": {"a": vector, "b": vector, "steps": 3},
        "stencil2d": {"a": matrix, "b": matrix, "steps": 2},
        "conv2d": {"a": matrix, "corner": 0.1, "edge": 0.2, "middle": -0.3},
        "mm": {"a": matrix, "b": matrix.T.copy()},
    }


@pytest.mark.parametrize("name", examples())
def test_examples_mean_what_nests_mean(name: str):
    nest = read_file(EXAMPLES / f"{name}.py")
    steps = plan(nest, reassociate=False)
    assert refusals(steps) == ()
    require_golden(nest, steps, examples()[name])


def test_floats_have_the_bits_of_the_golden_model():
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 3e38, -1.5], np.float32)
    left, right = np.meshgrid(special, special)
    body = """
for i in range(n):
    for j in range(m):
        c[i, j] = min(a[i, j], b[i, j]) + max(b[i, j], a[i, j]) * -a[i, j]
        d[i, j] = abs(a[i, j]) if a[i, j] < b[i, j] else a[i, j] / b[i, j]
"""
    names = "abcd"
    nest, steps = planned(", ".join(f"{name}: float32[n, m]" for name in names), body)
    require_golden(nest, steps, {"a": left.copy(), "b": right.copy()})


@pytest.mark.parametrize(
    "parameters, body, reason",
    [
        (
            "a: int32[n]",
            "for i in range(1, n): a[i] = a[i - 1] + 1",
            (
                "f.py:2:34: a is read here and written at f.py:2:27 by another "
                "iteration: its value is carried from one to the next"
            ),
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n):\n t = a[i]\n a[i] = b[i]\n b[i] = t",
            (
                "f.py:3:10: what a is here is used behind f.py:4:6, where it is written: must be "
                "used before"
            ),
        ),
        (
            "a: int32[n, 1], b: int32[n, m]",
            "for i in range(n):\n for j in range(m):\n  a[i, 0] += b[i, j]\n  b[i, j] = a[i, 0]",
            (
                "f.py:5:17: a is read here and written at f.py:4:7 by another iteration: its value "
                "is carried from one to the next"
            ),
        ),
        (
            "a: int32[n], k: int32",
            "for i in range(k): a[i] = 1",
            (
                "f.py:2:20: a bound of i has k: must be affine in sizes and the "
                "variables of loops that run in order, for iterations to make a box"
            ),
        ),
        (
            "a: int32[n], p: int32[m]",
            "for i in range(p[0]): a[i] = 1",
            "f.py:2:20: a bound of i is loaded: must be affine in sizes",
        ),
        ("a: int32[n, n]", "for i in range(n):\n for j in range(i): a[i, j] = 1", None),
        (
            "a: int32[n]",
            "for i in range(0, n, 2): a[i] = 1",
            "f.py:2:5: i steps by 2: must be by 1",
        ),
        (
            "a: int32[n], p: int32[n]",
            "for i in range(n): a[p[i]] = 1",
            (
                "f.py:2:24: a is written where its index in dimension 0 says: "
                "must be a loop's variable and a number, or a number"
            ),
        ),
        (
            "a: int32[n]",
            "for i in range(n): a[0] = i",
            (
                "f.py:2:24: a is written by all iterations of i: each "
                "must write elements of its own, or add to one"
            ),
        ),
        (
            "a: int32[n]",
            "for i in range(n): a[i] = i",
            "f.py:2:31: i is used as a value: only scalars and sizes may be",
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n): b[i] = b[i] // a[i]",
            "f.py:2:31: a quotient of integers may be an error: must be by a number other than 0",
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n):\n if i > 0: b[i] = a[i - 1]",
            "f.py:3:9: i is used as a value: only scalars and sizes may be",
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n): b[i] = a[i - 1] if a[i] > 0 else 0",
            "f.py:2:31: a is read under a condition, perhaps outside of the array",
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n): b[i] = 1 + a[i - 1] if a[i] > 0 else 0",
            "f.py:2:35: a is read under a condition, perhaps outside of the array",
        ),
        (
            "a: int32[n], b: int32[n]",
            "for i in range(n):\n t = 0\n for j in range(n): t = a[j] - t\n b[i] = t",
            (
                "f.py:4:29: t carries a value from one iteration "
                "of j to the next: must be a sum, min or max"
            ),
        ),
    ],
)
def test_why_a_nest_has_no_graph(parameters: str, body: str, reason: str | None):
    _, steps = planned(parameters, body)
    found = [each.reason for each in refusals(steps)]
    assert found == ([] if reason is None else [reason])


def test_float_sums_keep_the_order_of_the_source_if_asked():
    source = "a: float32[n], s: float32[1]", "for i in range(n): s[0] += a[i]"
    reason = "f.py:2:24: a sum of float32 in another order: must be as the source says"
    assert [each.reason for each in refusals(planned(*source, reassociate=False)[1])] == [reason]
    nest, steps = planned(*source)
    values = random(5)
    found = run(nest, steps, bind(nest, {"a": values}))["s"]
    a, b, c, d, e = values
    assert found[0] == ((a + e) + c) + (b + d)


def test_iterations_that_leave_an_array_are_errors():
    nest, steps = planned("a: int32[n], b: int32[n]", "for i in range(n): b[i] = a[i + 1]")
    message = r"^f\.py:2:31: a: index 4 in dimension 0: must be at least 0 and less than 4$"
    with pytest.raises(WorkloadError, match=message):
        run(nest, steps, bind(nest, {"a": integers(4)}))


def test_graphs_have_no_sizes():
    nest, steps = planned(
        "a: int32[n, m], b: int32[n, m]",
        "for i in range(n):\n for j in range(1, m): b[i, j] = a[i, j - 1]",
    )
    for shape in ((3, 4), (1, 9), (0, 3)):
        require_golden(nest, steps, {"a": integers(*shape)})
    assert len(regions(steps)) == 1


def test_an_inner_product_becomes_an_outer_one():
    """So that every element is added to in the source's order."""
    source = (
        "a: int32[n, p], b: int32[p, m], c: int32[n, m]",
        (
            "for i in range(n):\n for j in range(m):\n  for k "
            "in range(p): c[i, j] += a[i, k] * b[k, j]"
        ),
    )
    nest, steps = planned(*source, reassociate=False, streams=False)
    assert [type(step).__name__ for step in steps] == ["Repeat"]
    assert refusals(steps) == ()
    require_golden(nest, steps, {"a": integers(3, 4), "b": integers(4, 5)})


def test_gathers_are_refused_where_nothing_gathers():
    source = (
        "a: int32[n, m], b: int32[m, n]",
        "for i in range(m):\n for j in range(n): b[i, j] = a[j, i]",
    )
    (step,) = refusals(planned(*source, streams=False)[1])
    assert step.reason == (
        "f.py:3:35: a is gathered: must be read where its indices, from the last one on, are those "
        "of what is written, each with a number, or fixed"
    )
