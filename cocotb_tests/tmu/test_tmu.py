"""The whole core: random programs of both units, and everything that can interrupt a run."""

from __future__ import annotations

import random

import cocotb
import pytest

from cocotb_tests.lib.host_port import open_port
from cocotb_tests.lib.run import run_cocotb
from cocotb_tests.tmu.configs import CONFIGS, config_under_test, environment
from cocotb_tests.tmu.machine import Machine, use_machine
from cocotb_tests.tmu.programs import drained_nest, ending, fed_program
from hw.tmu.top import build


def generator() -> random.Random:
    return random.Random(random.getrandbits(64))


@cocotb.test()
async def random_programs_of_the_execute_unit(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for _ in range(20):
            given = fed_program(config, generator())
            machine.run_and_check(given, ending(config, given))
            machine.driver.clear()

    await use_machine(port, config, use)


@cocotb.test()
async def random_programs_of_the_access_unit(dut):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for _ in range(20):
            given = drained_nest(config, generator())
            machine.run_and_check(given, ending(config, given))

    await use_machine(port, config, use)


@pytest.mark.parametrize("name", ["least", pytest.param("roomy", marks=pytest.mark.slow)])
def test_tmu(name):
    config = CONFIGS[name]
    run_cocotb(build(config), __name__, name="tmu", environment=environment(config))
