"""The Verilog of machines: clean for linter and synthesis, and the same every time."""

from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.top import build
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.machine.verilate import lint
from gnarl.sw.workloads.tensor.parser import parse
from tests.hw.sam.graphs import INTERSECTION, STUCK, small
from tests.support.machines.generations import under_another_hash_seed
from tests.support.machines.yowasp import sound, yosys


def kernel(name: str) -> Graph:
    return lower(parse(SUITE[name]))


POOL = {"root": 1, "fiberlookup": 2, "union": 1, "alu": 1, "arrayvals": 1, "fiberwrite": 1}
CONFIGS: dict[str, tuple[Graph | None, dict[str, Any]]] = {
    "intersection": (INTERSECTION, {"memory": "shared", "memory_bandwidth": 4}),
    "no_powers_of_two": (STUCK, {"array_words": 77, "queue_depth": 3, "alu_stages": 2}),
    "deep": (STUCK.with_depths({("add", "val0"): 65, ("sums", "repsig"): 1000}), {}),
    "shared_slow": (
        STUCK,
        {"memory": "shared", "memory_bandwidth": 1, "memory_latency": 20, "memory_in_flight": 5},
    ),
    "lines": (INTERSECTION, {"memory": "lines", "memory_channels": 2, "prefetch_lines": 2}),
    "few_lines": (
        STUCK,
        {"memory": "lines", "memory_channels": 1, "line_bytes": 8, "port_lines": 2}
        | {"prefetch_lines": 0, "memory_latency": 2, "memory_in_flight": 2},
    ),
    "sized": (INTERSECTION, {"arrays": {"b": 1, "write_seg": 2, "write_crd": 77, "vals": 300}}),
    "sized_fabric": (None, {"fabric": POOL, "arrays": {"arrayvals_0": 5, "fiberlookup_1_seg": 1}}),
    "uncounted": (INTERSECTION, {"counters": False}),
    "fabric": (None, {"fabric": POOL | {"valwrite": 1, "reduce_add": 1}}),
    "shared_fabric": (None, {"fabric": POOL, "memory": "shared", "memory_latency": 1}),
}


def config(name: str) -> SamConfig:
    graph, fields = CONFIGS[name]
    return small(graph, **fields)


@pytest.mark.parametrize("name", CONFIGS)
def test_lint_finds_nothing(name):
    assert lint(to_verilog(build(config(name)), name), name) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITE)
def test_lint_finds_nothing_in_kernels(name):
    verilog = to_verilog(build(SamConfig(graph=kernel(name))), "sam")
    assert lint(verilog, "sam") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["intersection", "shared_fabric", "lines", "few_lines"])
def test_synthesis_finds_no_latch_no_loop_and_no_conflict(name, tmp_path):
    (tmp_path / "design.v").write_text(to_verilog(build(config(name)), "sam"))
    yosys(tmp_path, sound("sam"))


def test_two_generations_under_different_hash_seeds_are_the_same():
    text = to_verilog(build(config("shared_fabric")), "sam")
    assert "module sam(" in text
    assert under_another_hash_seed(config("shared_fabric")) == text
