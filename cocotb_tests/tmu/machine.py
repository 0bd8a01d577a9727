"""Programs on the whole core, beside the models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cocotb_tests.lib.host_port import CocotbPort, use_driver
from cocotb_tests.tmu.programs import Ending, Image
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import ErrorCause, memory_map
from gnarl.sw.program.rows import row_spans
from gnarl.sw.runtime.machine.host import HostDriver, Status

Result = TypeVar("Result")

IDLE = Status(busy=False, done=False, cause=0, detail=0)
DONE = Status(busy=False, done=True, cause=0, detail=0)

CYCLE_LIMIT = 5_000_000


class Machine:
    """A TMU core behind its driver.

    What its windows hold is known, so that only rows that differ are written: all that a run writes
    is read before the next one.
    """

    def __init__(self, config: TmuConfig, driver: HostDriver) -> None:
        self.config = config
        self.driver = driver
        self._held: dict[str, np.ndarray] = {}

    def load(self, image: Image) -> None:
        memory = image.memory.reshape(-1, LINE_WORDS)
        windows = {**image.rows, "instructions": image.instructions, "memory": memory}
        for name, words in windows.items():
            held = self._held.get(name)
            if held is None or len(held) != len(words):
                held = ~words
            differs = (words != held).any(axis=1)
            rows = np.flatnonzero(differs)
            for first, last in row_spans(rows):
                self.driver.write_window(name, words[rows[first:last]], int(rows[first]))
            self._held[name] = words.copy()

    def forget(self) -> None:
        """The next ``load`` writes everything but the instructions."""
        self._held = {"instructions": self._held["instructions"]}

    def memory(self) -> np.ndarray:
        """As much of it as was loaded: uint32 [words]."""
        lines = self.driver.read_window("memory", 0, len(self._held["memory"]))
        self._held["memory"] = lines
        return lines.reshape(-1)

    def start_and_wait(self) -> Status:
        self.driver.start()
        return self.driver.wait(CYCLE_LIMIT)

    def check(self, expected: Ending) -> None:
        """The end of a run as the models have it."""
        status = self.driver.status()
        found = self.memory()
        if expected.cause == 0:
            assert status == DONE, f"{status}, must be done"
            if expected.is_clean:
                wrong = np.flatnonzero(found != expected.memory[: len(found)])
                assert not len(wrong), (
                    f"memory differs in {len(wrong)} words, first in {wrong[0]}: "
                    f"{found[wrong[0]]:#x}, must be {expected.memory[wrong[0]]:#x}"
                )
        elif expected.cause is not None and expected.is_clean:
            cause = ErrorCause(expected.cause)
            wanted = Status(False, False, expected.cause, expected.detail)
            assert status == wanted, f"{status}, must be {cause.name}, {expected.detail}"

    def check_rest(self) -> None:
        """Nobody has written where programs have nothing."""
        first = len(self._held["memory"])
        lines = self.driver.read_window("memory", first, self.config.memory_lines - first)
        assert not lines.any(), (
            f"words are written, first in line {first + lines.any(axis=1).argmax()}"
        )

    def run_and_check(self, image: Image, expected: Ending) -> int:
        """Cycles of a run that ends as the models say."""
        self.load(image)
        self.start_and_wait()
        self.check(expected)
        return self.driver.cycles()


async def use_machine(port: CocotbPort, config: TmuConfig, use: Callable[[Machine], Result]) -> Any:
    """What ``use`` returns, a plain function that is given the machine."""
    return await use_driver(
        port, memory_map(config), config.digest, lambda driver: use(Machine(config, driver))
    )
