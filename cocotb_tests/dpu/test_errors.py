"""Every error, provoked on purpose: cause and detail, and that the machine stops there."""

from __future__ import annotations

from collections.abc import Sequence

import cocotb
import numpy as np

from cocotb_tests.dpu.configs import ODD, config_under_test, environment
from cocotb_tests.dpu.machine import Machine, use_machine
from cocotb_tests.lib.host_port import open_port
from cocotb_tests.lib.run import run_machine, verilog_of
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    ISSUED,
    WRITE_COPY,
    ErrorCause,
    Opcode,
    instruction_bytes,
    instruction_word_bits,
)
from gnarl.sw.runtime.machine.host import Status
from tests.support.dpu.programs import HALT, NOP, Instruction, copy, load, program, store

CONFIG = ODD
ILLEGAL, RANGE = ErrorCause.ILLEGAL_OPCODE, ErrorCause.ADDRESS_OUT_OF_RANGE
EMPTY, FULL = ErrorCause.READ_OF_EMPTY_REGISTER, ErrorCause.WRITE_TO_FULL_BANK
CONFLICT = ErrorCause.WRITE_CONFLICT

FIRST_PE = (0, 1, 0)
RESULT = FIRST_WRITER
"""Write source of the single PE of a tree, for its bank 1."""


def initial_data() -> np.ndarray:
    return np.arange(CONFIG.data_rows * CONFIG.banks, dtype=np.uint32).reshape(CONFIG.data_rows, -1)


async def stops(
    dut,
    instructions: Sequence[Instruction],
    cause: ErrorCause,
    detail: int,
    *,
    after: int,
    changed: Sequence[int] = (),
    issued: int | None = None,
    stream: np.ndarray | None = None,
) -> None:
    """Expects an error ``after`` so many cycles from the issue of the first of ``instructions``.

    Before it the machine loads row 1 into banks 0 to 3, and stores it in row 2; behind it, it
    stores bank 0 in rows 15 to 17. Of the other rows, ``changed`` and no more differ afterwards.
    ``issued`` is the sum of the counters. Then starts are refused until a clear; after it a clean
    program runs. A ``stream`` is a program of its own, without these loads and stores.
    """
    assert config_under_test() == CONFIG
    port = await open_port(dut)
    first = [load(1, 0, 1, 2, 3), NOP, store(2, {0: 0, 1: 0, 2: 0, 3: 0})]
    late = [store(row, {0: 0}) for row in (15, 16, 17)]
    cycles = CONFIG.start_cycles + (len(first) if stream is None else 0) + after + 1

    def use(machine: Machine) -> None:
        driver, data = machine.driver, initial_data()
        code = program(CONFIG, [*first, *instructions, *late, HALT]) if stream is None else stream
        machine.load(code, data)
        expected = Status(busy=False, done=False, cause=cause, detail=detail)
        assert machine.start_and_wait() == expected
        assert driver.cycles() == cycles
        found = machine.data()
        if stream is None:
            data[2, :4] = data[1, :4]
        assert np.flatnonzero((found != data).any(axis=1)).tolist() == list(changed)

        # Not even a program without fault starts now.
        machine.load(program(CONFIG, [HALT]), found)
        for _ in range(2):
            assert machine.start_and_wait() == expected
            assert driver.cycles() == cycles
        driver.stop()
        assert driver.status() == expected
        if issued is not None:
            assert sum(driver.counters()[name] for name in ISSUED) == issued
        driver.clear()
        assert driver.status() == Status(busy=False, done=False, cause=0, detail=0)
        assert driver.cycles() == 0
        assert sum(driver.counters()[name] for name in ISSUED) == 0
        assert (machine.data() == found).all()

        machine.load(program(CONFIG, [*first, HALT]), initial_data())
        assert machine.start_and_wait() == Status(busy=False, done=True, cause=0, detail=0)
        data = initial_data()
        data[2, :4] = data[1, :4]
        assert (machine.data() == data).all()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def illegal_opcode(dut):
    for opcode in (8, 15):
        stream = np.array([Opcode.NOP, Opcode.NOP, opcode | 0xA0, Opcode.HALT], np.uint8)
        await stops(dut, [], ILLEGAL, opcode, after=2, stream=stream, issued=2)


@cocotb.test()
async def illegal_pe_operation(dut):
    for opcode in (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE):
        operations = {(5, 1, 0): 7, (3, 1, 0): 7}
        bad = Instruction(opcode, operations=operations, row=4)
        await stops(dut, [bad], ILLEGAL, 0x103, after=0)


@cocotb.test()
async def illegal_write_source(dut):
    bad = Instruction(Opcode.EXEC, write_sources={4: 3, 11: 3, 1: RESULT})
    await stops(dut, [bad], ILLEGAL, 0x204, after=0)


@cocotb.test()
async def row_beyond_the_data_memory(dut):
    for row in (CONFIG.data_rows, 31):
        for opcode in (Opcode.LOAD, Opcode.STORE, Opcode.EXEC_LOAD, Opcode.EXEC_STORE):
            bad = Instruction(opcode, reads={0: 0}, row=row, banks=[0])
            await stops(dut, [bad], RANGE, row, after=0)


