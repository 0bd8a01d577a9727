"""What the machine stops at, each by its name, and what counts of several errors in a cycle."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    ErrorCause,
    Opcode,
    instruction_bytes,
    instruction_word_bits,
)
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import ModelError, run
from tests.support.dpu.model_runs import CONFIG, ODD, fails, simulate
from tests.support.dpu.programs import NOP, Instruction, load, program, store

EMPTY = Rows.first(np.zeros((0, CONFIG.banks), np.uint32))


class TestErrors:
    def test_the_text_names_cycle_instruction_byte_cause_and_detail(self):
        address = 1 + instruction_bytes(CONFIG, Opcode.LOAD)
        text = f"cycle 5, instruction 2 at byte {address:#x}: READ_OF_EMPTY_REGISTER, detail 0x3"
        with pytest.raises(ModelError, match=f"^{re.escape(text)}$") as caught:
            simulate([NOP, load(0, 0), store(0, {3: 7})])
        assert caught.value.address == address

    @pytest.mark.parametrize("opcode", [8, 15])
    def test_illegal_opcode(self, opcode: int):
        with pytest.raises(ModelError) as caught:
            run(CONFIG, np.array([0, opcode], np.uint8), EMPTY)
        assert (caught.value.cause, caught.value.detail) == (ErrorCause.ILLEGAL_OPCODE, opcode)
        assert (caught.value.instruction, caught.value.address) == (1, 1)
        assert caught.value.cycle == CONFIG.start_cycles + 1

    def test_opcodes_of_overlap_without_it(self):
        config = DpuConfig(depth=2, banks=8, registers=8, overlap=False)
        with pytest.raises(ModelError) as caught:
            run(config, np.array([Opcode.EXEC_LOAD], np.uint8), EMPTY)
        assert caught.value.cause == ErrorCause.ILLEGAL_OPCODE

    def test_illegal_pe_operation_though_nothing_is_written(self):
        instruction = Instruction(Opcode.EXEC, operations={(1, 1, 1): 7, (1, 2, 0): 7})
        fails([NOP, instruction], ErrorCause.ILLEGAL_OPCODE, 0x100 + 4, 1)

    def test_illegal_write_source(self):
        source = FIRST_WRITER + 1
        instruction = Instruction(Opcode.EXEC, write_sources={4: source, 9: source})
        fails([instruction], ErrorCause.ILLEGAL_OPCODE, 0x200 + 4, 0, config=ODD)

    @pytest.mark.parametrize("opcode", [Opcode.LOAD, Opcode.STORE, Opcode.EXEC_LOAD])
    def test_row_beyond_the_data_memory(self, opcode: Opcode):
        instruction = Instruction(opcode, row=9)
        fails([instruction], ErrorCause.ADDRESS_OUT_OF_RANGE, 9, 0, config=ODD)

    @pytest.mark.parametrize("opcode", [Opcode.EXEC, Opcode.COPY])
    def test_crossbar_source_beyond_the_banks(self, opcode: Opcode):
        instruction = Instruction(opcode, lanes={7: 12, 3: 15})
        fails([instruction], ErrorCause.ADDRESS_OUT_OF_RANGE, 3, 0, config=ODD)

    def test_read_address_beyond_the_registers(self):
        fails([store(0, {11: 9})], ErrorCause.ADDRESS_OUT_OF_RANGE, 11, 0, config=ODD)

    def test_read_address_of_a_bank_that_is_not_read_may_be_anything(self):
        columns_only = Instruction(Opcode.COPY, lanes={}, copies=[])
        simulate([columns_only], ODD)

    def test_read_of_an_empty_register_names_the_lowest_bank(self):
        fails([store(0, {6: 0, 4: 0})], ErrorCause.READ_OF_EMPTY_REGISTER, 4, 0)

    def test_write_to_a_full_bank(self):
        loads = [load(0, 3, 5)] * CONFIG.registers
        simulate(loads)
        last = CONFIG.registers
        fails([*loads, load(0, 5)], ErrorCause.WRITE_TO_FULL_BANK, 5, last, CONFIG.load_latency)

    def test_a_register_freed_in_the_cycle_of_the_write_does_not_help_a_full_bank(self):
        loads = [load(0, 3)] * (CONFIG.registers + 1)
        release = store(0, {3: 0}, free=[3])
        full = ErrorCause.WRITE_TO_FULL_BANK
        fails([*loads, NOP, release], full, 3, CONFIG.registers, CONFIG.load_latency)
        simulate([*loads, release])

    def test_writes_of_the_drain_are_checked(self):
        config = DpuConfig(depth=2, banks=8, registers=8, pe_stages=8)
        high = Instruction(Opcode.EXEC, results={1: (0, 2, 0)})
        low = Instruction(Opcode.EXEC, results={1: (0, 1, 0)})
        instructions = [high, *[NOP] * 7, low]
        cause = ErrorCause.WRITE_CONFLICT
        fails(instructions, cause, 1, 8, config.layer_latency(1), config)

    def test_a_program_without_halt_runs_into_the_end_of_the_memory(self):
        size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
        length = instruction_bytes(CONFIG, Opcode.LOAD)
        fails(
            [load(0, 0)],
            ErrorCause.ADDRESS_OUT_OF_RANGE,
            size,
            1 + size - length,
            halt=False,
        )

    def test_an_instruction_that_the_memory_cuts_off(self):
        size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
        stream = np.zeros(size, np.uint8)
        stream[-1] = Opcode.EXEC
        with pytest.raises(ModelError) as caught:
            run(CONFIG, stream, EMPTY)
        found = (caught.value.cause, caught.value.detail, caught.value.instruction)
        assert found == (ErrorCause.ADDRESS_OUT_OF_RANGE, size - 1, size - 1)

    def test_the_rest_of_a_cut_off_program_is_0(self):
        # A LOAD whose mask is missing loads nothing.
        stream = program(CONFIG, [load(0, 0)])[:1]
        with pytest.raises(ModelError) as caught:
            run(CONFIG, stream, EMPTY)
        assert caught.value.cause == ErrorCause.ADDRESS_OUT_OF_RANGE

    def test_a_program_longer_than_the_memory_is_refused(self):
        size = CONFIG.instruction_words * instruction_word_bits(CONFIG) // 8
        text = (
            f"program of {size + 1} bytes: the instruction memory holds {size}, "
            "as instruction_words = 16 says"
        )
        with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
            run(CONFIG, np.zeros(size + 1, np.uint8), EMPTY)


class TestPrecedence:
    """The lowest cause counts where several errors are in a cycle."""

    def test_an_illegal_opcode_before_an_address(self):
        instruction = Instruction(
            Opcode.EXEC_LOAD, operations={(0, 1, 0): 7}, lanes={0: 13}, row=15
        )
        fails([instruction], ErrorCause.ILLEGAL_OPCODE, 0x100, 0, config=ODD)

    def test_a_row_before_a_lane_and_a_lane_before_a_register(self):
        instruction = Instruction(Opcode.EXEC_LOAD, reads={2: 9}, lanes={1: 13}, row=15)
        fails([instruction], ErrorCause.ADDRESS_OUT_OF_RANGE, 15, 0, config=ODD)
        instruction = Instruction(Opcode.EXEC, reads={2: 9}, lanes={4: 13})
        fails([instruction], ErrorCause.ADDRESS_OUT_OF_RANGE, 4, 0, config=ODD)

    def test_a_read_before_writes_of_the_same_cycle(self):
        clash = Instruction(Opcode.EXEC_LOAD, results={2: (0, 1, 1)}, row=1, banks=[2])
        cause = ErrorCause.READ_OF_EMPTY_REGISTER
        fails([clash, NOP, store(0, {7: 0})], cause, 7, 2)

    def test_a_full_bank_before_a_conflict(self):
        loads = [load(0, 3)] * CONFIG.registers
        clash = Instruction(Opcode.EXEC_LOAD, results={2: (0, 1, 1)}, row=1, banks=[2, 3])
        full = ErrorCause.WRITE_TO_FULL_BANK
        fails([*loads, clash], full, 3, CONFIG.registers, CONFIG.load_latency)
