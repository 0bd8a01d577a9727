"""Nests of constant bounds at level 4: right bits, no tokens, and sums of both halves at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_sum
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import Run, bags, check

CONFIG = TmuConfig(lanes=4)
HEAD = """\
n, k, m, r = sizes('n', 'k', 'm', 'r')


@nest
def f(
    x: float32[r, m], z: float32[r, m], y: float32[m], w: float32[n], at: int32[n],
    one: float32[n], two: float32[n, k],
):
    for i in range(n):
"""
NESTS = {
    "dot products": (
        "s = 0.0",
        "for e in range(m):",
        "    s += x[at[i], e] * z[at[i], e]",
        "one[i] = s",
    ),
    "norms": (
        "s = 1.0",
        "for e in range(m):",
        "    s += x[at[i], e] * x[at[i], e]",
        "one[i] = sqrt(s)",
    ),
    "two sums, with weights": (
        "s = 0.0",
        "t = 2.0",
        "for e in range(m):",
        "    s += w[i] * x[at[i], e]",
        "    t += abs(x[at[i], e] - y[e])",
        "one[i] = s - t",
    ),
    "three loops": (
        "for j in range(k):",
        "    s = 0.0",
        "    for e in range(m):",
        "        s += (x[at[i], e] - y[e]) * (x[at[i], e] - y[e])",
        "    two[i, j] = s",
    ),
    "no sums by lanes": (
        "s = 0.0",
        "for e in range(m):",
        "    s = x[at[i], e] - s",
        "one[i] = s",
    ),
}


def nest(name: str) -> Nest:
    return read_source(HEAD + "".join(f"        {line}\n" for line in NESTS[name]), "file.py")


def values(n: int, k: int, m: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((5, m)).astype(np.float32),
        "z": rng.standard_normal((5, m)).astype(np.float32),
        "y": rng.standard_normal(m).astype(np.float32),
        "w": rng.standard_normal(n).astype(np.float32),
        "at": rng.integers(0, 5, n).astype(np.int32),
        "one": np.zeros(n, np.float32),
        "two": np.zeros((n, k), np.float32),
    }


def run(name: str, n: int, k: int, m: int, config: TmuConfig = CONFIG, **options: object) -> Run:
    return check(nest(name), values(n, k, m), config, 4, **options)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(NESTS)),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(1, 70),
    st.sampled_from((2, 4, 8)),
    st.booleans(),
)
def test_right_bits_without_tokens(
    name: str, n: int, k: int, m: int, lanes: int, reassociate: bool
):
    config = TmuConfig(lanes=lanes, data_words=64)
    found = run(name, n, k, m, config, reassociate=reassociate)
    assert found.counters["tokens_queued"] == 0


@pytest.mark.parametrize("name", ("dot products", "norms"))
@pytest.mark.parametrize("m, vectors", [(24, 2), (20, 1), (22, 1), (4, 1), (8, 2)])
def test_sums_of_halves(name: str, m: int, vectors: int):
    """Loops of an even number of whole vectors have two streams of each operand."""
    operands = {"dot products": 2, "norms": 1}[name]
    (launch,) = run(name, 3, 1, m).program.launches
    (unit,) = access_of(launch).layers[-1].units
    assert len(unit.streams) == 1 + operands * vectors


def test_both_halves_have_partial_sums():
    """Where a vector of each half takes fewer instructions than a sum takes cycles."""
    run("norms", 2, 1, 48, TmuConfig(lanes=2))


def test_rows_are_kept_where_registers_suffice_for_the_counted_nest():
    """Not only for the nest before its iterations are counted."""
    run("three loops", 2, 4, 65, TmuConfig(lanes=4, data_words=64))


def test_halves_that_streams_do_not_suffice_for():
    config = TmuConfig(lanes=4, streams=4)
    (launch,) = run("dot products", 3, 1, 24, config).program.launches
    (unit,) = access_of(launch).layers[-1].units
    assert len(unit.streams) == 3


def test_branches_have_tokens():
    text = (
        "n = sizes('n')\n\n\n@nest\ndef f(x: float32[n], z: float32[n]):\n"
        "    for i in range(n):\n        if x[i] < 0.5:\n            z[i] = x[i] + 1.0\n"
    )
    x = np.random.default_rng(0).standard_normal(11).astype(np.float32)
    zeros = np.zeros(11, np.float32)
    found = check(read_source(text, "file.py"), {"x": x, "z": zeros}, CONFIG, 4)
    assert found.counters["tokens_queued"] == len(x) + 1


def test_bounds_of_words_have_tokens():
    found = check(embedding_bag_sum, bags(np.random.default_rng(0), [2, 3], 8), CONFIG, 4)
    assert found.counters["tokens_queued"] == 2 + 5 + 1


def test_ends_of_iterations_stand_before_the_next_inner_loop():
    """With rows too long to be written out: what stands behind a row's loop, its store among it, is
    in the block that begins the next row's."""
    (launch,) = run("norms", 5, 1, 512).program.launches
    words = launch.sections["instructions"].tolist()
    code = [Instruction.decoded(tuple(each)).opcode for each in words]
    begins = [place for place, opcode in enumerate(code) if opcode == Opcode.LOOP]
    first, around, second = begins
    assert Opcode.STORE not in code[:around]
    assert code[around:second].count(Opcode.STORE) == 1
    assert code[second:].count(Opcode.STORE) == 1
