"""The driver of the host port, on a port that is nothing but an array of words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.machine.memory_map import MAGIC, NO_LIMIT, VERSION, Register
from gnarl.sw.runtime.machine.host import (
    AcceleratorError,
    HostDriver,
    HostError,
    HostTimeoutError,
    Status,
)
from tests.support.targets.adder import DIGEST, NARROW_BITS, ROWS, WORDS, memory_map

TABLE, NARROW = memory_map().windows


class ArrayPort:
    """Keeps what is written, and notes where."""

    def __init__(self) -> None:
        self.words = np.zeros(NARROW.base + NARROW.size, np.uint32)
        self.words[:3] = MAGIC, VERSION, int(DIGEST[:8], 16)
        self.writes: list[tuple[int, int]] = []

    def write_words(self, address: int, words: np.ndarray) -> None:
        assert words.dtype == np.uint32 and words.ndim == 1
        self.writes.append((address, len(words)))
        self.words[address : address + len(words)] = words

    def read_words(self, address: int, count: int) -> np.ndarray:
        return self.words[address : address + count].copy()

    def wait_idle(self, max_cycles: int) -> bool:
        return not self.words[Register.STATUS] & 1


@pytest.fixture
def port() -> ArrayPort:
    return ArrayPort()


@pytest.fixture
def driver(port: ArrayPort) -> HostDriver:
    return HostDriver(port, memory_map(), DIGEST)


def refused(text: str, kind: type[HostError] = HostError) -> pytest.RaisesExc[HostError]:
    return pytest.raises(kind, match=f"^{re.escape(text)}$")


def test_another_thing_at_the_port_is_refused(port):
    port.words[Register.MAGIC] = 0x1234
    with refused("no accelerator: word 0 is 0x00001234, must be 0x474e524c"):
        HostDriver(port, memory_map(), DIGEST)


def test_another_version_is_refused(port):
    port.words[Register.VERSION] = 1
    with refused("host port of version 1: must be version 2"):
        HostDriver(port, memory_map(), DIGEST)


def test_another_configuration_is_refused(port):
    port.words[Register.DIGEST] = 0xABC
    text = (
        "hardware of another configuration: its digest begins with 00000abc, "
        "must begin with 89abcdef"
    )
    with refused(text):
        HostDriver(port, memory_map(), DIGEST)


@pytest.mark.parametrize("name, bit", [("start", 1), ("stop", 2), ("clear", 4)])
def test_each_control_is_a_bit(port, driver, name, bit):
    getattr(driver, name)()
    assert port.writes == [(Register.CONTROL, 1)]
    assert port.words[Register.CONTROL] == bit


def test_status_has_its_fields(port, driver):
    port.words[Register.STATUS] = 0x0302
    port.words[Register.DETAIL] = 2**32 - 1
    assert driver.status() == Status(busy=False, done=True, cause=3, detail=2**32 - 1)


def test_cycles_and_counters_have_64_bits(port, driver):
    port.words[Register.CYCLES_LO : Register.LIMIT_LO] = [1, 2]
    port.words[Register.COUNTERS : Register.COUNTERS + 4] = [3, 4, 5, 6]
    assert driver.cycles() == 2 << 32 | 1
    assert driver.counters() == {"starts": 4 << 32 | 3, "rows": 6 << 32 | 5}


@pytest.mark.parametrize("limit", [0, 1, 1 << 32, NO_LIMIT - 1, NO_LIMIT, 1 << 64])
def test_a_limit_is_written_with_both_words(port, driver, limit):
    driver.limit(limit)
    assert port.writes == [(Register.LIMIT_LO, 2)]
    low, high = port.words[Register.LIMIT_LO : Register.COUNTERS].tolist()
    assert high << 32 | low == min(limit, NO_LIMIT)


def test_a_run_that_ends_well_gives_its_status(port, driver):
    port.words[Register.STATUS] = 2
    assert driver.run(10) == Status(busy=False, done=True, cause=0, detail=0)
    assert port.writes == [(Register.CONTROL, 1)]


def test_a_run_that_ends_with_an_error_says_which(port, driver):
    port.words[Register.STATUS : Register.CYCLES_HI] = [3 << 8, 17, 99]
    text = "stopped after 99 cycles: error 3 (OVERFLOW), detail 17"
    with refused(text, AcceleratorError) as caught:
        driver.run(10)
    assert caught.value.status == Status(busy=False, done=False, cause=3, detail=17)


def test_a_cause_that_the_map_does_not_know_is_shown_by_number(port, driver):
    port.words[Register.STATUS] = 200 << 8
    text = "stopped after 0 cycles: error 200 (no known cause), detail 0"
    with refused(text, AcceleratorError):
        driver.run(10)


def test_a_run_that_never_began_is_an_error(driver):
    with refused("stopped after 0 cycles: idle, never done", AcceleratorError):
        driver.run(10)


def test_a_run_that_does_not_end_is_given_up(port, driver):
    port.words[Register.STATUS] = 1
    with refused("still busy after 10 cycles of waiting: status busy", HostTimeoutError):
        driver.run(10)


def test_rows_with_padding_are_written_and_read_one_by_one(port, driver):
    rows = np.arange(2 * WORDS).reshape(2, WORDS)
    driver.write_window("table", rows, row=3)
    assert port.writes == [(TABLE.base + 3 * 4, WORDS), (TABLE.base + 4 * 4, WORDS)]
    assert (driver.read_window("table", 3, 2) == rows).all()


def test_rows_without_padding_are_written_at_once(port, driver):
    rows = np.arange(12).reshape(3, 4)
    driver.write_window("narrow", rows, row=1)
    assert port.writes == [(NARROW.base + 4, 12)]
    assert (driver.read_window("narrow", 1, 3) == rows).all()


@pytest.mark.parametrize("window", ["table", "narrow"])
def test_no_rows_are_no_transfer(port, driver, window):
    driver.write_window(window, np.empty((0, memory_map().window(window).words), int))
    assert driver.read_window(window, 0, 0).shape == (0, memory_map().window(window).words)
    assert port.writes == []


def test_a_wrong_shape_is_refused(driver):
    text = "window table: must be written in rows of 3 words, not as an array of (2, 4)"
    with refused(text):
        driver.write_window("table", np.zeros((2, 4), int))


@pytest.mark.parametrize("value", [-1, 1 << NARROW_BITS, 1 << 40, 0.5])
def test_words_that_do_not_fit_are_refused(driver, value):
    with refused("window narrow: words must be whole numbers from 0 to 2**13 - 1"):
        driver.write_window("narrow", np.array([[0, 0, 0, value]]))


@pytest.mark.parametrize("row, rows", [(0, ROWS + 1), (ROWS, 1), (-1, 2)])
def test_rows_that_are_not_there_are_refused(driver, row, rows):
    with refused(f"window table: has rows 0 to 23, asked for {row} to {row + rows - 1}"):
        driver.read_window("table", row, rows)


def test_memories_are_refused_while_busy(port, driver):
    port.words[Register.STATUS] = 1
    with refused("window table: its memory cannot be accessed while the accelerator is busy"):
        driver.write_window("table", np.zeros((1, WORDS), int))
    assert port.writes == []
