"""The simulator's cycles against those of RTL: of a list, and run anew."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.placement import own_places
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host import AcceleratorError
from gnarl.sw.runtime.report.stages import TimedStages, quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.model.streams import run_graph
from gnarl.sw.runtime.sam.model.tokens import ModelError
from gnarl.sw.runtime.sam.places import places_of
from gnarl.sw.runtime.sam.simulator.cycles import run_cycles
from gnarl.sw.runtime.sam.simulator.deadlock import DeadlockError
from gnarl.sw.runtime.sam.simulator.simulate import simulate
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.hw.sam.graphs import (
    INTERSECTION,
    STUCK,
    SUMMED_BY_CRD,
    column,
    load_vectors,
    machine,
    product,
    small,
)
from tests.hw.sam.test_top import LINES as LINE_MEMORY
from tests.support.sam.simulated import like_model
from tests.sw.compiler.sam.test_rtl_sample import MIXED, SMALL, random_inputs

STATEMENTS = {
    **SUITE,
    **MIXED,
    "blocks of values": (
        "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:dd -s=reorder(i,k,j) -s=block(j,4)"
    ),
    "lanes": SUITE["mat_sddmm"] + " -s=parallelize(i,4) -s=parallelize(j,2)",
    "merged lanes": SUITE["mat_elemmul"] + " -s=parallelize(i,3)",
    "many lanes": SUITE["mat_sddmm"] + " -s=parallelize(i,18)",
}
SIZES = {"i": 8, "j": 20, "k": 6, "l": 4}

BUILT = ("mat_ds_compression", "dense rows", "matmul_ikj")
"""Machines that other tests build, too."""


class Line(NamedTuple):
    """A line of the list; ``cycles`` is empty for a deadlock."""

    cycles: str
    statement: str
    seed: int
    changes: tuple[str, ...]


def _lines() -> list[Line]:
    lines = []
    for text in Path(__file__).with_name("cycles.txt").read_text().splitlines()[1:]:
        cycles, statement, seed, changes = (field.strip() for field in text.split("|"))
        lines.append(Line(cycles, statement, int(seed), tuple(changes.split())))
    return lines


LINES = _lines()
OF_STATEMENTS = [line for line in LINES if line.cycles]
(DEADLOCK,) = (line for line in LINES if not line.cycles)


@cache
def _compiled(line: Line) -> tuple[Program, dict[str, Any]]:
    text = STATEMENTS[line.statement]
    with Device(load_configuration("sam_fp32", (*SMALL, *line.changes)), "model") as device:
        return device.compile(text), random_inputs(text, SIZES, line.seed)


def test_the_list_has_eighteen_machines():
    assert len(LINES) == 18


@pytest.mark.parametrize("line", OF_STATEMENTS, ids=lambda line: line.statement)
def test_cycles_are_those_of_rtl(line: Line):
    assert like_model(*_compiled(line)).cycles == int(line.cycles)


@pytest.mark.parametrize(
    "line",
    [line for line in OF_STATEMENTS if line.statement in BUILT],
    ids=lambda line: line.statement,
)
def test_rtl_takes_as_many_and_counts_the_same(line: Line):
    program, inputs = _compiled(line)
    with Device(load_configuration("sam_fp32", (*SMALL, *line.changes))) as rtl:
        (run,) = rtl.run(program, inputs).launches
    simulated = like_model(program, inputs)
    assert run.finished.cycles == simulated.cycles == int(line.cycles)
    counters = simulated.counters | simulated.counts
    assert run.finished.counters == counters


def test_reads_of_a_search_are_those_of_rtl():
    """Rows that a search jumps over are not read; those that it reads in vain count."""
    vectors = {"b": {at: 1 for at in range(100)}, "c": {0: 1, 1: 2, 90: 3}}
    config = small(INTERSECTION, array_words=128)
    driver, _ = machine(config)
    load_vectors(driver, *vectors.values())
    driver.run(max_cycles=1000)
    arrays = {f"{name}_seg": np.array([[0, len(one)]]) for name, one in vectors.items()}
    arrays |= {f"{name}_crd": np.array([*one])[:, np.newaxis] for name, one in vectors.items()}
    arrays |= {f"{name}vals_vals": np.ones((len(one), 1)) for name, one in vectors.items()}
    words = {name: rows.astype(np.uint32) for name, rows in arrays.items()}
    run = simulate(INTERSECTION, config, words, {}, max_cycles=1000)
    assert driver.counters() == run.counters | run.counts
    assert driver.cycles() == run.cycles
    assert run.counters["reads_c_crd"] == 3
    assert run.counters["tokens_b_out_crd"] - 2 < run.counters["reads_b_crd"] < 50


def _line_machine(seed: int) -> dict[str, Any]:
    """Fields of a machine with a memory of lines."""
    rng = random.Random(seed)
    slots = rng.choice([2, 4, 8])
    return {
        "memory": "lines",
        "memory_channels": rng.choice([1, 2, 4]),
        "line_bytes": rng.choice([8, 16, 32]),
        "memory_latency": rng.choice([2, 3, 9, 20]),
        "line_cycles": rng.choice([1, 2, 5]),
        "port_lines": slots,
        "prefetch_lines": rng.randrange(slots),
        "memory_in_flight": rng.choice([2, 3, 8, 20]),
        "skip": rng.random() < 0.5,
        "queue_depth": rng.choice([2, 4, 8]),
        "array_words": 64,
    }


@pytest.mark.parametrize("seed", range(6))
def test_a_memory_of_lines_takes_as_many_cycles_as_on_rtl(seed: int):
    """Whatever its channels and ports are: each line moves in the same cycle."""
    config = small(INTERSECTION, **_line_machine(seed))
    driver, _ = machine(config)
    rng = random.Random(seed)
    for _ in range(3):
        b, c = (
            {at: rng.randrange(1, 9) for at in sorted(rng.sample(range(100), rng.randrange(60)))}
            for _ in range(2)
        )
        load_vectors(driver, b, c)
        driver.run(max_cycles=10_000)
        run = simulate(
            INTERSECTION,
            config,
            _vectors({"b": b, "c": c}),
            {},
            places_of(config, own_places(config)).of,
            max_cycles=10_000,
        )
        assert driver.cycles() == run.cycles
        assert driver.counters() == run.counters | run.counts
        assert product(driver) == {at: b[at] * c[at] & 0xFF for at in b.keys() & c.keys()}
        entries = run.counts["write_entries"]
        assert run.counters["lines_write_crd"] == -(-entries // (config.line_bytes // 4))


def _vectors(vectors: Mapping[str, Mapping[int, int]]) -> dict[str, np.ndarray]:
    """Arrays of operands of ``INTERSECTION``."""
    arrays = {f"{name}_seg": [[0, len(one)]] for name, one in vectors.items()}
    arrays |= {f"{name}_crd": list(one) for name, one in vectors.items()}
    arrays |= {f"{name}vals_vals": list(one.values()) for name, one in vectors.items()}
    return {
        name: np.array(rows, np.uint32).reshape(-1, 2 if name.endswith("_seg") else 1)
        for name, rows in arrays.items()
    }


def test_a_deadlock_in_front_of_a_memory_of_lines_is_one_on_rtl_too():
    config = small(STUCK, queue_depth=4, **LINE_MEMORY)
    driver, _ = machine(config)
    driver.write_window("vals_vals", column([1] * 8))
    driver.write_window("settings", [[5]])
    with pytest.raises(AcceleratorError, match="DEADLOCK"):
        driver.run(max_cycles=10_000)
    arrays = {"vals_vals": np.ones((8, 1), np.uint32)}
    places = places_of(config, own_places(config)).of
    with pytest.raises(DeadlockError, match="vals waits for room in the queue of 4 tokens"):
        simulate(STUCK, config, arrays, {("i", "size"): 5}, places, max_cycles=10_000)


def _rows(width: int) -> dict[str, np.ndarray]:
    """Operands of ``SUMMED_BY_CRD``: rows of ones of ever more columns, up to ``width``."""
    rows = [list(range(first, width)) for first in reversed(range(width + 1))]
    ends = np.cumsum([0, *map(len, rows)])
    entries = [crd for row in rows for crd in row]
    words = {
        "i_seg": np.array([[0, len(rows)]]),
        "i_crd": np.arange(len(rows))[:, np.newaxis],
        "j_seg": np.stack([ends[:-1], ends[1:]], axis=1),
        "j_crd": np.array(entries)[:, np.newaxis],
    }
    words |= {f"vals{lane}_vals": np.ones((len(entries), 1)) for lane in range(2)}
    return {name: rows.astype(np.uint32) for name, rows in words.items()}


def test_lanes_by_coordinate_take_as_many_cycles_as_on_rtl():
    """Their streams wait for each other: a lane that has nothing of a row has its stop."""
    config, arrays = small(SUMMED_BY_CRD, queue_depth=2), _rows(width=6)
    driver, _ = machine(config)
    for name, words in arrays.items():
        driver.write_window(name, words)
    driver.run(max_cycles=1000)
    run = simulate(SUMMED_BY_CRD, config, arrays, {}, max_cycles=1000)
    assert driver.cycles() == run.cycles
    assert driver.counters() == run.counters | run.counts
    assert run.written["write_vals"][:, 0].tolist() == list(range(7))
    model = run_graph(SUMMED_BY_CRD, config.format, arrays, {})
    np.testing.assert_array_equal(model.written["write_vals"], run.written["write_vals"])


def test_streams_that_disagree_are_a_fault_on_rtl_too():
    edges = [
        replace(edge, source="i") if (edge.target, edge.input) == ("deal", "crd") else edge
        for edge in SUMMED_BY_CRD.edges
    ]
    graph, arrays = replace(SUMMED_BY_CRD, edges=tuple(edges)), _rows(width=3)
    config = small(graph)
    driver, _ = machine(config)
    for name, words in arrays.items():
        driver.write_window(name, words)
    with pytest.raises(AcceleratorError, match="FAULT"):
        driver.run(max_cycles=1000)
    with pytest.raises(
        ModelError, match=r"block deal \(crdparallelizer\): sees something impossible"
    ):
        simulate(graph, config, arrays, {}, max_cycles=1000)


def _stuck(graph: Graph, values: int, depth: int) -> SimulatedRun:
    arrays = {"vals_vals": np.ones((values, 1), np.uint32)}
    config = small(graph, queue_depth=depth)
    return simulate(graph, config, arrays, {("i", "size"): values}, max_cycles=10_000)


def test_a_deadlock_is_one_on_rtl_and_says_who_waits():
    """One value more than a queue of 4 holds is too many for a sum that is added to all of them."""
    (depth,) = (int(change.partition("=")[2]) for change in DEADLOCK.changes)
    driver, _ = machine(small(STUCK, queue_depth=depth))
    driver.write_window("vals_vals", column([1] * 8))
    driver.write_window("settings", [[depth]])
    driver.run(max_cycles=100)
    assert _stuck(STUCK, depth, depth).cycles == driver.cycles()

    driver.write_window("settings", [[depth + 1]])
    with pytest.raises(AcceleratorError, match="DEADLOCK"):
        driver.run(max_cycles=10_000)
    with pytest.raises(DeadlockError) as caught:
        _stuck(STUCK, depth + 1, depth)
    assert str(caught.value) == (
        "deadlock: nothing moves from cycle 8 on: sums waits for a token in ref from sum, sum "
        "waits for a token in val from vals, vals waits for room in the queue of 4 tokens before "
        "add.val0, add waits for a token in val1 from sums"
    )
    assert isinstance(caught.value, GnarlError)


def test_what_is_compiled_first_is_a_stage_of_its_own():
    timed = TimedStages(quiet)
    with Device(load_configuration("sam_fp32"), "model", stages=timed) as device:
        result = device.run(device.compile("x(i)=b(i)"), {"b": [1.0, 2.0]})
    assert result.cycles
    assert "prepare simulator" in timed.seconds
    # A run compiles nothing for other types of arguments.
    assert len(run_cycles.signatures) == 1
