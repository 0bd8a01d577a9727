"""The host port with everything behind it that it can have, driven by the runtime's own driver."""

from __future__ import annotations

import random

import cocotb
import numpy as np

from cocotb_tests.lib.host_port import (
    open_port,
    read_requests,
    use_driver,
    write_requests,
)
from cocotb_tests.lib.run import run_machine
from gnarl.hw.lib.machine.memory_map import MAGIC, VERSION, CommonCause, Register
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.host import (
    AcceleratorError,
    HostDriver,
    HostError,
    HostTimeoutError,
    Status,
)
from tests.support.targets.adder import (
    CYCLES,
    DIGEST,
    NARROW_BITS,
    NARROW_ROWS,
    NARROW_WORDS,
    ROWS,
    WORDS,
    Adder,
    Cause,
    expected,
    memory_map,
)

TABLE, NARROW = memory_map().windows
IDLE = Status(busy=False, done=False, cause=0, detail=0)
DONE = Status(busy=False, done=True, cause=0, detail=0)


def random_table() -> np.ndarray:
    return np.array([[random.getrandbits(31) for _ in range(WORDS)] for _ in range(ROWS)])


def error_text(call: object, kind: type[HostError]) -> str:
    """Text of the error that ``call()`` raises; only errors of exactly this class will do."""
    try:
        call()
    except HostError as error:
        assert type(error) is kind
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


@cocotb.test()
async def every_register_reads_as_the_map_says(dut):
    port = await open_port(dut)
    words = await port.exchange(read_requests(0, 16))
    fixed = [MAGIC, VERSION, int(DIGEST[:8], 16), 0, 0, 0, 0, 0]
    assert words.tolist() == fixed + [0] * 8


@cocotb.test()
async def a_run_shows_in_every_register(dut):
    port = await open_port(dut)
    table = random_table()
    table[5, 0] = 2**32 - 1

    def use(driver: HostDriver) -> None:
        driver.write_window("table", table)
        text = error_text(lambda: driver.run(10 * CYCLES), AcceleratorError)
        assert text == "stopped after 12 cycles: error 3 (OVERFLOW), detail 5"
        assert driver.status() == Status(False, False, Cause.OVERFLOW, 5)
        assert driver.counters() == {"starts": 1, "rows": 5}

    await use_driver(port, memory_map(), DIGEST, use)
    words = await port.exchange(read_requests(0, 14))
    limit = [0, 0]  # is written only
    assert words[Register.CONTROL :].tolist() == [0, 3 << 8, 5, 12, 0, *limit, 1, 0, 5, 0]


@cocotb.test()
async def a_run_ends_at_its_limit_until_a_clear(dut):
    port = await open_port(dut)

    def use(driver: HostDriver) -> None:
        driver.write_window("table", random_table())
        driver.limit(CYCLES)
        assert driver.run(10 * CYCLES) == DONE
        driver.limit(CYCLES - 1)
        text = error_text(lambda: driver.run(10 * CYCLES), AcceleratorError)
        assert text == f"stopped after {CYCLES} cycles: error 255 (CYCLE_LIMIT), detail 0"
        driver.start()
        assert driver.status() == Status(False, False, CommonCause.CYCLE_LIMIT, 0)
        driver.clear()
        assert driver.run(10 * CYCLES) == DONE

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def starts_repeat_and_errors_last_until_cleared(dut):
    port = await open_port(dut)
    table = random_table()

    def use(driver: HostDriver) -> None:
        driver.write_window("table", table)
        for run in (1, 2, 3):
            assert driver.run(10 * CYCLES) == DONE
            assert driver.cycles() == CYCLES
            assert driver.counters() == {"starts": run, "rows": ROWS}
        assert (driver.read_window("table", 0, ROWS) == table + 3).all()

        driver.write_window("table", np.full((1, WORDS), 2**32 - 1), row=1)
        error_text(lambda: driver.run(10 * CYCLES), AcceleratorError)
        driver.start()
        assert driver.wait(CYCLES).cause == Cause.OVERFLOW
        driver.clear()
        assert driver.status() == IDLE
        driver.write_window("table", table)
        assert driver.run(10 * CYCLES) == DONE

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def a_stop_ends_a_run_that_takes_too_long(dut):
    port = await open_port(dut)

    def use(driver: HostDriver) -> None:
        driver.write_window("table", np.zeros((ROWS, WORDS), int))
        text = error_text(lambda: driver.run(3), HostTimeoutError)
        assert text == "still busy after 3 cycles of waiting: status busy"
        driver.stop()
        assert driver.status() == IDLE
        assert 0 < driver.cycles() < CYCLES

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def requests_right_behind_a_pulse_see_what_it_did(dut):
    port = await open_port(dut)
    start, clear = (write_requests(Register.CONTROL, [bit]) for bit in (1, 4))
    status = read_requests(Register.STATUS, 1)
    for _ in range(3):
        busy, idle = await port.exchange([*start, *status, *clear, *status])
        assert (busy & 1, idle & 1) == (1, 0)


