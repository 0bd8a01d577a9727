"""Values that change while others of them are still in use, at all levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.compile import LEVELS
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import check

CONFIG = TmuConfig(lanes=4)

HEAD = "n, m = sizes('n', 'm')\n\n\n@nest\n"

SOURCES = {
    "exchange": """\
def f(x: float32[n], y: float32[n]):
    a = 0.0
    b = 1.0
    for i in range(n):
        t = a + x[i]
        a = b
        b = t
        y[i] = a
""",
    "sum_before": """\
def f(x: float32[n], y: int32[n], z: float32[n]):
    c = 0
    for i in range(n):
        q = c + 1
        c = c + i
        y[i] = q
        z[i] = x[i] + float32(q)
""",
    "count_of_elements": """\
def f(x: float32[n, m], y: float32[n, m], c: int32[1]):
    k = 0
    for i in range(n):
        for e in range(m):
            y[i, e] = x[i, e]
            k += 1
    c[0] = k
""",
    "loop_of_the_execute_unit": """\
def f(x: float32[n], y: float32[n]):
    a = 0.0
    for i in range(n):
        b = a + x[i]
        for e in range(3):
            a = a + b
        y[i] = a
""",
}


@pytest.mark.parametrize("opt", LEVELS)
@pytest.mark.parametrize("name", SOURCES)
def test_variables(name: str, opt: int):
    nest = read_source(HEAD + SOURCES[name], "file.py")
    shape = (6, 8)[: len(nest.arrays["x"].shape)]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check(nest, {"x": x}, CONFIG, opt)


def test_a_value_from_before_a_loop_that_may_have_changed():
    text = """\
def f(x: float32[n, m], y: float32[n], z: float32[n, m]):
    for i in range(n):
        s = y[i]
        y[i] = 0.0
        for e in range(m):
            z[i, e] = x[i, e] + s
"""
    values = {"x": np.ones((3, 4), np.float32), "y": np.ones(3, np.float32)}
    with pytest.raises(WorkloadError) as caught:
        check(read_source(HEAD + text, "file.py"), values, CONFIG, 0)
    assert str(caught.value) == (
        "file.py:7:13: a value that is read before a loop and used in or behind it: "
        "cannot be decoupled; --coupled runs it"
    )


@settings(max_examples=7, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=3),
    st.integers(1, 9),
    st.sampled_from(LEVELS),
)
def test_loops_that_run_again(loops: list[tuple[int, int]], dim: int, opt: int):
    """Counted variables begin anew in each run of their loop, at any bound."""
    names = "ijk"[: len(loops)]
    ends = [lower + count for count, lower in loops]
    shape, place = ", ".join([*map(str, ends), "m"]), ", ".join([*names, "e"])
    lines = [f"def f(x: float32[{shape}], y: float32[{shape}]):"]
    for depth, name in enumerate(names):
        bounds = f"{loops[depth][1]}, {ends[depth]}"
        lines.append(f"{'    ' * (depth + 1)}for {name} in range({bounds}):")
    inner = "    " * (len(names) + 1)
    lines += [f"{inner}for e in range(m):", f"{inner}    y[{place}] += x[{place}]", ""]
    x = np.random.default_rng(0).standard_normal((*ends, dim)).astype(np.float32)
    check(read_source(HEAD + "\n".join(lines), "file.py"), {"x": x}, CONFIG, opt)
