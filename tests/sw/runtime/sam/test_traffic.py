"""Bytes and cycles of memories, from counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory_map import memory_map
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.traffic import tensor_bytes, traffic
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from tests.hw.sam.graphs import INTERSECTION, small

WORDS = {"format": "float32", "index_bits": 32}

COUNTERS = {
    "reads_b_seg": 1,
    "reads_b_crd": 9,
    "reads_c_seg": 1,
    "reads_c_crd": 5,
    "reads_bvals_vals": 4,
    "reads_cvals_vals": 4,
    "write_fibers": 1,
    "write_entries": 4,
    "vals_entries": 4,
}
"""Of two vectors of 9 and 5 elements, 4 of them at the same places."""


def test_a_byte_count_by_hand() -> None:
    found = traffic(small(INTERSECTION, **WORDS), COUNTERS)
    assert found.bytes == 4 * (2 * 1 + 9 + 2 * 1 + 5 + 4 + 4 + 2 * 1 + 4 + 4)
    assert found.requests == {
        "b_seg": 1,
        "b_crd": 9,
        "c_seg": 1,
        "c_crd": 5,
        "bvals_vals": 4,
        "cvals_vals": 4,
        "write_seg": 1,
        "write_crd": 4,
        "vals_vals": 4,
    }


@pytest.mark.parametrize("name", ["matmul_ikj", "mat_sddmm", "vec_elemmul"])
def test_bytes_of_tensors_are_those_of_all(name: str) -> None:
    config = load_configuration("sam_fp32", (f"expression={SUITE[name]!r}",)).config
    assert isinstance(config, SamConfig) and config.graph is not None
    rng = np.random.default_rng(0)
    counters = {counter: int(rng.integers(1000)) for counter in memory_map(config).counters}
    found = tensor_bytes(config, config.graph, counters)
    assert found.keys() == parse(SUITE[name]).formats.keys()
    assert sum(found.values()) == traffic(config, counters).bytes


def test_words_have_the_width_of_their_array() -> None:
    found = traffic(small(INTERSECTION, format="float16", index_bits=12), COUNTERS)
    bits = 12 * (2 * 1 + 9 + 2 * 1 + 5 + 2 * 1 + 4) + 16 * (4 + 4 + 4)
    assert found.bytes == bits / 8


def test_a_byte_that_was_begun_counts() -> None:
    config = small(INTERSECTION, format="float16", index_bits=9)
    bits = 9 * (2 * 1 + 9 + 2 * 1 + 6 + 2 * 1 + 4) + 16 * (4 + 4 + 4)
    assert traffic(config, {**COUNTERS, "reads_c_crd": 6}).bytes == bits // 8 + 1


@pytest.mark.parametrize(
    ("machine", "cycles", "bound"),
    [
        ({}, 9, "memory of b_crd"),
        ({"memory": "shared", "memory_bandwidth": 1}, 33, "memory"),
        ({"memory": "shared", "memory_bandwidth": 2}, 17, "memory"),
        ({"memory": "shared", "memory_bandwidth": 8}, 9, "memory of b_crd"),
    ],
)
def test_what_memories_take_at_least(machine: dict[str, Any], cycles: int, bound: str) -> None:
    found = traffic(small(INTERSECTION, **machine), COUNTERS)
    assert (found.cycles, found.bound) == (cycles, bound)


@given(st.lists(st.integers(0, 1 << 30), min_size=len(COUNTERS), max_size=len(COUNTERS)))
def test_each_counted_row_adds_its_bytes(counts: list[int]) -> None:
    config = small(INTERSECTION, **WORDS)
    names = memory_map(config).counters
    counters = {**dict.fromkeys(names, 0), **dict(zip(COUNTERS, counts, strict=True))}
    found = traffic(config, counters)
    assert found.bytes == sum(
        count * (8 if name.endswith(("_seg", "_fibers")) else 4) for name, count in counters.items()
    )


def run_product(*overrides: str) -> tuple[Device, Any]:
    """A product of dense vectors of 20 elements, element by element."""
    device = Device(load_configuration("sam_fp32", overrides), "model")
    program = device.compile("x(i)=b(i)*c(i) -f=x:d -f=b:d -f=c:d")
    vector = np.arange(20) + 1.0
    result = device.run(program, {"b": vector, "c": vector})
    return device, device.target.presenter.figures(program, result)


def test_figures_of_a_run() -> None:
    """20 values each of b and c are read, and 20 written."""
    _, figures = run_product()
    assert (figures.operations, figures.bytes) == (20, 4 * 3 * 20)
    (launch,) = figures.launches.values()
    assert launch == {
        "ops": 20,
        "bytes": 240,
        "intensity": 20 / 240,
        "tensor_bytes": {"x": 80, "b": 80, "c": 80},
        "longest_stream": 22,
        "bounded_by": launch["bounded_by"],
    }
    assert not launch["bounded_by"].startswith("memory")
    assert figures.statistics["memory_cycles"] == 20


def test_a_run_that_memory_bounds() -> None:
    _, figures = run_product("memory=shared", "memory_bandwidth=1")
    (launch,) = figures.launches.values()
    assert (launch["memory_cycles"], launch["bounded_by"]) == (60, "memory")
    assert figures.bytes == 240
    chart = next(each for each in figures.charts if each.title.startswith("Requests"))
    assert "Requests of arrays, % of 1 a cycle" in chart.title
    assert [count for _, count in chart.bars] == [20, 20, 20]


def test_lines_that_a_run_moves() -> None:
    """Vectors of 20 words are five lines of 16 bytes each."""
    _, figures = run_product(
        "memory=lines", "line_bytes=16", "memory_channels=2", "line_cycles=8", "prefetch_lines=0"
    )
    (launch,) = figures.launches.values()
    assert launch["tensor_line_bytes"] == {"x": 80, "b": 80, "c": 80}
    assert launch["line_bytes"] == figures.statistics["line_bytes"] == 240
    # Each array begins in the first channel, which has three of its lines.
    assert (launch["memory_cycles"], launch["bounded_by"]) == (9 * 8, "memory channel 0")
    assert (figures.bytes, launch["bytes"]) == (240, 240)
    chart = next(each for each in figures.charts if each.title.startswith("Lines"))
    assert "memory: 240 bytes moved in lines, 1.00 times those of the rows" in figures.remarks
    assert chart.bars == [("vals_b_vals", 5), ("vals_c_vals", 5), ("write_x_vals_vals", 5)]


def test_a_line_counts_whole() -> None:
    config = small(INTERSECTION, **WORDS, memory="lines", memory_channels=1, line_cycles=3)
    names = memory_map(config).counters
    assert [name for name in names if name.startswith("lines_")] == [
        "lines_b_seg",
        "lines_b_crd",
        "lines_c_seg",
        "lines_c_crd",
        "lines_bvals_vals",
        "lines_cvals_vals",
        "lines_write_seg",
        "lines_write_crd",
        "lines_vals_vals",
        "lines_0",
    ]
    moved = {"lines_b_crd": 3, "lines_vals_vals": 2, "lines_0": 5}
    counters = {**dict.fromkeys(names, 0), **COUNTERS, **moved}
    found = traffic(config, counters)
    assert found.line_bytes == 64 * 5
    assert (found.cycles, found.bound) == (15, "memory channel 0")
    assert traffic(small(INTERSECTION, **WORDS), COUNTERS).line_bytes is None


@pytest.mark.parametrize(
    ("format", "index_bits", "bits"),
    [
        ("dd", 16, 6 * 32),
        ("ds", 16, 2 * 32 + (2 * 2 + 2) * 16),  # two rows, where they begin and where they end
        ("ss:1,0", 16, 2 * 32 + (2 + 2) * 16 + (2 * 2 + 2) * 16),  # two columns have an entry
        ("db", 32, 2 * 32 + 2 * 2 * 32),  # of each row a word, and the ones before it
    ],
)
def test_bytes_of_what_the_host_makes(format: str, index_bits: int, bits: int) -> None:
    matrix = np.array([[0, 2.0, 0], [0, 0, 3]])
    text = f"r(i,j)=slice[k:0:2](A(k,j)); y(i,j)=r(i,j)*r(i,j) -f=A:ds -f=r:{format} -f=y:{format}"
    machine = load_configuration("sam_fp32", (f"index_bits={index_bits}",))
    with Device(machine, "model") as device:
        result = device.run(device.compile((text, {"A": matrix})), {"A": matrix})
        figures = device.target.presenter.figures(result.program, result)
    assert figures.statistics["made_bytes"] == bits // 8
    assert figures.remarks[-1] == (
        f"host: makes r between launches, {bits // 8} bytes as stored, which are in no launch's"
    )
