"""Configurations of in-SRAM computing: what is refused, and what follows from them."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sram_compute.config import SramConfig


def test_defaults():
    config = SramConfig()
    assert config.tiles == 64
    assert config.memory_lines == 131_072
    assert config.line_cycles == 80
    assert "float32.divide" in config.operations
    assert SramConfig(formats=["float16"]).digest == SramConfig(formats=("float16",)).digest


@pytest.mark.parametrize(
    "banks, bandwidth, cycles", [(1, 0.2, 320), (64, 0.2, 5), (4, 16, 1), (4, 64, 1), (2, 0.3, 107)]
)
def test_lines_have_memory_for_whole_cycles(banks, bandwidth, cycles):
    assert SramConfig(banks=banks, bandwidth=bandwidth).line_cycles == cycles


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"banks": 3}, "banks = 3: must be a power of two"),
        ({"arrays": 0}, "arrays = 0: must be a whole number from 1 to 256"),
        ({"banks": 1, "arrays": 1}, "arrays = 1: must be at least 2 where there is one bank"),
        ({"wordlines": 32}, "wordlines = 32: must be a whole number from 64 to 512"),
        ({"bitlines": 96}, "bitlines = 96: must be a power of two"),
        ({"bandwidth": 0}, "bandwidth = 0: must be a number from 0.01 to 64"),
        ({"bandwidth": float("nan")}, "bandwidth = nan: must be a number from 0.01 to 64"),
        ({"latency": 1}, "latency = 1: must be a whole number from 2 to 1000"),
        ({"network_bits": 512}, "network_bits = 512: must be a whole number from 1 to 256"),
        (
            {"network_bits": 128, "bitlines": 64},
            "network_bits = 128: must be at most bitlines = 64",
        ),
        ({"tree_bits": 3}, "tree_bits = 3: must be a power of two"),
        ({"network_bits": 1}, "tree_bits = 2: must be at most network_bits = 1"),
        (
            {"formats": ("float64",)},
            "formats = ('float64',): must be different ones of float32, float16, bfloat16, "
            "float8_e5m2, float8_e4m3",
        ),
        (
            {"formats": ("float16", "float16")},
            "formats = ('float16', 'float16'): must be different ones of float32, float16, "
            "bfloat16, float8_e5m2, float8_e4m3",
        ),
        ({"near_lanes": 2}, "near_lanes = 2: must be a whole number from 0 to 1"),
        ({"core_lanes": 17}, "core_lanes = 17: must be a whole number from 0 to 16"),
        ({"core_lanes": 6}, "core_lanes = 6: must be one of 0, 2, 4, 8, 16"),
        ({"core_instructions": 100}, "core_instructions = 100: must be a power of two"),
        ({"core_loads": 0}, "core_loads = 0: must be a whole number from 1 to 32"),
        (
            {"lowering_cycles": -1},
            "lowering_cycles = -1: must be a whole number from 0 to 1000000",
        ),
        (
            {"core_lanes": 2, "memory_bytes": 1 << 14, "core_cache_bytes": 1 << 15},
            "core_cache_bytes = 32768: must be at most memory_bytes = 16384",
        ),
        ({"skip": 1}, "skip = 1: must be true or false"),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ConfigError) as caught:
        SramConfig(**fields)
    assert str(caught.value) == text


def test_what_is_for_the_compiler_alone_changes_no_hardware():
    assert SramConfig(lowering_cycles=7).digest == SramConfig().digest
    assert SramConfig(latency=7).digest != SramConfig().digest


def test_all_bad_fields_are_named():
    with pytest.raises(ConfigError) as caught:
        SramConfig(banks=65, bandwidth="fast", skip=None)
    assert [violation.field for violation in caught.value.violations] == [
        "banks",
        "bandwidth",
        "skip",
    ]
