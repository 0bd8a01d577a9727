"""Nests in the place of one: the same results, a loop to run ahead of in each."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.sequence import begun, in_sequence
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.sources import OPERATIONS
from tests.support.errors import noted
from tests.support.nests import shared_locals
from tests.support.nests.loop_interpreter import Stopped, interpret
from tests.support.nests.loop_nests import RandomNest, random_values
from tests.support.nests.shared_locals import SharedLocals

HEAD = """\
n, m = sizes('n', 'm')


@nest
def f(x: float32[n], o: int32[n + 1], y: float32[n], z: float32[n], w: float32[m]):
"""


def bodies(text: str, given: tuple[str, ...] = ()) -> list[str]:
    """Bodies of the nests in place of one, without indentation of their own."""
    found = in_sequence(read_source(HEAD + text, "f.py"), given)
    for nest in found:
        assert read_source(print_nest(nest), "f.py") == nest
    return [print_nest(nest).partition("):\n")[2] for nest in found]


SUMS = """\
    for i in range(n):
        for p in range(o[i], o[i + 1]):
            y[i] += x[p]
"""
SCALED = """\
    for i in range(n):
        z[i] = y[i] * x[i]
"""
IN_PLACE = """\
    for i in range(n):
        y[i] = max(y[i], 0.0)
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (SUMS, ("y",)),
        (SCALED, ()),
        (SCALED.replace("y[i]", "z[i]"), ("z",)),
        (SCALED + SCALED.replace("z[i] =", "y[i] = z[i] +"), ("y",)),
        ("    for i in range(n):\n        y[i] = 0.0\n        y[i] += x[i]\n", ()),
        ("    for i in range(n):\n        if z[i] > 0.0:\n            z[i] = 1.0\n", ("z",)),
        ("    for i in range(n):\n        if x[i] > 0.0:\n            z[i] = 1.0\n", ()),
        ("    for i in range(n - 1):\n        z[i + 1] = 0.0\n        y[i] = z[i]\n", ()),
    ],
)
def test_results_that_a_nest_reads_before_it_assigns_to_them(text: str, names: tuple[str, ...]):
    assert begun(read_source(HEAD + text, "f.py")) == names


def test_loops_one_after_the_other():
    assert bodies(SUMS + SCALED) == [SUMS, SCALED]


CARRIED_BACK = """\
    s = 1.0
    for i in range(n):
        for p in range(o[i], o[i + 1]):
            y[i] += x[p] * s
        for p in range(o[i], o[i + 1]):
            s = x[p]
"""
CHANGED_BEHIND_BOTH = """\
    s = 1.0
    for i in range(n):
        for p in range(o[i], o[i + 1]):
            y[i] += x[p] * s
        for p in range(o[i], o[i + 1]):
            z[i] += x[p]
        s = s * 0.5
"""
BOUND_CHANGED = """\
    k = n
    for i in range(k):
        k = 1
        for p in range(o[i], o[i + 1]):
            y[i] += x[p]
        for p in range(o[i], o[i + 1]):
            z[i] += x[p]
"""
BOTH_ASSIGN = """\
    s = 0.0
    for i in range(n):
        s = 0.0
        for p in range(o[i], o[i + 1]):
            y[i] += x[p]
        for p in range(o[i], o[i + 1]):
            s = x[p]
    z[0] = s
"""
LAST = """\
    for j in range(m):
        w[j] = x[j]
"""


@pytest.mark.parametrize(
    "text",
    (CARRIED_BACK, CHANGED_BEHIND_BOTH, BOUND_CHANGED, BOTH_ASSIGN),
    ids=("next", "behind both", "bound", "after"),
)
def test_loops_that_share_a_local_stay_together(text: str):
    """Iterations read what those before have assigned, the loop's end is known before it begins,
    and behind it stands what its last iteration has assigned."""
    assert bodies(text + LAST) == [text, LAST]


def test_a_local_of_each_part_alone_keeps_none_together():
    first = SUMS.replace(
        "            y[i] += x[p]\n", "            s = x[p]\n            y[i] += s\n"
    )
    second = first.replace("y[i]", "z[i]")
    both = first + "".join(second.splitlines(keepends=True)[1:])
    assert bodies(both + LAST) == [first, second, LAST]


def test_loops_that_only_work_on_results_stay_with_the_one_before():
    assert bodies(SUMS + IN_PLACE + SCALED + IN_PLACE) == [SUMS + IN_PLACE, SCALED + IN_PLACE]


def test_what_comes_first_stays_with_the_first():
    assert bodies(IN_PLACE + SUMS + SCALED) == [IN_PLACE + SUMS, SCALED]


