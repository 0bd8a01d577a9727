"""Limits of the fields."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.config import SamConfig


@pytest.mark.parametrize(
    "field, least, greatest",
    [
        ("index_bits", 8, 32),
        ("queue_depth", 2, 1024),
        ("stream_latency", 1, 2),
        ("array_words", 16, 1 << 24),
        ("accumulator_words", 32, 1 << 22),
        ("alu_stages", 1, 8),
        ("local_latency", 1, 2),
        ("memory_latency", 1, 256),
        ("memory_bandwidth", 1, 8),
        ("memory_in_flight", 1, 64),
        ("memory_channels", 1, 32),
        ("line_bytes", 8, 256),
        ("line_cycles", 1, 64),
        ("port_lines", 2, 64),
    ],
)
def test_numbers_are_within_their_limits(field, least, greatest):
    for value in (least, greatest):
        assert getattr(SamConfig(**{field: value}, prefetch_lines=0), field) == value
    for value in (least - 1, greatest + 1):
        with pytest.raises(ConfigError) as caught:
            SamConfig(**{field: value})
        assert caught.value.violations[0] == (
            f"{field} = {value}: must be a whole number from {least} to {greatest}"
        )


@pytest.mark.parametrize(
    "field",
    ["accumulator_words", "memory_bandwidth", "memory_channels", "line_bytes", "port_lines"],
)
def test_some_are_powers_of_two(field):
    value = 3 * getattr(SamConfig(), field) // 2
    with pytest.raises(ConfigError) as caught:
        SamConfig(**{field: value})
    assert caught.value.violations == (f"{field} = {value}: must be a power of two",)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"prefetch_lines": 4}, "prefetch_lines = 4: must be below port_lines, which is 4"),
        (
            {"memory": "lines", "memory_latency": 1},
            "memory_latency = 1: must be at least 2 for a memory of lines",
        ),
        (
            {"memory": "lines", "memory_in_flight": 1},
            "memory_in_flight = 1: must be at least 2 for a memory of lines",
        ),
    ],
)
def test_fields_of_a_memory_of_lines_agree(fields, problem):
    with pytest.raises(ConfigError) as caught:
        SamConfig(**fields)
    assert caught.value.violations == (problem,)


def test_widths_of_streams():
    config = SamConfig(format="float16", index_bits=12)
    kinds = ("val", "crd", "ref", "repsig", "bv")
    assert [config.stream_width(kind) for kind in kinds] == [16, 12, 12, 4, 32]
