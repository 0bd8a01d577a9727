"""Loop nests on the TMU's model: right bits at all levels, and what goes through the queues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.access_isa import StreamKind
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import LEVELS, compile
from gnarl.sw.compiler.tmu.record import read_dump
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_mean,
    embedding_bag_sum,
    embedding_bag_weighted,
    embedding_bag_weighted_mean,
)
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.parameters import slow_but_pairs
from tests.support.tmu.programs import bags, check

CONFIG = TmuConfig(lanes=4)
RAGGED = [3, 0, 5, 1, 0]

NESTS = {
    nest.name: nest
    for nest in (
        embedding_bag_sum,
        embedding_bag_weighted,
        embedding_bag_mean,
        embedding_bag_weighted_mean,
    )
}


@pytest.mark.parametrize("name, opt, dim", slow_but_pairs([*NESTS], LEVELS, (1, 6, 24, 132)))
def test_bags(name: str, opt: int, dim: int):
    check(NESTS[name], bags(np.random.default_rng(dim), RAGGED, dim), CONFIG, opt)


@pytest.mark.parametrize(
    "opt, tokens, words",
    [
        # Segments S, look-ups N, elements E, lanes V: as Ember's table II makes them.
        (0, "N * E", "3 * N * E"),
        (1, "N * E // V", "N * E + 2 * N * E // V"),
        (2, "N", "N * E + N"),
        (3, "N + S", "N * E"),
        (4, "N + S", "N * E"),
    ],
)
def test_what_goes_through_the_queues(opt: int, tokens: str, words: str):
    sizes = {"S": 5, "N": sum(RAGGED), "E": 24, "V": CONFIG.lanes}
    run = check(embedding_bag_sum, bags(np.random.default_rng(0), RAGGED, 24), CONFIG, opt)
    assert run.counters["tokens_queued"] == eval(tokens, sizes) + 1  # the end
    assert run.counters["words_queued"] == eval(words, sizes)


def test_level_0_needs_few_instructions_an_element():
    run = check(embedding_bag_sum, bags(np.random.default_rng(0), RAGGED, 24), CONFIG, 0)
    assert run.counters["instructions"] <= 7 * sum(RAGGED) * 24 + 2


def test_sums_stay_in_registers_at_level_4():
    """An instruction a vector, one a look-up, and what a segment, start and end cost."""
    run = check(embedding_bag_sum, bags(np.random.default_rng(0), RAGGED, 24), CONFIG, 4)
    vectors = 24 // CONFIG.lanes
    segment = 2 * vectors + 3
    assert run.counters["instructions"] == 2 + vectors + sum(RAGGED) * (vectors + 1) + 5 * segment


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(NESTS)),
    st.lists(st.integers(0, 4), max_size=4),
    st.integers(1, 40),
    st.sampled_from((2, 4, 8)),
    st.sampled_from(LEVELS),
    st.integers(0, 99),
)
def test_random_bags(name: str, lengths: list[int], dim: int, lanes: int, opt: int, seed: int):
    values = bags(np.random.default_rng(seed), lengths, dim)
    check(NESTS[name], values, TmuConfig(lanes=lanes, stream_words=64), opt)


def test_results_that_are_given_are_added_to():
    values = bags(np.random.default_rng(0), RAGGED, 8)
    values["out"] = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    for opt in LEVELS:
        check(embedding_bag_sum, values, CONFIG, opt)


def nest(text: str):
    head = "n, m = sizes('n', 'm')\n\n\n@nest\n"
    return read_source(head + text, "file.py")


@pytest.mark.parametrize("opt", LEVELS)
@pytest.mark.parametrize("count", (0, 1, 9))
def test_a_nest_without_a_loop_to_traverse(opt: int, count: int):
    """All of it is the execute unit's."""
    text = (
        "def f(y: float32[n], z: float32[n]):\n    for i in range(n):\n        y[i] = y[i] + 1.0\n"
        "    for i in range(1, n):\n        z[i] = z[i - 1] + y[i]\n"
    )
    y = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    run = check(nest(text), {"y": y, "z": 2 * y}, CONFIG, opt)
    assert run.counters["words_queued"] == 0


SCALARS = {
    "bound": (
        "def f(t: int32, a: float32[n]):\n    for s in range(0, t):\n"
        "        for i in range(0, n):\n            a[i] = a[i] * 2.0\n"
    ),
    "bound of the inner loop": (
        "def f(t: int32, x: float32[n], a: float32[n]):\n    for i in range(n):\n"
        "        for j in range(t):\n            a[i] += x[j]\n"
    ),
    "factor": (
        "def f(s: float32, x: float32[n], a: float32[n]):\n    for i in range(n):\n"
        "        a[i] = a[i] + s * x[i]\n"
    ),
    "index": (
        "def f(t: int32, x: float32[n, n], a: float32[n]):\n    for i in range(n):\n"
        "        a[i] = x[t, i] + x[i, t]\n"
    ),
    "in a choice": (
        "def f(t: int32, s: float32, x: float32[n], a: float32[n]):\n    for i in range(n):\n"
        "        if x[i] < s:\n            for j in range(i, n):\n"
        "                a[j] += x[j] * s\n"
    ),
}


@pytest.mark.parametrize("opt", LEVELS)
@pytest.mark.parametrize("name", SCALARS)
def test_scalars(name: str, opt: int):
    source = nest(SCALARS[name])
    values = {
        "t": np.int32(3),
        "s": np.float32(0.5),
        "a": np.arange(1, 6, dtype=np.float32),
        "x": np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32),
    }
    if name != "index":
        values["x"] = values["x"][0]
    inputs = {each: values[each] for each in (*source.arrays, *source.scalars)}
    check(source, inputs, CONFIG, opt)


