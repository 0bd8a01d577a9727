"""The Verilog of a whole system."""

from __future__ import annotations

import re

import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.top import build
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.parameters import slow_but

CONFIGS = {
    "one bank": SramConfig(
        banks=1, arrays=2, wordlines=64, bitlines=64, memory_bytes=1 << 14, formats=()
    ),
    "a core": SramConfig(
        banks=1,
        arrays=2,
        wordlines=64,
        bitlines=64,
        memory_bytes=1 << 14,
        formats=(),
        core_lanes=2,
        core_instructions=16,
        core_cache_bytes=1 << 10,
        core_loads=1,
    ),
    "stream engines": SramConfig(
        banks=2,
        arrays=1,
        wordlines=64,
        bitlines=64,
        memory_bytes=1 << 14,
        network_bits=32,
        formats=(),
        near_lanes=1,
        core_lanes=2,
        core_instructions=16,
        core_cache_bytes=1 << 10,
        core_loads=1,
    ),
    "banks of one array": SramConfig(
        banks=4,
        arrays=1,
        wordlines=64,
        bitlines=64,
        memory_bytes=1 << 14,
        tree_bits=1,
        network_bits=1,
        formats=(),
        skip=False,
    ),
}


@pytest.fixture
def text(name):
    return to_verilog(build(CONFIGS[name]), "top")


@pytest.mark.parametrize("name", slow_but(["one bank", "stream engines"], CONFIGS))
def test_lint_finds_nothing_and_equal_parts_are_one_module(name, text):
    assert lint(text, "top") == []
    modules = re.findall(r"^module (\S+?) ?\(", text, re.M)
    assert len(set(modules)) == len(modules)
    kinds = ("bank", "shifting_array", "compute_array", "exchange_port", "tree_port")
    for kind in (*kinds, "layout_walker", "line_transposer"):
        assert [each for each in modules if each.startswith(f"top_{kind}")] == [f"top_{kind}"]
    lanes = CONFIGS[name].core_lanes or CONFIGS[name].near_lanes
    assert [each for each in modules if each.startswith("top_lane")][:1] == ["top_lane"][:lanes]
