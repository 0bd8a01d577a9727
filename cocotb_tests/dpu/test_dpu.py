"""The whole machine: random programs, whole and damaged, and everything that can interrupt one."""

from __future__ import annotations

import random

import cocotb
import numpy as np
import pytest

from cocotb_tests.dpu.configs import CONFIGS, config_under_test, environment
from cocotb_tests.dpu.machine import Machine, use_machine
from cocotb_tests.dpu.random_programs import random_program
from cocotb_tests.lib.host_port import open_port
from cocotb_tests.lib.interruptions import INTERRUPTIONS, interrupt
from cocotb_tests.lib.run import parts, run_machine, verilog_of
from gnarl.hw.dpu.isa import ErrorCause, instruction_bytes, opcodes
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import ModelError, run
from gnarl.sw.runtime.machine.host import Status
from tests.support.dpu.programs import HALT, NOP, Instruction, load, program, store
from tests.support.parameters import slow_but

IDLE = Status(busy=False, done=False, cause=0, detail=0)
DONE = Status(busy=False, done=True, cause=0, detail=0)


def generator() -> np.random.Generator:
    return np.random.default_rng(random.getrandbits(64))


@cocotb.test()
async def random_programs_end_as_in_the_model(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        for _ in range(20):
            machine.run_and_check(random_program(machine.config, generator(), 300))

    await use_machine(port, config_under_test(), use)


@cocotb.test()
async def damaged_programs_stop_as_in_the_model(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> set[ErrorCause]:
        causes = set()
        rng = generator()
        # Programs take longer to draw than to run.
        intacts = [random_program(config, rng, 60) for _ in range(30)]
        for intact in intacts * 5:
            stream = intact.stream.copy()
            for _ in range(rng.integers(1, 4)):
                stream[rng.integers(len(stream))] ^= 1 << rng.integers(8)
            machine.load(stream, intact.data)
            machine.start_and_wait()
            try:
                machine.check(run(config, stream, Rows.first(intact.data)))
            except ModelError as error:
                machine.check_error(error)
                causes.add(error.cause)
                machine.driver.clear()
                assert machine.driver.status() == IDLE
        return causes

    assert len(await use_machine(port, config, use)) >= 3


@cocotb.test()
async def runs_follow_each_other_without_a_reset(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        rng = generator()
        for _ in range(3):
            # Without the stores at its end a program leaves full banks behind.
            first = random_program(machine.config, rng, 100)
            second = random_program(machine.config, rng, 100)
            machine.run_and_check(first)
            machine.start_and_wait()
            machine.run_and_check(second)

    await use_machine(port, config_under_test(), use)


@cocotb.test()
@cocotb.parametrize(interruption=INTERRUPTIONS)
async def a_run_that_is_interrupted_leaves_nothing_behind(dut, interruption):
    """Ends runs after each of their first cycles and at random ones; a clean run follows each."""
    port = await open_port(dut)
    config = config_under_test()
    whole = random_program(config, generator(), 60)
    expected = run(config, whole.stream, Rows.first(whole.data))

    def check(machine: Machine) -> None:
        machine.driver.write_window("data", whole.data)
        machine.start_and_wait()
        machine.check(expected)

    await use_machine(port, config, lambda machine: machine.load(whole.stream, whole.data))
    late = [random.randrange(expected.cycles) for _ in range(8)]
    for cycles in [*range(8), *late, expected.cycles - 2, expected.cycles - 1]:
        await interrupt(port, interruption, cycles)
        await use_machine(port, config, check)


@cocotb.test()
async def a_stopped_run_is_not_done_and_writes_no_more(dut):
    port = await open_port(dut)
    config = config_under_test()
    endless = program(config, [NOP] * 100 + [store(0, {})] * 10 + [HALT])
    data = np.full((config.data_rows, config.banks), 3)

    def use(machine: Machine) -> None:
        machine.load(endless, data)
        machine.driver.start()
        machine.driver.stop()
        assert machine.driver.status() == IDLE
        cycles = machine.driver.cycles()
        assert 0 < cycles < 100
        assert (machine.data() == 3).all()
        assert machine.driver.cycles() == cycles

    await use_machine(port, config, use)


@cocotb.test()
async def starts_while_busy_change_nothing(dut):
    port = await open_port(dut)
    config = config_under_test()
    whole = random_program(config, generator(), 200)
    expected = run(config, whole.stream, Rows.first(whole.data))

    def use(machine: Machine) -> None:
        machine.load(whole.stream, whole.data)
        for _ in range(5):
            machine.driver.start()
            assert machine.driver.status().busy
        machine.driver.wait(10_000)
        machine.check(expected)

    await use_machine(port, config, use)


@cocotb.test()
async def the_memories_are_the_machines_while_it_is_busy(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        data = np.arange(config.data_rows * config.banks).reshape(config.data_rows, -1)
        machine.load(program(config, [NOP] * 100 + [HALT]), data)
        window = memory_map(config).window("data")
        code = memory_map(config).window("instructions")
        machine.driver.start()
        port.write_words(window.base, np.full(2, 77, np.uint32))
        port.write_words(code.base, np.full(2, 2**32 - 1, np.uint32))
        assert port.read_words(window.base + 1, 2).tolist() == [0, 0]
        assert machine.driver.status().busy
        assert machine.driver.wait(1000) == DONE
        assert machine.driver.counters()["nop"] == 100
        assert (machine.data() == data).all()

    await use_machine(port, config, use)


@cocotb.test()
async def a_host_that_stalls_sees_the_same(dut):
    port = await open_port(dut, stalls=0.5)

    def use(machine: Machine) -> None:
        machine.run_and_check(random_program(machine.config, generator(), 50))

    await use_machine(port, config_under_test(), use)


@cocotb.test()
async def every_opcode_alone(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        data = np.zeros((config.data_rows, config.banks), np.uint32)
        for opcode in opcodes(config):
            stream = program(config, [Instruction(opcode), HALT])
            assert len(stream) == instruction_bytes(config, opcode) + 1
            machine.load(stream, data)
            machine.start_and_wait()
            machine.check(run(config, stream, Rows.first(data)))

    await use_machine(port, config, use)


@cocotb.test()
async def a_store_is_seen_by_the_next_load_and_a_load_by_the_next_store(dut):
    port = await open_port(dut)
    config = config_under_test()
    data = np.arange(config.data_rows * config.banks).reshape(config.data_rows, -1) % 100
    wait = [NOP] * (config.load_latency - 1)
    instructions = [
        load(1, 0, 3),
        *wait,
        store(2, {0: 0, 3: 0}),
        load(2, 0, 1, 3),
        *wait,
        store(5, {0: 1, 1: 0, 3: 1}),
        HALT,
    ]

    def use(machine: Machine) -> None:
        machine.load(program(config, instructions), data)
        assert machine.start_and_wait() == DONE
        expected = data.copy()
        expected[2, [0, 3]] = data[1, [0, 3]]
        expected[5, [0, 1, 3]] = [data[1, 0], data[2, 1], data[1, 3]]
        assert (machine.data() == expected).all()

    await use_machine(port, config, use)


PARTS = parts("damaged")


@pytest.mark.parametrize("tests", PARTS, ids=["damaged", "others"])
@pytest.mark.parametrize("name", slow_but(["odd"], CONFIGS))
def test_dpu(name, tests):
    variables = environment(CONFIGS[name])
    text = verilog_of("dpu", CONFIGS[name])
    run_machine(text, __name__, name="dpu", environment=variables, tests=tests)
