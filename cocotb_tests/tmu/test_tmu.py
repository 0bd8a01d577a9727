"""The whole core: random programs of both units, and everything that can interrupt a run."""

from __future__ import annotations

import random

import cocotb
import numpy as np
import pytest

from cocotb_tests.lib.host_port import open_port
from cocotb_tests.lib.interruptions import INTERRUPTIONS, interrupt
from cocotb_tests.lib.run import parts, run_machine, verilog_of
from cocotb_tests.tmu.configs import CONFIGS, LEAST, LONG, config_under_test, environment
from cocotb_tests.tmu.damage import (
    damaged_memory,
    damaged_program,
    damaged_rows,
    misplaced_step,
)
from cocotb_tests.tmu.machine import CYCLE_LIMIT, DONE, IDLE, Machine, use_machine
from cocotb_tests.tmu.programs import Image, copy_of, drained_nest, ending, fed_program
from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.memory_map import ErrorCause, memory_map
from gnarl.sw.runtime.machine.host import HostTimeoutError

DIMENSIONS = "cocotb_tests.tmu.test_dimensions"
MODULES = f"{__name__},{DIMENSIONS}"


def generator() -> random.Random:
    return random.Random(random.getrandbits(64))


@cocotb.test()
async def random_programs_of_the_execute_unit(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for _ in range(6):
            given = fed_program(config, generator())
            machine.run_and_check(given, ending(config, given))
            machine.driver.clear()

    await use_machine(port, config, use)


@cocotb.test()
async def random_programs_of_the_access_unit(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for _ in range(6):
            given = drained_nest(config, generator())
            expected = ending(config, given)
            cycles = machine.run_and_check(given, expected)
            # The same once more, without anything in caches or queues.
            machine.start_and_wait()
            machine.check(expected)
            assert machine.driver.cycles() == cycles
        machine.check_rest()

    await use_machine(port, config, use)


@cocotb.test()
async def damaged_programs_end_as_in_the_models(dut):
    """Where these say how. A whole program runs behind each that ends in an error."""
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        causes: set[int | None] = set()
        turn = [damaged_memory] * 2 + [damaged_program] * 5
        for number, damaged in enumerate(turn * 24):
            if number >= len(turn) and len(causes) >= 2:
                return
            rng = generator()
            given = damaged(drained_nest(config, rng), rng)
            expected = ending(config, given)
            if expected.cause is None:
                continue
            machine.run_and_check(given, expected)
            causes.add(expected.cause)
            if expected.cause:
                machine.driver.clear()
                assert machine.driver.status() == IDLE
                whole = drained_nest(config, rng)
                machine.run_and_check(whole, ending(config, whole))
        raise AssertionError(f"too few programs ended in an error: {causes}")

    await use_machine(port, config, use)


@cocotb.test()
async def events_of_layers_that_are_not_in_an_iteration_are_deadlocks(dut):
    """Unless their loops have no iteration."""
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        causes = []
        for _ in range(2):
            rng = generator()
            whole = drained_nest(config, rng)
            machine.load(misplaced_step(config, whole, rng))
            causes.append(machine.start_and_wait().cause)
            machine.memory()
            machine.driver.clear()
            machine.run_and_check(whole, ending(config, whole))
        assert set(causes) <= {0, ErrorCause.DEADLOCK.value}

    await use_machine(port, config, use)


@cocotb.test()
async def damaged_rows_leave_a_core_that_can_be_cleared(dut):
    """Whatever rows say that mean nothing, or a loop without end."""
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for _ in range(2):
            rng = generator()
            whole = drained_nest(config, rng)
            machine.load(damaged_rows(whole, rng))
            machine.driver.start()
            try:
                machine.driver.wait(6000)
            except HostTimeoutError:
                machine.driver.stop()
            machine.driver.clear()
            assert machine.driver.status() == IDLE
            machine.memory()
            machine.run_and_check(whole, ending(config, whole))

    await use_machine(port, config, use)


@cocotb.test()
@cocotb.parametrize(interruption=INTERRUPTIONS)
async def a_run_that_is_interrupted_leaves_nothing_behind(dut, interruption):
    """Ends runs after some of their first cycles and at random ones; a clean run follows each, in
    the cycles that it takes otherwise."""
    port = await open_port(dut)
    config = config_under_test()
    whole = drained_nest(config, generator())
    expected = ending(config, whole)
    machine = await use_machine(port, config, lambda machine: machine)
    cycles = await use_machine(port, config, lambda _: machine.run_and_check(whole, expected))

    def check() -> None:
        machine.forget()
        assert machine.run_and_check(whole, expected) == cycles

    for until in [0, *(random.randrange(cycles) for _ in range(2)), cycles - 1]:
        await interrupt(port, interruption, until)
        await use_machine(port, config, lambda _: check())


def long_copy() -> Image:
    """A program of more than a thousand cycles."""
    return copy_of(config_under_test(), [random.getrandbits(32) for _ in range(300)])


@cocotb.test()
async def lines_wait_for_each_other_where_requests_are_few(dut):
    port = await open_port(dut)
    config = config_under_test()
    given = long_copy()
    lines = 300 // LINE_WORDS + 1

    def use(machine: Machine) -> None:
        cycles = machine.run_and_check(given, ending(config, given))
        assert cycles * config.requests >= lines * config.latency
        assert machine.driver.counters()["requests_in_flight"] >= lines * config.latency

    await use_machine(port, config, use)


@cocotb.test()
async def starts_while_busy_change_nothing(dut):
    port = await open_port(dut)
    config = config_under_test()
    given = long_copy()

    def use(machine: Machine) -> None:
        machine.load(given)
        for _ in range(5):
            machine.driver.start()
            assert machine.driver.status().busy
        assert machine.driver.wait(CYCLE_LIMIT) == DONE
        machine.check(ending(config, given))

    await use_machine(port, config, use)


@cocotb.test()
async def a_program_begins_with_its_start(dut):
    """Not as soon as its layers are written, behind a run that had none."""
    port = await open_port(dut)
    config = config_under_test()
    given = long_copy()
    instructions = given.instructions.copy()
    instructions[0] = assemble("halt").words()[0]
    layers = np.zeros_like(given.rows["layers"])
    without = Image({**given.rows, "layers": layers}, instructions, given.memory)

    def use(machine: Machine) -> None:
        expected = ending(config, given)
        cycles = machine.run_and_check(given, expected)
        machine.run_and_check(without, ending(config, without))
        assert machine.run_and_check(given, expected) == cycles

    await use_machine(port, config, use)


@cocotb.test()
async def the_windows_are_closed_while_it_is_busy(dut):
    """Writes are lost, and what is read is 0."""
    port = await open_port(dut)
    config = config_under_test()
    given = long_copy()

    def use(machine: Machine) -> None:
        machine.load(given)
        machine.driver.start()
        for window in memory_map(config).windows:
            port.write_words(window.base, np.full(2, 0x5555_5555, np.uint32))
            assert port.read_words(window.base, 2).tolist() == [0, 0]
        assert machine.driver.status().busy
        assert machine.driver.wait(CYCLE_LIMIT) == DONE
        machine.check(ending(config, given))
        # Nor are they written later.
        machine.start_and_wait()
        machine.check(ending(config, given))

    await use_machine(port, config, use)


@cocotb.test()
async def a_stopped_run_writes_no_more(dut):
    port = await open_port(dut)
    config = config_under_test()
    given = long_copy()

    def use(machine: Machine) -> None:
        machine.load(given)
        machine.driver.start()
        machine.driver.status()
        machine.driver.stop()
        assert machine.driver.status() == IDLE
        cycles = machine.driver.cycles()
        found = machine.memory()
        assert np.count_nonzero(found != given.memory) < 300
        assert (machine.memory() == found).all()
        assert machine.driver.cycles() == cycles

    await use_machine(port, config, use)


@cocotb.test()
async def an_error_stays_until_a_clear(dut):
    port = await open_port(dut)
    config = config_under_test()
    whole = drained_nest(config, generator())
    instructions = whole.instructions.copy()
    instructions[0, 0] = 0x3F
    broken = Image(whole.rows, instructions, whole.memory)
    expected = ending(config, broken)
    assert (expected.cause, expected.detail) == (ErrorCause.ENCODING, 0)

    def use(machine: Machine) -> None:
        machine.run_and_check(broken, expected)
        machine.load(whole)
        for _ in range(2):
            machine.start_and_wait()
            machine.check(expected)
        machine.driver.clear()
        machine.run_and_check(whole, ending(config, whole))

    await use_machine(port, config, use)


@cocotb.test()
async def a_host_that_stalls_sees_the_same(dut):
    port = await open_port(dut, stalls=0.5)
    config = config_under_test()

    def use(machine: Machine) -> None:
        given = drained_nest(config, generator())
        machine.run_and_check(given, ending(config, given))

    await use_machine(port, config, use)


PARTS = parts("random_programs", "no_dimension", "damaged|interrupted")


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(PARTS[0], id="random"),
        pytest.param(PARTS[1], id="dimensions", marks=pytest.mark.slow),
        pytest.param(PARTS[2], id="ends"),
        pytest.param(PARTS[3], id="others"),
    ],
)
def test_the_least(tests):
    variables = environment(LEAST, runs=1)
    run_machine(verilog_of("tmu", LEAST), MODULES, name="tmu", environment=variables, tests=tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_tmu(name):
    config = CONFIGS[name]
    run_machine(verilog_of("tmu", config), MODULES, name="tmu", environment=environment(config))


@pytest.mark.slow
def test_the_longest_dimension():
    variables = environment(LONG, [4096])
    run_machine(verilog_of("tmu", LONG), DIMENSIONS, name="tmu", environment=variables)
