# amaranth: UnusedElaboratable=no
"""The whole machine on programs written by hand; ``cocotb_tests/dpu`` has the random ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.instruction_fetch import InstructionFetch
from gnarl.hw.dpu.isa import ErrorCause, Opcode, PeOp, instruction_word_bits
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.hw.dpu.top import build
from gnarl.hw.lib.losses import LOSSES
from gnarl.sw.runtime.machine.host import AcceleratorError, HostDriver, Status
from tests.support.dpu.programs import HALT, NOP, Instruction, copy, load, program, store
from tests.support.machines.amaranth_port import port_of

CONFIG = DpuConfig(
    depth=2, banks=8, registers=8, format="fixed16.0", instruction_words=16, data_rows=16
)
DONE = Status(busy=False, done=True, cause=0, detail=0)


def machine() -> HostDriver:
    return HostDriver(port_of(CONFIG, build), memory_map(CONFIG), CONFIG.digest)


def write_program(driver: HostDriver, stream: np.ndarray) -> None:
    rows = np.zeros((CONFIG.instruction_words, instruction_word_bits(CONFIG) // 8), np.uint8)
    rows.reshape(-1)[: len(stream)] = stream
    driver.write_window("instructions", rows.view("<u4"))


def test_fetch_takes_the_cycles_that_the_configuration_says():
    for stages in (3, 4, 5, 6):
        config = replace(CONFIG, fetch_stages=stages)
        latency = InstructionFetch(config).latency
        assert latency + config.decoder_stages == config.start_cycles == stages


def test_two_trees_compute_in_one_instruction():
    # Banks 0 to 3: (1 + 2) * (3 - 4) at the top of tree 0; banks 4 to 7: max and min in tree 1.
    compute = Instruction(
        Opcode.EXEC,
        reads=dict.fromkeys(range(8), 0),
        free=range(8),
        lanes={lane: lane for lane in range(8)},
        operations={
            (0, 1, 0): PeOp.ADD,
            (0, 1, 1): PeOp.SUB,
            (0, 2, 0): PeOp.MUL,
            (1, 1, 0): PeOp.MAX,
            (1, 1, 1): PeOp.MIN,
        },
        results={1: (0, 2, 0), 4: (1, 1, 0), 6: (1, 1, 1)},
    )
    instructions = [
        load(3, *range(8)),
        NOP,
        compute,
        NOP,
        NOP,
        store(5, {1: 0, 4: 0, 6: 0}),
        HALT,
    ]
    driver = machine()
    write_program(driver, program(CONFIG, instructions))
    for offset in (0, 10):
        driver.write_window("data", [np.arange(1, 9) + offset], row=3)
        driver.write_window("data", [np.full(8, 7)], row=5)
        assert driver.run(max_cycles=100) == DONE
        assert driver.cycles() == CONFIG.start_cycles + len(instructions) - 1 + CONFIG.drain_cycles
        assert driver.counters() == {
            **{"exec": 1, "copy": 0, "load": 1, "store": 1, "nop": 3},
            **dict.fromkeys(LOSSES, 0),
        }
        product = -(3 + 2 * offset) & 0xFFFF
        expected = [7, product, 7, 7, 6 + offset, 7, 7 + offset, 7]
        assert driver.read_window("data", 5, 1)[0].tolist() == expected


def test_words_are_copied_through_the_crossbar():
    lanes = {bank: (bank + 3) % 8 for bank in range(8)}
    moved = copy(dict.fromkeys(range(8), 0), lanes, free=range(8))
    stored = store(5, dict.fromkeys(range(8), 0))
    driver = machine()
    write_program(driver, program(CONFIG, [load(3, *range(8)), NOP, moved, NOP, NOP, stored, HALT]))
    driver.write_window("data", [np.arange(1, 9)], row=3)
    assert driver.run(max_cycles=100) == DONE
    issued = {"exec": 0, "copy": 1, "load": 1, "store": 1, "nop": 3}
    assert driver.counters() == issued | dict.fromkeys(LOSSES, 0)
    copied = [lanes[bank] + 1 for bank in range(8)]
    assert driver.read_window("data", 5, 1)[0].tolist() == copied


def test_long_instructions_follow_each_other_without_a_gap():
    """Each of them takes more than half a row of the instruction memory."""
    driver = machine()
    instructions = [Instruction(Opcode.EXEC)] * 12
    stream = program(CONFIG, [*instructions, HALT])
    assert len(stream) > 8 * instruction_word_bits(CONFIG) // 8
    write_program(driver, stream)
    assert driver.run(max_cycles=100) == DONE
    assert driver.cycles() == CONFIG.start_cycles + len(instructions) + CONFIG.drain_cycles
    assert driver.counters()["exec"] == len(instructions)


@pytest.mark.parametrize(
    "stream, before, cause, detail",
    [
        ([Opcode.NOP, 9], 1, ErrorCause.ILLEGAL_OPCODE, 9),
        (program(CONFIG, [NOP, NOP, store(5, {6: 3})]), 2, ErrorCause.READ_OF_EMPTY_REGISTER, 6),
    ],
)
def test_a_fault_ends_the_run_in_its_cycle(stream, before, cause, detail):
    driver = machine()
    write_program(driver, np.array(stream, np.uint8))
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=100)
    assert caught.value.status == Status(False, False, cause, detail)
    assert driver.cycles() == CONFIG.start_cycles + before + 1  # that of the fault
    assert driver.counters()["nop"] == before


def test_instructions_that_do_not_end_within_the_memory():
    driver = machine()
    size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
    rows = np.full(size, Opcode.NOP, np.uint8)
    rows[-1] = Opcode.EXEC
    write_program(driver, rows)
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=10_000)
    status = Status(False, False, ErrorCause.ADDRESS_OUT_OF_RANGE, size - 1)
    assert caught.value.status == status
