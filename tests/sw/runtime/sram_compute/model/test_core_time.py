"""Random programs of the core take the cycles on the model that they take on the RTL."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble as assembled
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import LINE_UNITS, UNIT_WORDS, Opcode
from gnarl.hw.sram_compute.memory_map import memory_map
from gnarl.hw.sram_compute.program import assemble, command
from gnarl.sw.runtime.machine.host import HostDriver
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.sram_compute.model.check import StoppedError
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.verilog import module_name, verilog
from tests.support.execute.core_programs import CoreProgram, computing_program, moving_program

SMALL = ("banks=1", "arrays=2", "formats=[]")
"""What makes of ``sram_b2`` one that is soon built."""

OTHERS = (
    ("core_lanes=4", "core_loads=16", "core_cache_bytes=2048", "latency=100", "bandwidth=0.8"),
    ("core_lanes=8", "core_loads=3", "latency=7", "bandwidth=64"),
)
"""Of other cores and main memories: far away and slow; near and fast."""

MOST_CYCLES = 1_000_000


class Pair:
    """The RTL and, for each program, a model of its own."""

    def __init__(self, *fields: str) -> None:
        named = load_configuration("sram_b2", (*SMALL, *fields))
        assert isinstance(named.config, SramConfig)
        self.config = config = named.config
        self._simulator = Simulator(verilog(named), module_name(named))
        self._driver = HostDriver(self._simulator, memory_map(config), config.digest)

    def close(self) -> None:
        self._simulator.close()

    def check(self, given: CoreProgram, starts: int = 1, lines: int = 4) -> bool:
        """Whether it ended without a fault: in the same cycles, then. Commands begin so many
        ``lines`` before the end of memory."""
        config, driver, model = self.config, self._driver, System(self.config)
        line = config.memory_lines - lines
        units = assemble([*[command(Opcode.CORE)] * starts, command(Opcode.END)])
        model.memory.reshape(-1)[: len(given.memory)] = given.memory
        model.memory.reshape(-1, UNIT_WORDS)[4 * line :][: len(units)] = units
        model.instructions[: len(given.instructions)] = given.instructions
        driver.write_window("instructions", model.instructions)
        driver.write_window("memory", model.memory)
        driver.write_window("program", np.array([[line]], np.uint32))
        driver.start()
        status = driver.wait(MOST_CYCLES)
        try:
            run = model.run(line)
        except StoppedError as error:
            assert (status.cause, status.detail) == (error.cause.value, error.detail)
            driver.clear()
            return False
        assert status.done
        assert (driver.cycles(), driver.counters()) == (run.cycles, run.counters)
        memory = driver.read_window("memory", 0, config.memory_lines)
        np.testing.assert_array_equal(memory, model.memory)
        return True


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    found = Pair()
    yield found
    found.close()


def check_computing(pair: Pair, seed: int) -> bool:
    words, length = (256, 1024, 8192)[seed % 3], (5, 20, 40, 80, 160)[seed % 5]
    lanes = pair.config.core_lanes
    given = computing_program(seed, lanes, length=length, memory_words=words)
    return pair.check(given, starts=1 + seed % 2)


def check_moving(pair: Pair, seed: int) -> bool:
    return pair.check(moving_program(seed, pair.config.core_lanes, pair.config.memory_words // 2))


def test_programs_that_compute(pair: Pair):
    assert sum(check_computing(pair, seed) for seed in range(24)) > 12


def test_programs_that_move_words(pair: Pair):
    assert all(check_moving(pair, seed) for seed in range(16))


def test_hits_take_turns_with_a_line_that_several_wait_for(pair: Pair):
    """Hits that meet its answers at any of them, and what needs the hit."""
    waiting = ["load s4, [1024]", "load s5, [1025]", "load s6, [1026]"]
    needing = ["load s20, [zero + 1]", "fdiv s21, s20, s20", "fdiv s22, s21, s21", "halt"]
    for gap in range(14, 30):
        between = ["add s9, s9, 1"] * gap
        text = "\n".join(["load s1, [zero]", "add s2, s1, 1", *waiting, *between, *needing])
        assert pair.check(CoreProgram(assembled(text).words(), np.zeros(2048, np.uint32))), gap


@pytest.mark.parametrize("each", ["store s9, [{}]", "prefetch [{}]", "store.v v9, [{}]"])
def test_requests_wait_for_those_before_them(pair: Pair, each: str):
    """For a place in their queue alone: no register is set free by any of them."""
    lines = [each.format(place) for place in range(8, 24 * LINE_WORDS, LINE_WORDS + 1)]
    program = CoreProgram(assembled("\n".join([*lines, "halt"])).words(), np.zeros(2048, np.uint32))
    assert pair.check(program)


@pytest.mark.parametrize("starts", [1, 3, 5])
def test_commands_at_the_end_of_memory(pair: Pair, starts: int):
    """Behind which nothing is fetched."""
    lines = -(-(starts + 1) // LINE_UNITS)
    assert pair.check(moving_program(0, pair.config.core_lanes, 1024), starts, lines)


@pytest.mark.slow
@pytest.mark.parametrize("fields", OTHERS)
def test_many_programs_on_other_cores(fields: tuple[str, ...]):
    found = Pair("near_lanes=0", *fields)
    for seed in range(100, 700):
        check_computing(found, seed)
        assert check_moving(found, seed)
    found.close()
