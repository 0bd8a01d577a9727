# amaranth: UnusedElaboratable=no
"""Counters of lost results: of the machine, and of the model on the same programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cocotb_tests.dpu.random_programs import random_program
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, PeOp, instruction_word_bits
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.hw.dpu.top import build
from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.lib.losses import LOSSES
from gnarl.sw.golden.words import to_words
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import run
from gnarl.sw.runtime.machine.host import AcceleratorError, HostDriver
from tests.support.arithmetic.losses import special_words
from tests.support.dpu.programs import HALT, NOP, Instruction, load, program
from tests.support.machines.amaranth_port import port_of
from tests.support.parameters import slow_but

CONFIGS = {
    "float": DpuConfig(
        depth=2, banks=8, registers=8, format="float16", instruction_words=256, data_rows=16
    ),
    "pipelined": DpuConfig(
        depth=3,
        banks=8,
        registers=8,
        format="float8_e4m3",
        output_interconnect="crossbar",
        pe_stages=3,
        fetch_stages=4,
        instruction_words=256,
        data_rows=16,
        overlap=False,
    ),
    "wide": DpuConfig(
        depth=2, banks=8, registers=8, format="bfloat16", instruction_words=256, data_rows=16
    ),
    "fixed": DpuConfig(
        depth=1,
        banks=8,
        registers=8,
        format="fixed16.8",
        pe_stages=2,
        write_stages=1,
        instruction_words=256,
        data_rows=16,
    ),
}

STAGES = {
    f"pe_{pe}_write_{write}_fault_{fault}": DpuConfig(
        depth=1,
        banks=8,
        registers=8,
        format="fixed4.0",
        pe_stages=pe,
        fetch_stages=2 + pe,
        write_stages=write,
        fault_stages=fault,
        instruction_words=8,
        data_rows=4,
    )
    for pe, write, fault in product((1, 2), (0, 1), (0, 1))
}
"""All that a run's end depends on, in the smallest machines."""

SHORTEST = "pe_1_write_0_fault_0"


class Machine:
    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        self.port = port_of(config, build)
        self.driver = HostDriver(self.port, memory_map(config), config.digest)

    def load(self, stream: np.ndarray, data: np.ndarray) -> None:
        size = instruction_word_bits(self._config) // 8
        rows = np.zeros((self._config.instruction_words, size), np.uint8)
        rows.reshape(-1)[: len(stream)] = stream
        self.driver.write_window("instructions", rows.view("<u4"))
        self.driver.write_window("data", data)

    def run(self) -> dict[str, int]:
        assert self.driver.run(max_cycles=1000).done
        return self.driver.counters()


@pytest.mark.parametrize(
    "name, runs",
    [("fixed", 3), *(pytest.param(name, 12, marks=pytest.mark.slow) for name in CONFIGS)],
)
def test_random_programs_lose_what_they_lose_in_the_model(name: str, runs: int) -> None:
    config, rng = CONFIGS[name], np.random.default_rng(2)
    machine = Machine(config)
    found = dict.fromkeys(LOSSES, 0)
    for _ in range(runs):
        given = random_program(config, rng, 60)
        data = numbers_at_ends(config, given.data.shape, rng)
        machine.load(given.stream, data)
        expected = run(config, given.stream, Rows.first(data))
        assert machine.run() == expected.counters
        found = {name: count + expected.counters[name] for name, count in found.items()}
    assert found["underflow"] and (found["overflow"] or found["nan"])


