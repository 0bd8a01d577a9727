"""Limits of the fields."""

from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.block_types import Array
from gnarl.hw.sam.config import SamConfig, size_field
from gnarl.hw.sam.memory_map import memory_map
from tests.hw.sam.graphs import INTERSECTION, small


@pytest.mark.parametrize(
    "field, least, greatest",
    [
        ("index_bits", 8, 32),
        ("queue_depth", 2, 1024),
        ("stream_latency", 1, 2),
        ("array_words", 16, 1 << 28),
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


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        (7, "arrays = 7: must be a table of arrays or blocks and rows"),
        ({"b": 0}, "arrays.b = 0: must be a whole number from 1 to 268435456"),
        ({"b": True}, "arrays.b = True: must be a whole number from 1 to 268435456"),
        ({"b": 1 << 29}, "arrays.b = 536870912: must be a whole number from 1 to 268435456"),
    ],
)
def test_sizes_of_arrays_are_numbers_of_rows(arrays, problem):
    with pytest.raises(ConfigError) as caught:
        SamConfig(arrays=arrays)
    assert caught.value.violations == (problem,)


def test_an_array_has_its_own_size_or_its_block_s_or_that_of_all():
    config = SamConfig(arrays={"b_crd": 5, "b": 7}, array_words=16)
    coordinates, segments = Array("crd"), Array("seg", words=2)
    rows = [config.rows_of(*of) for of in (("b", coordinates), ("b", segments), ("c", coordinates))]
    assert rows == [5, 7, 16]
    fields = [size_field(config.arrays, *of) for of in (("b", "crd"), ("b", "seg"), ("c", "crd"))]
    assert fields == ["arrays.b_crd", "arrays.b", "array_words"]


def test_a_size_is_that_of_words_of_blocks_of_values():
    config = SamConfig(arrays={"b": 24}, array_words=64)
    rows = {
        (block, words): config.rows_of(block, Array("vals", words, of_values=True))
        for block in "bc"
        for words in (1, 16, 256)
    }
    assert rows == {
        ("b", 1): 24, ("b", 16): 1, ("b", 256): 1,
        ("c", 1): 64, ("c", 16): 4, ("c", 256): 1,
    }  # fmt: skip


def test_sizes_of_arrays_that_there_are_not_are_refused():
    config = small(INTERSECTION, arrays={"b_crd": 5, "d": 3, "both": 1})
    with pytest.raises(ConfigError) as caught:
        memory_map(config)
    there = "b_seg, b_crd, c_seg, c_crd, bvals_vals, cvals_vals, write_seg, write_crd, vals_vals"
    assert caught.value.violations == (
        "arrays.d: no such array",
        f"arrays.both: no such array; there are {there}",
    )


def test_windows_have_the_sizes_of_their_arrays():
    rows = {
        window.name: window.rows
        for window in memory_map(small(INTERSECTION, arrays={"b": 1, "write_crd": 40})).windows
    }
    assert (rows["b_seg"], rows["b_crd"], rows["write_seg"], rows["write_crd"]) == (1, 1, 32, 40)


def test_widths_of_streams():
    config = SamConfig(format="float16", index_bits=12)
    kinds = ("val", "crd", "ref", "repsig", "bv")
    assert [config.stream_width(kind) for kind in kinds] == [16, 12, 12, 4, 32]
