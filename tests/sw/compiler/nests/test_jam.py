"""Two iterations of a loop around a sum become one where loads may come before stores."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from xdsl.dialects import scf

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.jam import jam
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.compiler.nests.variables import to_variables
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.errors import noted
from tests.support.nests.dependent_runs import check_tmu

SIZES = {"n": 9, "m": 6}
SHAPES = {"a": (14,), "b": (14,), "x": (6,), "t": (9, 6), "u": (13, 10)}

_HEAD = """\
n, m = sizes('n', 'm')


@nest
def f(
    a: float32[n + 5], b: float32[n + 5], x: float32[m], t: float32[n, m], u: float32[n + 4, m + 4],
    i: int32[n], o: int32[n + 1],
):
"""


def nest_of(before: str, bounds: str, term: str, *behind: str, rows: str = "n") -> Nest:
    """``s`` begins as ``before``, and gets a term for each ``e`` of the inner loop."""
    lines = [f"for k in range({rows}):", f"    s = {before}", f"    for e in range({bounds}):"]
    lines += [f"        s += {term}", *(f"    {each}" for each in behind)]
    return read_source(_HEAD + "\n".join(f"    {each}" for each in lines) + "\n", "file.py")


TOGETHER = {
    "what it does not load": ("0.0", "m", "t[k, e]", "a[k] = s"),
    "its own element": ("a[k]", "m", "t[k, e]", "a[k] = s"),
    "two behind": ("a[k]", "m", "t[k, e]", "a[k + 2] = s"),
    "one ahead": ("a[k + 1]", "m", "t[k, e]", "a[k] = s"),
    "ahead in the sum": ("0.0", "m", "u[k + 1, e] * x[e]", "u[k, 1] = s"),
    "two rows behind in the sum": ("0.0", "m", "u[k, e] * x[e]", "u[k + 2, 1] = s"),
    "a column that the sum does not load": ("0.0", "m", "u[k, e] * x[e]", "u[k + 1, m] = s"),
    "stores of one element in order": ("0.0", "m", "t[k, e]", "a[0] = s", "b[k] = a[0]"),
    "a load behind the sum, of the iteration before": (
        ("0.0", "m", "t[k, e]", "b[k] = a[k] + s", "a[k + 1] = s")
    ),
    "a loop behind the sum": (
        *("0.0", "m", "t[k, e]"),
        "for c in range(m):\n            u[0, c] = u[0, c] + s * x[c]",
    ),
}
"""Sums that go two at a time."""

ALONE = {
    "one behind": ("a[k]", "m", "t[k, e]", "a[k + 1] = s"),
    "one element of all": ("a[3]", "m", "t[k, e]", "a[k] = s"),
    "one element that all write": ("a[k]", "m", "t[k, e]", "a[3] = s"),
    "the row before, in the sum": ("0.0", "m", "u[k, e] * x[e]", "u[k + 1, 1] = s"),
    "any element, in the sum": ("0.0", "m", "a[e] * t[k, e]", "a[k] = s"),
    "a loaded place": ("a[i[k]]", "m", "t[k, e]", "a[k] = s"),
    "stored at a loaded place": ("a[k]", "m", "t[k, e]", "a[i[k]] = s"),
    "in a loop behind the sum": (
        *("u[k, 0]", "m", "t[k, e]"),
        "for c in range(m):\n            u[k + 1, c] = s * x[c]",
    ),
    "where it is positive": (
        *("a[k]", "m", "t[k, e]"),
        "if s > 0.0:\n            a[k + 1] = s",
    ),
    "bounds of its own": ("0.0", "o[k], o[k + 1]", "x[e]", "a[k] = s"),
    "up to the iteration": ("0.0", "k", "u[k, e]", "a[k] = s"),
    "stored in the sum, too": ("0.0", "m", "t[k, e]\n            b[e] = s", "a[k] = s"),
}
"""Sums that do not."""


def values(rng: np.random.Generator) -> dict[str, np.ndarray]:
    found = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    found["i"] = rng.integers(0, 9, 9).astype(np.int32)
    found["o"] = np.sort(rng.integers(0, 7, 10)).astype(np.int32)
    return found


def check_run(nest: Nest, seed: int) -> None:
    """In the source's order, all bits are the golden model's."""
    given = values(np.random.default_rng(seed))
    workload = LoopWorkload("sums", nest, {name: given[name] for name in nest.arrays})
    check_tmu(workload, TmuConfig(lanes=4), coupled=True, reassociate=False)


@pytest.mark.parametrize("name", [*TOGETHER, *ALONE])
def test_sums_go_together_where_loads_may_come_sooner(name: str):
    nest = nest_of(*(TOGETHER | ALONE)[name])
    module = to_variables(to_scf(nest, SIZES))
    before, after = (
        sum(isinstance(each, scf.ForOp) for each in made.walk()) for made in (module, jam(module))
    )
    assert (after > before) == (name in TOGETHER)
    check_run(nest, 0)


def random_sum(random: Random) -> Nest:
    """Loads and stores at shifted, constant, loaded and transposed places, before the sum, in it
    and behind it."""

    def row() -> str:
        return random.choice(("k", "k", "k + 1", "k + 2", "k + 3", "n - k", "3", "i[k]"))

    def element() -> str:
        kinds = (f"a[{row()}]", f"b[{row()}]", f"u[{row()}, {random.randint(0, 9)}]")
        return random.choice(kinds)

    def term() -> str:
        kinds = (f"u[{row()}, e]", f"u[{row()}, e + 2]", "u[e, k]", "a[e]", "a[k + e]", element())
        return f"{random.choice(kinds)} * {random.choice(('t[k, e]', 'x[e]'))}"

    def behind() -> str:
        if random.random() < 0.2:
            return f"for c in range(m):\n            u[{row()}, c + 1] = s * {element()}"
        more = random.choice(("", f" + {element()}"))
        store = f"{element()} {random.choice(('=', '+='))} s{more}"
        if random.random() < 0.2:
            return f"if s > {element()}:\n            {store}"
        return store

    stores = [behind() for _ in range(random.randint(1, 3))]
    rows = random.choice(("n", "n", "1, n", "o[n]"))
    columns = random.choice(("m", "m", "1, m", "3"))
    return nest_of(random.choice(("0.0", element())), columns, term(), *stores, rows=rows)


@pytest.mark.parametrize("seed", range(4))
def test_random_sums(seed: int):
    check_run(random_sum(Random(seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2000, 50))
def test_many_random_sums(first: int):
    for seed in range(first, first + 50):
        with noted(f"{seed=}"):
            check_run(random_sum(Random(seed)), seed)