def test_parameters_and_sizes_are_those_in_use():
    """What nothing uses is the first nest's."""
    nests = in_sequence(read_source(HEAD + SUMS + SCALED, "f.py"))
    assert [[each.name for each in nest.parameters] for nest in nests] == [
        ["x", "o", "y", "w"],
        ["x", "y", "z"],
    ]
    assert [[each.name for each in nest.sizes] for nest in nests] == [["n", "m"], ["n"]]


LOCAL = """\
    s = 0.0
    for i in range(n):
        s = s + x[i]
    y[0] = s
"""


def test_a_local_begins_where_it_is_needed():
    assert bodies(LOCAL + LOCAL.replace("y[0]", "z[0]")) == [
        LOCAL,
        LOCAL.replace("y[0]", "z[0]"),
    ]


@pytest.mark.parametrize(
    "text, given",
    [
        pytest.param(
            LOCAL + SCALED.replace("y[i]", "s"), (), id="a local goes from one to another"
        ),
        pytest.param(SCALED + SUMS, (), id="zeros that are read before they are written"),
        pytest.param(
            SUMS + SCALED.replace("range(n)", "range(m)").replace("x[i]", "x[0]"),
            (),
            id="a size that no array has",
        ),
        pytest.param(
            SUMS + SCALED.replace("range(n)", "range(o[0] // 2)"), (), id="a bound of no address"
        ),
        pytest.param(SUMS, (), id="one loop"),
        pytest.param(IN_PLACE + IN_PLACE, (), id="no loop that reads an array"),
    ],
)
def test_nests_that_stay(text: str, given: tuple[str, ...]):
    assert bodies(text, given) == [text]


def test_what_is_given_may_be_read_before_it_is_written():
    assert bodies(SCALED + SUMS, ("y",)) == [SCALED, SUMS]


TWO_BAGS = """\
    for i in range(n):
        for p in range(o[i], o[i + 1]):
            y[i] += x[p]
        y[i] = max(y[i], 0.0)
        for p in range(o[i], o[i + 1]):
            z[i] += x[p] * x[p]
"""


def test_a_loop_around_two_is_distributed():
    lines = TWO_BAGS.splitlines(keepends=True)
    assert bodies(TWO_BAGS) == ["".join(lines[:4]), "".join([lines[0], *lines[4:]])]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            TWO_BAGS.replace("z[i] += ", "z[i] += y[i] + ").replace(
                "+ x[p] * x[p]", "+ (x[p] * x[p])"
            ),
            id="the other's result",
        ),
        pytest.param(TWO_BAGS.replace("z[i]", "y[i]"), id="the same result"),
        pytest.param(
            TWO_BAGS.replace("(n):\n", "(n):\n        s = x[i]\n").replace("* x[p]", "* s"),
            id="a local",
        ),
    ],
)
def test_loops_that_are_not_distributed(text: str):
    assert bodies(text) == [text]


def test_named_operations_are_one_nest_each():
    for operation in OPERATIONS.values():
        assert in_sequence(operation.nest) == (operation.nest,)


def results(nests: tuple[Nest, ...], values: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """Bits by name, or that the nests stop."""
    known = dict(values)
    for nest in nests:
        verify(nest)
        own = {each.name for each in nest.parameters}
        inputs = {name: value for name, value in known.items() if name in own}
        used = {each.name: sizes[each.name] for each in nest.sizes}
        try:
            known |= interpret(nest, bind(nest, inputs, used))
        except Stopped:
            return Stopped
    return {name: known[name].tobytes() for nest in nests for name in nest.results}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_random_nests(seed: int):
    random = Random(seed)
    nest, values = RandomNest(random).nest(6), random_values(random)
    sizes = bind(nest, values).sizes
    for name in nest.results:
        if random.random() < 0.5:
            del values[name]
    found = in_sequence(nest, values)
    assert results(found, values, sizes) == results((nest,), values, sizes)
    assert len(found) > 1 or found[0] is nest


def check_shared_locals(seed: int) -> None:
    random = Random(seed)
    nest, values = SharedLocals(random).nest(), shared_locals.random_values(random)
    sizes = bind(nest, values).sizes
    assert results(in_sequence(nest, values), values, sizes) == results((nest,), values, sizes)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_nests_that_share_locals(first: int):
    for seed in range(first, first + 20):
        with noted(f"{seed=}"):
            check_shared_locals(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(80, 20_000, 240))
def test_more_random_nests_that_share_locals(first: int):
    for seed in range(first, first + 240):
        with noted(f"{seed=}"):
            check_shared_locals(seed)
