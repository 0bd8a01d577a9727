"""Limits of the fields, and what follows from them."""

from __future__ import annotations

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import ConfigError


@pytest.mark.parametrize(
    "field, least, greatest",
    [
        ("depth", 1, 4),
        ("banks", 8, 64),
        ("registers", 8, 256),
        ("pe_stages", 1, 10),
        ("fetch_stages", 3, 6),
        ("write_stages", 0, 1),
        ("fault_stages", 0, 1),
        ("instruction_words", 4, 1 << 20),
        ("data_rows", 4, 1 << 20),
    ],
)
def test_numbers_are_within_their_limits(field, least, greatest):
    for value in (least, greatest):
        assert getattr(DpuConfig(**{field: value}), field) == value
    for value in (least - 1, greatest + 1):
        with pytest.raises(ConfigError) as caught:
            DpuConfig(**{field: value})
        assert caught.value.violations == (
            f"{field} = {value}: must be a whole number from {least} to {greatest}",
        )


def test_banks_are_whole_trees():
    with pytest.raises(ConfigError) as caught:
        DpuConfig(depth=4, banks=24)
    assert caught.value.violations == ("banks = 24: must be a multiple of 2**depth = 16",)


def test_by_default_it_is_the_paper_s_large_one():
    assert DpuConfig().to_dict() == {
        "depth": 3,
        "banks": 64,
        "registers": 32,
        "format": "float32",
        "output_interconnect": "layered",
        "pe_stages": 1,
        "technology": "fpga",
        "fetch_stages": 3,
        "write_stages": 0,
        "fault_stages": 0,
        "instruction_words": 8192,
        "data_rows": 4096,
        "overlap": True,
    }


def test_what_follows():
    config = DpuConfig(depth=2, banks=24, pe_stages=3)
    assert (config.trees, config.tree_inputs, config.pes_per_tree, config.pes) == (6, 4, 3, 18)
    assert [config.layer_latency(layer) for layer in range(3)] == [1, 4, 7]
    assert (config.load_latency, config.drain_cycles) == (2, 7)


def test_registers_on_the_way_to_the_banks_delay_everything_else_only_its_own_end():
    config = DpuConfig(depth=2, pe_stages=3, fetch_stages=5, write_stages=1, fault_stages=1)
    assert [config.layer_latency(layer) for layer in range(3)] == [2, 5, 8]
    assert (config.load_latency, config.drain_cycles, config.start_cycles) == (3, 9, 5)