@cocotb.test()
async def memories_are_not_the_hosts_while_busy(dut):
    port = await open_port(dut)
    table = random_table() + 1

    def use(driver: HostDriver) -> None:
        driver.write_window("table", table)
        driver.write_window("narrow", np.full((NARROW_ROWS, NARROW_WORDS), 77))
        driver.start()
        port.write_words(NARROW.base, np.array([1], np.uint32))
        assert port.read_words(NARROW.base, 1).tolist() == [0]
        assert port.read_words(TABLE.base, 1).tolist() == [0]
        text = error_text(lambda: driver.read_window("table", 0, 1), HostError)
        assert text == "window table: its memory cannot be accessed while the accelerator is busy"
        assert driver.wait(10 * CYCLES) == DONE
        assert (driver.read_window("table", 0, ROWS) == expected(table)).all()
        assert (driver.read_window("narrow", 0, NARROW_ROWS) == 77).all()

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def addresses_without_a_word_read_0_and_take_nothing(dut):
    port = await open_port(dut)

    def use(driver: HostDriver) -> None:
        driver.write_window("table", np.full((ROWS, WORDS), 7))
        driver.write_window("narrow", np.full((NARROW_ROWS, NARROW_WORDS), 9))
        absent = [
            15,  # between counters and windows
            TABLE.base + WORDS,  # padding of a row
            TABLE.base + ROWS * TABLE.stride,  # a row beyond the last
            NARROW.base - 1,
            NARROW.base + NARROW.size,
            TABLE.base | 1 << 30,
            Register.CONTROL | 1 << 30,
        ]
        for address in absent:
            port.write_words(address, np.array([2**32 - 1], np.uint32))
            assert port.read_words(address, 1).tolist() == [0], f"address {address}"
        assert driver.status() == IDLE
        assert (driver.read_window("table", 0, ROWS) == 7).all()
        assert (driver.read_window("narrow", 0, NARROW_ROWS) == 9).all()

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def narrow_words_keep_their_own_bits_only(dut):
    port = await open_port(dut)
    port_words = np.array([2**32 - 1, 1 << NARROW_BITS, 5], np.uint32)

    def use(driver: HostDriver) -> None:
        port.write_words(NARROW.base, port_words)
        found = port.read_words(NARROW.base, 3).tolist()
        assert found == [2**NARROW_BITS - 1, 0, 5]

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def without_stalls_a_word_moves_every_cycle(dut):
    port = await open_port(dut)
    requests = [(1 << 63 | NARROW.base << 32) + value for value in range(100)]
    start = port.cycles
    await port.exchange(requests)
    assert port.cycles - start == 100
    start = port.cycles
    await port.exchange([*read_requests(Register.MAGIC, 1)] * 100)
    assert port.cycles - start == 100 + 5


@cocotb.test()
async def random_stalls_lose_and_change_nothing(dut):
    port = await open_port(dut, stalls=0.5)
    memory = {}
    requests, answers = [], []
    for address in range(NARROW.base, NARROW.base + NARROW.size):
        requests.append(1 << 63 | address << 32)
        memory[address] = 0
    for _ in range(2000):
        address = random.choice(list(memory))
        if random.random() < 0.5:
            memory[address] = random.getrandbits(NARROW_BITS)
            requests.append(1 << 63 | address << 32 | memory[address])
        else:
            requests.append(address << 32)
            answers.append(memory[address])
    assert (await port.exchange(requests)).tolist() == answers


@cocotb.test()
async def the_driver_works_through_stalls(dut):
    port = await open_port(dut, stalls=0.7)
    table = random_table()

    def use(driver: HostDriver) -> None:
        driver.write_window("table", table)
        assert driver.run(10 * CYCLES) == DONE
        assert (driver.read_window("table", 0, ROWS) == expected(table)).all()

    await use_driver(port, memory_map(), DIGEST, use)


@cocotb.test()
async def reset_in_the_middle_of_everything_starts_anew(dut):
    port = await open_port(dut)
    for cycles in range(1, 12):
        # A run has begun, and nobody takes the responses.
        await port.exchange(write_requests(Register.CONTROL, [1]))
        await port.offer(np.repeat(read_requests(Register.STATUS, 1), cycles), cycles)
        await port.reset()
        assert int(dut.response_valid.value) == 0
        found = await port.exchange(read_requests(0, 8))
        assert found.tolist() == [MAGIC, VERSION, int(DIGEST[:8], 16), 0, 0, 0, 0, 0]


def test_host_port():
    run_machine(to_verilog(Adder(), "adder"), __name__, name="adder")
