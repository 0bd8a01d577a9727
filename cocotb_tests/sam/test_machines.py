"""Whole machines: random tensors, and everything that can interrupt a run."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
import pytest

from cocotb_tests.lib.host_port import CocotbPort, open_port, use_driver
from cocotb_tests.lib.interruptions import INTERRUPTIONS, interrupt
from cocotb_tests.lib.run import run_machine, verilog_of
from cocotb_tests.sam.machines import Sample, environment, machine_under_test, machines
from gnarl.hw.sam.memory_map import memory_map
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.golden.words import from_words
from gnarl.sw.program.rows import Rows, row_spans
from gnarl.sw.runtime.machine.host import HostDriver, Status
from gnarl.sw.runtime.sam.image import Operands, bind, operands, result, result_rows
from gnarl.sw.workloads.tensor.parser import parse

IDLE = Status(busy=False, done=False, cause=0, detail=0)
DONE = Status(busy=False, done=True, cause=0, detail=0)

_CYCLE_LIMIT = 100_000


class Machine:
    """A SAM machine behind its driver."""

    def __init__(self, tested: Sample, driver: HostDriver) -> None:
        text = tested.config.expression
        self._tested = tested
        self._program = compile(SamWorkload("tested", text, parse(text)), tested.config)
        self.driver = driver

    def random_operands(self, density: float) -> Operands:
        """Random ones of small whole numbers, whose sums and products are exact."""
        rng = np.random.default_rng(random.getrandbits(64))
        tensors = {
            name: rng.integers(1, 9, shape) * (rng.random(shape) < density) * 1.0
            for name, shape in self._tested.shapes.items()
        }
        launch = self._program.launches[0]
        return operands(launch, bind(self._program, tensors))

    def load(self, operands: Operands) -> None:
        for window, rows in operands.image.items():
            for first, words in rows.spans():
                self.driver.write_window(window, words, first)

    def _read(self, window: str, rows: np.ndarray) -> np.ndarray:
        parts = [
            self.driver.read_window(window, int(rows[first]), last - first)
            for first, last in row_spans(rows)
        ]
        return np.concatenate(
            [np.zeros((0, memory_map(self._tested.config).window(window).words), np.uint32), *parts]
        )

    def run_and_check(self, operands: Operands) -> int:
        """Cycles of a run on what has been loaded, which are those of the model."""
        self.driver.start()
        status = self.driver.wait(_CYCLE_LIMIT)
        assert status == DONE, f"{status}, must be done"
        counters = self.driver.counters()
        memory = {
            window: Rows(rows, self._read(window, rows))
            for window, rows in result_rows(operands.launch, counters).items()
        }
        coordinates, words = result(
            operands.launch, operands, memory, operands.launch.outputs[0].name
        )
        tested = self._tested
        tensors = [operands.tensors[name].to_dense() for name in tested.shapes]
        expected = tested.golden(*tensors)
        found = np.zeros(expected.shape)
        found[tuple(coordinates.T)] = from_words(words, tested.config.format)
        assert (found == expected).all(), f"{found}, not {expected}"
        for (block, output), tokens in operands.model[1].tokens.items():
            count = counters.get(f"tokens_{block}_{output}", tokens)
            # A lookup that skips leaves out what nobody needs.
            skips = tested.config.skip and block.startswith("lookup")
            assert count <= tokens if skips else count == tokens, (
                f"{block}.{output}: {count} tokens, {tokens} in the model"
            )
        return self.driver.cycles()


async def use_machine(port: CocotbPort, use: Any) -> Any:
    """What ``use`` returns, a plain function that is given the machine."""
    tested = machine_under_test()
    config = tested.config
    return await use_driver(
        port, memory_map(config), config.digest, lambda driver: use(Machine(tested, driver))
    )


@cocotb.test()
async def runs_follow_each_other_without_a_reset(dut):
    port = await open_port(dut, stalls=0.3)

    def use(machine: Machine) -> None:
        for density in (0.5, 0.0, 1.0, 0.15, 0.3, 0.05):
            given = machine.random_operands(density)
            machine.load(given)
            cycles = machine.run_and_check(given)
            # The same once more, from what is still there.
            assert machine.run_and_check(given) == cycles

    await use_machine(port, use)


@cocotb.test()
@cocotb.parametrize(interruption=INTERRUPTIONS)
async def a_run_that_is_interrupted_leaves_nothing_behind(dut, interruption):
    """Ends runs after some of their first cycles and at random ones; a clean run follows each."""
    port = await open_port(dut)

    def prepare(machine: Machine) -> tuple[Operands, int]:
        given = machine.random_operands(0.4)
        machine.load(given)
        return given, machine.run_and_check(given)

    given, expected = await use_machine(port, prepare)

    def check(machine: Machine) -> None:
        machine.load(given)
        assert machine.run_and_check(given) == expected

    for cycles in [0, 1, 2, *(random.randrange(expected) for _ in range(6)), expected - 1]:
        await interrupt(port, interruption, cycles)
        await use_machine(port, check)


@cocotb.test()
async def a_stopped_run_is_not_done(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        given = machine.random_operands(0.5)
        machine.load(given)
        machine.driver.start()
        machine.driver.stop()
        assert machine.driver.status() == IDLE
        cycles = machine.driver.cycles()
        assert 0 < cycles < 100
        assert machine.driver.cycles() == cycles
        machine.run_and_check(given)

    await use_machine(port, use)


@pytest.mark.parametrize(
    "name",
    [each if each == "sum" else pytest.param(each, marks=pytest.mark.slow) for each in machines()],
)
def test_machines(name):
    config = machines()[name].config
    run_machine(verilog_of("sam", config), __name__, name="sam", environment=environment(name))
