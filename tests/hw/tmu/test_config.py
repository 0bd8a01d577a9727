"""Configurations of a TMU core: what is refused, and what follows from them."""

from __future__ import annotations

import pytest

from hw.lib.errors import ConfigError
from hw.tmu.config import TmuConfig


def test_defaults():
    config = TmuConfig()
    assert config.memory_words == 2 * 1024 * 1024
    assert config.memory_lines == 131_072
    assert (config.address_bits, config.pc_bits) == (21, 10)


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"lanes": 3}, "lanes = 3: must be a power of two"),
        ({"lanes": 32}, "lanes = 32: must be a whole number from 2 to 16"),
        ({"streams": 9}, "streams = 9: must be a whole number from 2 to 8"),
        ({"layers": 0}, "layers = 0: must be a whole number from 1 to 8"),
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


def test_all_bad_fields_are_named():
    with pytest.raises(ConfigError) as caught:
        TmuConfig(layers=9, stream_words=100, loads=0)
    assert [violation.field for violation in caught.value.violations] == [
        "layers",
        "loads",
        "stream_words",
    ]
