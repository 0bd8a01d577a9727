"""Programs on the whole system, beside the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cocotb_tests.lib.host_port import CocotbPort, use_driver
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import UNIT_WORDS
from gnarl.hw.sram_compute.memory_map import ErrorCause, memory_map
from gnarl.sw.program.rows import row_spans
from gnarl.sw.runtime.machine.host import HostDriver, Status
from gnarl.sw.runtime.sram_compute.model.check import StoppedError
from gnarl.sw.runtime.sram_compute.model.system import Run, System

Result = TypeVar("Result")

IDLE = Status(busy=False, done=False, cause=0, detail=0)
DONE = Status(busy=False, done=True, cause=0, detail=0)

CYCLE_LIMIT = 1_000_000


class Machine:
    """A system behind its driver, and the model."""

    def __init__(self, config: SramConfig, driver: HostDriver) -> None:
        self.config = config
        self.driver = driver
        self.model = System(config)
        self._held = ~self.model.memory

    def load(self, units: np.ndarray, line: int) -> None:
        """A program, and whatever else of memory is not as the model has it."""
        self.model.memory.reshape(-1, UNIT_WORDS)[4 * line : 4 * line + len(units)] = units
        memory = self.model.memory
        rows = np.flatnonzero((memory != self._held).any(axis=1))
        for first, last in row_spans(rows):
            self.driver.write_window("memory", memory[rows[first:last]], int(rows[first]))
        self.driver.write_window("program", np.array([[line]], np.uint32), 0)
        self._held = memory.copy()

    def load_core(self, instructions: np.ndarray) -> None:
        """Programs of the core, from its first instruction on."""
        self.model.instructions[: len(instructions)] = instructions
        self.driver.write_window("instructions", instructions, 0)

    def forget(self) -> None:
        """The next ``load`` writes everything."""
        self._held = ~self.model.memory

    def run(self, units: np.ndarray, line: int = 0) -> Run | StoppedError:
        """Checks the end of a run against the model's."""
        self.load(units, line)
        expected = self.expected(line)
        self.driver.start()
        status = self.driver.wait(CYCLE_LIMIT)
        self.check(expected, status)
        return expected

    def expected(self, line: int = 0) -> Run | StoppedError:
        try:
            return self.model.run(line)
        except StoppedError as error:
            return error

    def check(self, expected: Run | StoppedError, status: Status) -> None:
        if isinstance(expected, StoppedError):
            wanted = Status(False, False, expected.cause.value, expected.detail)
            assert status == wanted, f"{status}, must be {expected}"
            self.forget()
            return
        assert status == DONE, f"{ErrorCause(status.cause).name}, {status.detail}, must be done"
        memory = self.model.memory
        rows = np.flatnonzero((memory != self._held).any(axis=1))
        for first, last in row_spans(rows):
            self._check_memory(int(rows[first]), last - first)
        self._held = memory.copy()
        assert self.driver.cycles() == expected.cycles
        assert self.driver.counters() == expected.counters

    def check_rest(self) -> None:
        """Nobody has written where programs do not."""
        self._check_memory(0, self.config.memory_lines)

    def _check_memory(self, first: int, count: int) -> None:
        found = self.driver.read_window("memory", first, count)
        wrong = np.argwhere(found != self.model.memory[first : first + count])
        assert not len(wrong), f"{len(wrong)} words differ, first in {wrong[0] + [first, 0]}"


async def use_machine(
    port: CocotbPort, config: SramConfig, use: Callable[[Machine], Result]
) -> Any:
    """What ``use`` returns, a plain function that is given the machine."""
    return await use_driver(
        port, memory_map(config), config.digest, lambda driver: use(Machine(config, driver))
    )
