"""Addresses of counters and windows."""

from __future__ import annotations

import enum
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window


class Cause(enum.IntEnum):
    NONE = 0


def placed(*windows: Window, counters: tuple[str, ...] = ()) -> list[tuple[str, int, int]]:
    found = MemoryMap(windows, counters, Cause).windows
    return [(window.name, window.base, window.size) for window in found]


def test_a_window_begins_at_a_multiple_of_its_size():
    assert placed(Window("a", 4, 2), Window("b", 16, 4), Window("c", 1, 1)) == [
        ("a", 16, 8),
        ("b", 64, 64),
        ("c", 128, 1),
    ]


def test_counters_lie_between_registers_and_windows():
    memory_map = MemoryMap([Window("a", 2, 2)], ["x", "y", "z"], Cause)
    assert [memory_map.counter_address(index) for index in range(3)] == [10, 12, 14]
    assert memory_map.window("a").base == 16


def test_causes_have_names():
    names = [MemoryMap([], [], Cause).cause_name(number) for number in (0, 255, 254)]
    assert names == ["NONE", "CYCLE_LIMIT", None]


def test_rows_and_words_are_padded_to_powers_of_two():
    window = Window("a", rows=5, words=3)
    assert (window.stride, window.row_bits, window.lane_bits, window.size) == (4, 3, 2, 32)


def test_a_map_may_be_empty():
    assert placed() == []


def test_all_words_that_have_an_address():
    assert placed(Window("a", 1 << 29, 2)) == [("a", 1 << 30, 1 << 30)]


def test_too_many_words_are_refused():
    text = (
        "windows a (1073741824 rows of 1 words), b (536870913 rows of 1 words): "
        "need 3221225472 words of address space, at most 2147483648 can be addressed"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        placed(Window("a", 1 << 30, 1), Window("b", (1 << 29) + 1, 1))


def test_an_error_names_the_largest_windows():
    windows = [Window(f"w{n}", 1 << 29 - n % 5, 1) for n in range(20)]
    with pytest.raises(ConfigError, match=r"^windows w0 .*, w5 .*, w10 .*, w15 .* and 16 others: "):
        placed(*windows)


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100)), max_size=6))
def test_windows_never_overlap(sizes):
    end = 8 + 2 * 2
    windows = [Window(f"w{n}", rows, words) for n, (rows, words) in enumerate(sizes)]
    for _, base, size in placed(*windows, counters=("x", "y")):
        assert base >= end
        assert base % size == 0
        end = base + size