@cocotb.test()
async def lane_that_takes_from_no_bank(dut):
    for opcode in (Opcode.EXEC, Opcode.COPY):
        bad = Instruction(opcode, lanes={7: CONFIG.banks, 9: 15})
        await stops(dut, [bad], RANGE, 7, after=0)


@cocotb.test()
async def register_that_the_bank_lacks(dut):
    for register in (CONFIG.registers, 15):
        await stops(dut, [store(4, {3: register, 5: register})], RANGE, 3, after=0)


@cocotb.test()
async def program_without_an_end(dut):
    size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
    stream = np.zeros(size, np.uint8)
    await stops(dut, [], RANGE, size, after=size, stream=stream, issued=size)


@cocotb.test()
async def instruction_that_does_not_end_within_the_memory(dut):
    size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
    for opcode in (Opcode.LOAD, Opcode.EXEC, Opcode.STORE):
        first = size - instruction_bytes(CONFIG, opcode) + 1
        stream = np.zeros(size, np.uint8)
        stream[first] = opcode
        await stops(dut, [], RANGE, first, after=first, stream=stream, issued=first)


@cocotb.test()
async def read_of_an_empty_register(dut):
    for opcode in (Opcode.STORE, Opcode.EXEC, Opcode.COPY, Opcode.EXEC_LOAD, Opcode.EXEC_STORE):
        bad = Instruction(opcode, reads={0: 0, 6: 2, 9: 0}, row=4, banks=[0])
        await stops(dut, [bad], EMPTY, 6, after=0)


@cocotb.test()
async def read_of_a_register_that_was_freed(dut):
    await stops(dut, [store(5, {2: 0}, free=[2]), store(4, {2: 0})], EMPTY, 2, after=1, changed=[5])


@cocotb.test()
async def read_of_a_word_that_is_not_there_yet(dut):
    await stops(dut, [load(3, 7), store(4, {7: 0})], EMPTY, 7, after=1)
    compute = Instruction(Opcode.EXEC, lanes={}, results={1: FIRST_PE})
    await stops(dut, [compute, store(4, {1: 1})], EMPTY, 1, after=1)


@cocotb.test()
async def write_to_a_full_bank(dut):
    fill = [load(3, 8, 10)] * (CONFIG.registers + 1)
    await stops(dut, fill, FULL, 8, after=CONFIG.registers + 2, changed=[15])


@cocotb.test()
async def freeing_comes_too_late_for_the_write_of_its_cycle(dut):
    fill = [load(3, 8)] * (CONFIG.registers + 1) + [NOP, store(4, {8: 0}, free=[8])]
    await stops(dut, fill, FULL, 8, after=CONFIG.registers + 2)


@cocotb.test()
async def two_writes_to_a_bank_in_a_cycle(dut):
    # A load takes 2 cycles, as a result of layer 1; a copy takes 1.
    both = Instruction(Opcode.EXEC_LOAD, results={1: FIRST_PE, 3: (1, 1, 0)}, row=3, banks=[1, 2])
    await stops(dut, [both], CONFLICT, 1, after=2, changed=[15])
    move = Instruction(Opcode.EXEC, write_sources={1: WRITE_COPY})
    compute = Instruction(Opcode.EXEC, results={1: FIRST_PE})
    await stops(dut, [compute, move], CONFLICT, 1, after=2)
    await stops(dut, [load(3, 9), copy({0: 0}, {9: 0})], CONFLICT, 9, after=2)


@cocotb.test()
async def the_lowest_of_several_causes_counts(dut):
    empty = Instruction(Opcode.EXEC_STORE, reads={5: 3}, row=31)
    await stops(dut, [empty], RANGE, 31, after=0)
    empty = Instruction(Opcode.EXEC_STORE, reads={5: 3}, row=31, operations={FIRST_PE: 7})
    await stops(dut, [empty], ILLEGAL, 0x100, after=0)
    fill = [load(3, 4)] * (CONFIG.registers + 1) + [NOP, store(4, {9: 0})]
    await stops(dut, fill, EMPTY, 9, after=CONFIG.registers + 2)


@cocotb.test()
async def errors_count_until_the_machine_is_done(dut):
    stream = program(CONFIG, [*[load(3, 8)] * (CONFIG.registers + 1), HALT])
    await stops(dut, [], FULL, 8, after=CONFIG.registers + 2, stream=stream)


@cocotb.test()
async def nothing_behind_a_halt_counts(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        stream = np.concatenate([program(CONFIG, [HALT]), np.full(40, 0xFF, np.uint8)])
        machine.load(stream, initial_data())
        assert machine.start_and_wait() == Status(busy=False, done=True, cause=0, detail=0)
        assert machine.driver.cycles() == CONFIG.start_cycles + CONFIG.drain_cycles
        machine.load(program(CONFIG, [NOP, HALT, load(31, 0)]), initial_data())
        assert machine.start_and_wait() == Status(busy=False, done=True, cause=0, detail=0)

    await use_machine(port, CONFIG, use)


def test_errors():
    run_machine(verilog_of("dpu", CONFIG), __name__, name="dpu", environment=environment(CONFIG))
