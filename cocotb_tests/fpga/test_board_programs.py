"""Programs on a board, driven at its pins by the runtime's own transport and driver."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import cocotb
import pytest
from cocotb.task import bridge

from cocotb_tests.lib.run import run_board
from cocotb_tests.lib.serial_line import open_line
from gnarl.sw.runtime.machine.board.frame_port import FramePort, Line
from gnarl.sw.runtime.machine.host_machine import HostMachine
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.dag.generate import random_dag
from tests.support.machines.faulty_line import FaultyLine

CONFIGURATION = load_configuration("dpu_d1_b8")
TARGET: Any = CONFIGURATION.target
CLOCK_HZ, BAUD = 100_000, 25_000  # the fewest clock cycles a bit, and the shortest pause

SIZES = (60, 5)
"""Operations of the programs."""
BETWEEN_FAULTS = (350, 700)
"""Bytes from one fault of a line to the next: the longest frame of these programs (344 bytes) gets
through before the transport gives up."""
FOLDER = "GNARL_TEST_PROGRAMS"
"""Variable that names the folder of their files: pytest's Python has what the compiler needs."""


class Board:
    """A device that runs the compiled programs on the board behind a line."""

    def __init__(self, line: Line) -> None:
        self._device = Device(CONFIGURATION, "model")
        machine = HostMachine(TARGET.executor, CONFIGURATION.config, FramePort(line))
        self._device._machines[CONFIGURATION.config.digest] = machine
        self._model = Device(CONFIGURATION, "model")

    def run_and_check(self, operations: int) -> None:
        """Results are the golden model's; cycles and counters those of the interpreter."""
        program = load_program(Path(os.environ[FOLDER]) / f"{operations}.npz", CONFIGURATION)
        inputs = random_dag(operations, seed=operations).inputs
        found = self._device.run(program, inputs)
        verification = self._device.verify(found)
        assert (verification.bit_exact, verification.difference) == (True, "")
        expected = self._model.run(program, inputs)
        assert found.cycles == expected.cycles
        assert found.counters == expected.counters


async def runs(line: Line, *sizes: int) -> None:
    """Runs the programs of these numbers of operations."""

    def use() -> None:
        board = Board(line)
        for operations in sizes:
            board.run_and_check(operations)

    await bridge(use)()


@cocotb.test()
async def a_program_runs_as_the_golden_model_says(dut):
    await runs(await open_line(dut, CLOCK_HZ, BAUD), SIZES[0])


@cocotb.test()
async def a_clock_that_is_slow_by_2_percent(dut):
    await runs(await open_line(dut, CLOCK_HZ, BAUD, skew=-0.02), SIZES[1])


@cocotb.test()
async def a_clock_that_is_fast_by_2_percent(dut):
    await runs(await open_line(dut, CLOCK_HZ, BAUD, skew=0.02), SIZES[1])


@cocotb.test()
async def a_line_that_loses_doubles_and_changes_bytes(dut):
    faults, wait = 0, random.randint(*BETWEEN_FAULTS)

    def fault(byte: int) -> bytes:
        nonlocal faults, wait
        wait -= 1
        if wait:
            return bytes([byte])
        faults, wait = faults + 1, random.randint(*BETWEEN_FAULTS)
        return random.choice([b"", bytes([byte] * 2), bytes([byte ^ 1 << random.randrange(8)])])

    await runs(FaultyLine(await open_line(dut, CLOCK_HZ, BAUD), fault), *SIZES[:1] * 4)
    assert faults > 2


@cocotb.test()
async def runs_follow_each_other(dut):
    await runs(await open_line(dut, CLOCK_HZ, BAUD), *SIZES, *SIZES)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder of compiled programs."""
    folder = tmp_path_factory.mktemp("programs")
    device = Device(CONFIGURATION, "model")
    for operations in SIZES:
        workload = random_dag(operations, seed=operations)
        device.compile(workload).save(folder / f"{operations}.npz")
    return folder


def test_programs(programs):
    environment = {FOLDER: str(programs)}
    run_board(CONFIGURATION, __name__, clock_hz=CLOCK_HZ, baud=BAUD, environment=environment)