@pytest.mark.parametrize("opt", LEVELS)
def test_nothing_is_streamed_that_nothing_needs(opt: int):
    """The row of a stream that is not queued is another one's."""
    text = (
        "def f(s: float32, t: int32, x: float32[n], a: float32[n]):\n    u = s\n"
        "    for j in range(t):\n        for i in range(n):\n            a[i] += x[i]\n"
    )
    values = {"s": np.float32(-1), "t": np.int32(2), "x": np.ones(5, np.float32)}
    run = check(nest(text), values, CONFIG, opt)
    streams = [
        stream
        for layer in access_of(run.program.launches[0]).layers
        for unit in layer.units
        for stream in unit.streams
    ]
    assert all(each.queued for each in streams if each.kind == StreamKind.MEMORY)


@pytest.mark.parametrize("opt", LEVELS)
def test_choices_of_the_execute_unit(opt: int):
    text = (
        "def f(x: float32[n], y: float32[n], z: float32[n]):\n"
        "    for i in range(n):\n"
        "        if x[i] < 0.5:\n"
        "            y[i] = x[i]\n"
        "        else:\n"
        "            y[i] = 2.0\n"
        "            z[i] = x[i] + 1.0\n"
    )
    x = np.random.default_rng(0).standard_normal(11).astype(np.float32)
    zeros = np.zeros(11, np.float32)
    check(nest(text), {"x": x, "y": zeros, "z": zeros}, CONFIG, opt)


def test_a_nest_deeper_than_layers():
    values = bags(np.random.default_rng(0), RAGGED, 8)
    with pytest.raises(CapacityError) as caught:
        check(embedding_bag_sum, values, TmuConfig(layers=2), 0)
    assert str(caught.value).endswith(": layers = 2: must be at least 3")


def test_arrays_larger_than_memory():
    values = bags(np.random.default_rng(0), RAGGED, 8, rows=1024)
    config = TmuConfig(memory_bytes=1 << 14, l1_bytes=1 << 10, l2_bytes=1 << 11)
    with pytest.raises(CapacityError) as caught:
        check(embedding_bag_sum, values, config, 0)
    assert str(caught.value) == (
        "memory_bytes = 16384: must be at least 65536, for arrays of 33088 bytes"
    )


@pytest.mark.parametrize(
    "bounds, is_ordered",
    [
        ("x[i], x[i + 1]", True),
        ("x[i]", True),
        ("x[i] + 1, x[i + 1]", False),
        ("1, x[i]", False),
        ("i, 2", False),
    ],
)
def test_bounds_that_may_decrease(bounds: str, is_ordered: bool):
    """Bounds that memory has are errors of the access unit, others are empty loops."""
    text = (
        "def f(x: int32[n + 1], y: float32[n], z: float32[m]):\n"
        "    for i in range(n):\n"
        f"        for j in range({bounds}):\n"
        "            y[i] += z[j]\n"
    )
    values = {"x": np.array([0, 0, 0, 2, 2], np.int32), "z": np.ones(3, np.float32)}
    run = check(nest(text), values, CONFIG, 1)
    layers = access_of(run.program.launches[0]).layers
    *outer, inner = (layer.units[0].ordered for layer in layers)
    assert not any(outer) and inner is is_ordered


def test_a_step_beyond_a_stride():
    text = (
        "def f(x: float32[n], y: float32[n]):\n    for i in range(0, n, {}):\n        y[i] = x[i]\n"
    )
    values = {"x": np.ones(5000, np.float32), "y": np.zeros(5000, np.float32)}
    check(nest(text.format(4095)), values, CONFIG, 1)
    for step in (4096, 8192):
        with pytest.raises(CapacityError) as caught:
            check(nest(text.format(step)), values, CONFIG, 1)
        assert str(caught.value) == f"file.py:6:5: a step of {step}: must be at most 4095"


@pytest.mark.parametrize("dim, opt", [(7, 1), (8, 0), (8, 1), (8, 2), (8, 3), (8, 4)])
def test_results_that_begin_at_an_offset(dim: int, opt: int):
    """As parts of a row have them: vectors, too."""
    text = (
        "def f(x: float32[n, m], o: int32[n], y: float32[n, m + 9]):\n"
        "    for i in range(n):\n"
        "        for j in range(m):\n"
        "            y[i, j + 3] += x[o[i], j]\n"
    )
    x = np.random.default_rng(dim).standard_normal((5, dim)).astype(np.float32)
    run = check(nest(text), {"x": x, "o": np.array([4, 1, 1, 0, 3], np.int32)}, CONFIG, opt)
    if opt < 2:
        steps = dim if opt == 0 else -(-dim // CONFIG.lanes)
        assert run.counters["tokens_queued"] == 5 * steps + 1


def test_a_dump_needs_no_option():
    """It goes on to the same program; one option that it has already is refused."""
    workload = LoopWorkload("f", nest("def f(y: float32[n]):\n    y[0] = 1.0\n"), {}, {"n": 2})
    texts: list[str] = []
    trace = Trace(write=lambda _, dumps: texts.append(dumps["mlir"]))
    program = compile(workload, CONFIG, trace=trace)
    dump = read_dump(texts[0], "a.mlir")
    again = compile(dump, CONFIG, trace=Trace()).launches[0].sections
    for name, words in program.launches[0].sections.items():
        np.testing.assert_array_equal(again[name], words)
    with pytest.raises(WorkloadError, match=r"^--ref: a\.mlir has its own: must be left out$"):
        compile(dump, CONFIG, trace=Trace(), ref=True)