def numbers_at_ends(
    config: DpuConfig, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Any bits, small numbers, the largest ones and infinities, powers of two, whose products are
    half of the least number, and corners of the format, NaNs among them; of small ones a third, a
    sixth of each other."""
    bits = rng.integers(0, 1 << config.width, shape, np.uint32)
    format = config.number_format
    ends = to_words(np.array([format.largest, format.lowest]), config.format)
    powers = 1 << np.arange(config.width, dtype=np.uint32)
    corners = special_words(format).astype(np.uint32)
    if isinstance(format, FloatFormat):
        sign = 1 << (config.width - 1)
        ends = np.array([*ends, format.infinity, format.infinity | sign])
        powers = np.arange(0, format.infinity, 1 << format.fraction, np.uint32)
    chosen = (rng.choice(each, shape).astype(np.uint32) for each in (ends, powers, corners))
    return np.choose(rng.integers(0, 6, shape), [bits, bits & 7, bits & 7, *chosen])


def overflowing(config: DpuConfig) -> tuple[np.ndarray, np.ndarray]:
    """A program whose last instruction adds the largest numbers at the top of each tree."""
    top = config.depth
    loads = [load(0, *range(config.banks)), *[NOP] * config.load_latency]
    compute = Instruction(
        Opcode.EXEC,
        reads=dict.fromkeys(range(config.banks), 0),
        lanes={lane: lane for lane in range(config.banks)},
        operations={
            (tree, layer, place): PeOp.ADD if layer == top else PeOp.PASS_LEFT
            for tree in range(config.trees)
            for layer in range(1, top + 1)
            for place in range(config.tree_inputs >> layer)
        },
    )
    largest = config.number_format.largest
    data = np.zeros((config.data_rows, config.banks), np.uint32)
    data[0] = to_words(np.full(config.banks, largest), config.format)
    return program(config, [*loads, compute, HALT]), data


@pytest.mark.parametrize("name", slow_but(["fixed", *STAGES], STAGES | CONFIGS))
def test_the_last_results_count_and_each_run_counts_anew(name: str) -> None:
    config = (STAGES | CONFIGS)[name]
    machine = Machine(config)
    stream, data = overflowing(config)
    machine.load(stream, data)
    expected = run(config, stream, Rows.first(data)).counters
    assert [expected[name] for name in LOSSES] == [0, config.trees, 0]
    for _ in range(2):
        assert machine.run() == expected


@pytest.mark.parametrize("name", slow_but(["fixed", SHORTEST], STAGES | CONFIGS))
def test_what_a_stopped_run_leaves_under_way_is_not_the_next_ones(name: str) -> None:
    config = (STAGES | CONFIGS)[name]
    machine = Machine(config)
    machine.load(*overflowing(config))
    for cycles in range(config.run_cycles(4 + config.load_latency)):
        machine.driver.start()
        machine.port.step(cycles)
        machine.driver.stop()
        counters = machine.run()
        assert [counters[name] for name in LOSSES] == [0, config.trees, 0]


@pytest.mark.parametrize("name", slow_but([SHORTEST], STAGES))
def test_a_run_that_ends_early_counts_the_results_up_to_its_last_cycle(name: str) -> None:
    config = STAGES[name]
    machine = Machine(config)
    machine.load(*overflowing(config))
    instructions = 3 + config.load_latency
    # The second-last instruction issues in this cycle, of cycles from 1 on.
    issued = config.start_cycles + instructions - 1
    seen = set()
    for limit in range(1, config.run_cycles(instructions)):
        machine.driver.clear()
        machine.driver.limit(limit)
        with pytest.raises(AcceleratorError):
            machine.driver.run(max_cycles=1000)
        counts = machine.driver.cycles() >= issued + config.layer_end(config.depth)
        assert machine.driver.counters()["overflow"] == (config.trees if counts else 0)
        seen.add(counts)
    assert seen == {False, True}


@pytest.mark.parametrize("name", slow_but([SHORTEST], STAGES))
def test_clear_leaves_no_count_in_whatever_cycle_it_comes(name: str) -> None:
    config = STAGES[name]
    machine = Machine(config)
    machine.load(*overflowing(config))
    for cycles in range(config.run_cycles(3 + config.load_latency) + 3):
        machine.driver.start()
        machine.port.step(cycles)
        machine.driver.clear()
        assert not any(machine.driver.counters().values())


@pytest.mark.parametrize("name", slow_but([SHORTEST], STAGES))
def test_a_run_directly_behind_another_counts_anew(name: str) -> None:
    """A start in each cycle, of which the first behind a run's end begins the next one."""
    config = STAGES[name]
    machine = Machine(config)
    machine.load(*overflowing(config))
    for _ in range(3 * config.run_cycles(3 + config.load_latency)):
        machine.driver.start()
    machine.driver.finish(max_cycles=1000)
    assert machine.driver.counters()["overflow"] == config.trees
