"""Stores past the execute unit: right bits, no words and no tokens, and nothing outside."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.tmu.access_isa import EventKind
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.block_gather import block_gather
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.tmu.programs import Run, check

CONFIG = TmuConfig(lanes=4)


def nest(body: str) -> Nest:
    """A nest of ``x``, ``at``, ``ends`` and results ``y``, ``z``."""
    head = "n, r, m = sizes('n', 'r', 'm')\n\n\n@nest\ndef f(\n"
    head += "    x: float32[r, m], v: float32[n], at: int32[n], ends: int32[n + 1],\n"
    return read_source(head + body, "file.py")


def values(n: int, r: int, m: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((r, m)).astype(np.float32),
        "v": rng.standard_normal(n).astype(np.float32),
        "at": rng.integers(0, max(r, 1), n).astype(np.int32),
        "ends": np.sort(rng.integers(0, n + 1, n + 1)).astype(np.int32),
    }


def stores(run: Run) -> int:
    """Steps of events that store."""
    return sum(
        step.kind == EventKind.STORE
        for layer in access_of(run.program.launches[0]).layers
        for steps in layer.events.values()
        for step in steps
    )


ROWS = "    y: float32[n, m],\n):\n    for i in range(n):\n        for e in range(m):\n"


@pytest.mark.parametrize("dim", (1, 3, 6, 12, 17))
@pytest.mark.parametrize("batch", (0, 1, 5))
def test_a_gather_takes_no_words_and_no_tokens(batch: int, dim: int):
    run = check(
        nest(f"{ROWS}            y[i, e] = x[at[i], e]\n"), values(batch, 3, dim), CONFIG, 4
    )
    assert stores(run) == 1
    assert run.counters == {"instructions": 2, "words_queued": 0, "tokens_queued": 1}


@pytest.mark.parametrize(
    "body, count",
    [
        # At another place, in two arrays, and one value for all columns.
        (
            "    y: float32[n + 2, m],\n):\n"
            "    for i in range(n):\n        for e in range(m):\n"
            "            y[i + 2, e] = x[at[i], e]\n",
            1,
        ),
        (
            "    y: float32[m, n], z: float32[n, m],\n):\n"
            "    for i in range(n):\n        for e in range(m):\n"
            "            y[e, i] = x[at[i], e]\n            z[i, e] = x[at[i], e]\n",
            2,
        ),
        (
            "    y: float32[n, m], z: float32[n, m],\n):\n"
            "    for i in range(n):\n        for e in range(m):\n"
            "            y[i, e] = v[i]\n            z[i, e] = x[at[i], e]\n",
            2,
        ),
        # Behind a loop, and twice the same place, of which the last one stays.
        (
            "    y: float32[n], z: float32[n, m],\n):\n"
            "    for i in range(n):\n        for e in range(m):\n"
            "            z[i, e] = x[at[i], e]\n        y[i] = v[i]\n",
            2,
        ),
        (f"{ROWS}            y[0, e] = x[at[i], e]\n", 1),
        (f"{ROWS}            y[i, e] = x[at[i], e]\n            y[i, e] = v[i]\n", 2),
        # Places of fibers, and named ones.
        (
            "    y: float32[n, m],\n):\n"
            "    for i in range(n):\n        for p in range(ends[i], ends[i + 1]):\n"
            "            for e in range(m):\n                y[p, e] = x[at[p], e]\n",
            1,
        ),
        (
            "    y: float32[r, m],\n):\n"
            "    for i in range(n):\n        for e in range(m):\n"
            "            y[at[i], e] = x[at[i], e]\n",
            1,
        ),
        ("    y: int32[n],\n):\n    for i in range(n):\n        y[i] = at[i]\n", 1),
        # What is computed, and what is read, is the execute unit's; and what goes to a place that
        # its own loop loads.
        ("    y: float32[r],\n):\n    for i in range(n):\n        y[at[i]] = v[i]\n", 0),
        (f"{ROWS}            y[i, e] = x[at[i], e] * 2.0\n", 0),
        (f"{ROWS}            y[i, e] = x[at[i], e]\n            y[i, e] += v[i]\n", 0),
    ],
)
def test_what_is_stored(body: str, count: int):
    for dim in (1, 6, 12):
        run = check(nest(body), values(5, 4, dim), CONFIG, 4)
        assert stores(run) == count, dim


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("place, read", [("i, j, e + 3", "j, e"), ("j, i + 2, e", "j, e")])
def test_shifted_places_of_arrays_without_elements(place: str, read: str, level: int):
    """Arrays end before the first of the places."""
    shape = ", ".join(
        {"i": "n", "j": "r", "e": "m"}[each[0]] + each[1:] for each in place.split(", ")
    )
    body = f"    y: float32[{shape}],\n):\n"
    body += "    for i in range(n):\n        for j in range(r):\n            for e in range(m):\n"
    body += f"                y[{place}] = x[{read}]\n                y[{place}] += v[i + 4]\n"
    check(nest(body), values(0, 1, 2), CONFIG, level)


@pytest.mark.parametrize("dim, count", [(4, 0), (8, 0), (9, 1), (12, 1)])
def test_short_rows_of_whole_vectors_are_left(dim: int, count: int):
    run = check(nest(f"{ROWS}            y[i, e] = x[at[i], e]\n"), values(5, 3, dim), CONFIG, 4)
    assert stores(run) == count


def test_arrays_are_left_for_which_there_is_no_room():
    """There are too few streams: level 4 takes what level 3 does."""
    for streams in (2, 3, 4, 8):
        config = TmuConfig(lanes=4, streams=streams)
        rng = np.random.default_rng(0)
        inputs = {
            "key": rng.standard_normal((5, 2, 6)).astype(np.float32),
            "blocks": rng.integers(0, 5, (3, 2)).astype(np.int32),
        }
        assert stores(check(block_gather, inputs, config, 4)) == (streams > 2)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((2, 4, 8)))
def test_random_gathers(seed: int, lanes: int):
    gather(seed, lanes)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((2, 4, 8)))
def test_many_random_gathers(seed: int, lanes: int):
    gather(seed, lanes)


def gather(seed: int, lanes: int) -> None:
    """Loops in any order, some of none; indices in any order, shifted, of one array or of two, some
    through ``at``; at any level."""
    random = Random(seed)
    loops = ["i in range(n)", "j in range(r)", "e in range(m)"]
    random.shuffle(loops)
    shape = random.sample([("n", "i"), ("r", "j"), ("m", "e")], 3)
    given, names = (", ".join(column) for column in zip(*shape, strict=True))
    # An index is not loaded by its own loop.
    row = random.choice(["j", "at[i]"]) if "i" not in loops[-1] else "j"
    value = random.choice([f"x[{row}, e]", "v[i]", f"w[{row}, e + 3]"])
    plus = random.choice([0, 0, 3])
    text = f"    w: float32[r, m + 3], y: float32[{given} + {plus}],\n):\n"
    for depth, loop in enumerate(loops, 1):
        text += f"{'    ' * depth}for {loop}:\n"
    text += f"{'    ' * 4}y[{names} + {plus}] = {value}\n"
    r, m = random.randint(0, 4), random.choice([0, 1, 2, 7, 8, 19])
    n = 0 if r == 0 and row == "at[i]" else random.choice([0, 1, 1, 4, 5])
    config = TmuConfig(lanes=lanes, stream_words=64, requests=4)
    w = np.random.default_rng(seed).standard_normal((r, m + 3)).astype(np.float32)
    check(nest(text), values(n, r, m, seed) | {"w": w}, config, random.randint(0, 4))
