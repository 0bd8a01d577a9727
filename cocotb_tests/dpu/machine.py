"""Programs on the whole machine, beside the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cocotb_tests.dpu.random_programs import RandomProgram
from cocotb_tests.lib.host_port import CocotbPort, use_driver
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import instruction_word_bits
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import ModelError, ModelResult, run
from gnarl.sw.runtime.machine.host import HostDriver, Status

Result = TypeVar("Result")


class Machine:
    """A DPU behind its driver."""

    def __init__(self, config: DpuConfig, driver: HostDriver, port: CocotbPort) -> None:
        self.config = config
        self.driver = driver
        self._port = port
        self._held: np.ndarray | None = None

    def load(self, stream: np.ndarray, data: np.ndarray) -> None:
        """Writes a program, with 0 behind it, where it differs from the one before, and the data
        memory."""
        config = self.config
        rows = np.zeros((config.instruction_words, instruction_word_bits(config) // 8), np.uint8)
        rows.reshape(-1)[: len(stream)] = stream
        words = rows.view("<u4")
        held = ~words if self._held is None else self._held
        differing = np.flatnonzero((words != held).any(axis=1))
        if len(differing):
            first, last = int(differing[0]), int(differing[-1])
            self.driver.write_window("instructions", words[first : last + 1], first)
        self._held = words
        self.driver.write_window("data", data)

    def data(self) -> np.ndarray:
        """All rows, read at once with the gaps between them, which are 0."""
        window = memory_map(self.config).window("data")
        words = self._port.read_words(window.base, window.rows * window.stride)
        rows, gaps = np.split(words.reshape(window.rows, window.stride), [window.words], axis=1)
        assert not gaps.any()
        return rows

    def start_and_wait(self) -> Status:
        self.driver.start()
        return self.driver.wait(100_000)

    def check(self, expected: ModelResult) -> None:
        """The end of a run that went as the model's did."""
        assert self.driver.status() == Status(busy=False, done=True, cause=0, detail=0)
        assert self.driver.cycles() == expected.cycles
        assert self.driver.counters() == expected.counters
        found = self.data()
        wrong = np.argwhere(found != expected.data.words)
        assert not len(wrong), (
            f"data memory differs in {len(wrong)} words, first at row and bank {wrong[0]}: "
            f"{found[tuple(wrong[0])]:#x}, must be {expected.data.words[tuple(wrong[0])]:#x}"
        )

    def run_and_check(self, program: RandomProgram) -> None:
        """Runs a program that keeps the rules."""
        self.load(program.stream, program.data)
        self.start_and_wait()
        self.check(run(self.config, program.stream, Rows.first(program.data)))

    def check_error(self, expected: ModelError) -> None:
        """The end of a run that broke a rule: the cycle that saw the error was the last."""
        status = Status(False, False, expected.cause, expected.detail)
        assert self.driver.status() == status, f"{self.driver.status()}, must be {expected}"
        assert self.driver.cycles() == expected.cycle + 1 + self.config.fault_stages


async def use_machine(port: CocotbPort, config: DpuConfig, use: Callable[[Machine], Result]) -> Any:
    """What ``use`` returns, a plain function that is given the machine."""
    return await use_driver(
        port, memory_map(config), config.digest, lambda driver: use(Machine(config, driver, port))
    )
