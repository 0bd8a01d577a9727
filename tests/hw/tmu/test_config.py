"""Configurations of a TMU core: what is refused, and what follows from them."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.tmu.config import TmuConfig


def test_defaults():
    config = TmuConfig()
    assert config.memory_words == 2 * 1024 * 1024
    assert config.memory_lines == 131_072
    assert (config.address_bits, config.pc_bits) == (21, 10)


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"lanes": 3}, "lanes = 3: must be a power of two"),
        ({"latency": 1.5}, "latency = 1.5: must be a whole number from 2 to 1000"),
        ({"bandwidth": 24}, "bandwidth = 24: must be a power of two"),
        (
            {"lanes": 16, "data_words": 16},
            "data_words = 16: must be at least two vectors of 16 words",
        ),
        (
            {"l2_bytes": 1 << 20, "memory_bytes": 1 << 18},
            "l2_bytes = 1048576: must be at most memory_bytes = 262144",
        ),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ConfigError) as caught:
        TmuConfig(**fields)
    assert str(caught.value) == text


LIMITS = {
    "layers": (1, 8),
    "lanes": (2, 16),
    "streams": (2, 8),
    "stream_words": (16, 4096),
    "requests": (1, 64),
    "data_words": (4, 65536),
    "control_tokens": (2, 1024),
    "program_words": (16, 65536),
    "loads": (1, 32),
    "l1_bytes": (1 << 10, 1 << 20),
    "l2_bytes": (1 << 10, 1 << 20),
    "memory_bytes": (1 << 14, 1 << 26),
    "latency": (2, 1000),
    "bandwidth": (4, 64),
}


@pytest.mark.parametrize("field", LIMITS)
def test_limits(field: str):
    least, most = LIMITS[field]
    for number in (least - 1, most + 1):
        with pytest.raises(ConfigError) as caught:
            TmuConfig(**{field: number})
        text = f"{field} = {number}: must be a whole number from {least} to {most}"
        assert str(caught.value) == text


@pytest.mark.parametrize("field", LIMITS)
@pytest.mark.parametrize("end", (0, 1))
def test_ends_of_limits(field: str, end: int):
    """Caches as small as the smallest memory, so that no other rule is broken."""
    TmuConfig(**{"lanes": 2, "l1_bytes": 1024, "l2_bytes": 1024, field: LIMITS[field][end]})


def test_all_bad_fields_are_named():
    with pytest.raises(ConfigError) as caught:
        TmuConfig(layers=9, stream_words=100, loads=0)
    assert [violation.field for violation in caught.value.violations] == [
        "layers",
        "loads",
        "stream_words",
    ]
