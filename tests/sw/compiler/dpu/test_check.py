"""The checkers themselves: sound results pass, and each broken rule has its text."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, Opcode, PeOp
from gnarl.sw.compiler.dpu.binarise import BinaryDag
from gnarl.sw.compiler.dpu.check import BrokenRuleError, check_binary, check_instructions
from gnarl.sw.compiler.dpu.memory import MemoryLayout
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import dags
from tests.sw.compiler.dpu.passes import SMALL, Passes, binary_dag, built, configs, run_passes

ADD = PeOp.ADD


def broken(text: str) -> pytest.RaisesExc[BrokenRuleError]:
    return pytest.raises(BrokenRuleError, match=f"^{re.escape(text)}$")


class TestBinary:
    TREE = binary_dag(4, [(ADD, 0, 1), (ADD, 2, 3), (ADD, 4, 5)], [6], [2, 2, 2])

    def change(self, field: str, index: int, value: int) -> BinaryDag:
        column = getattr(self.TREE, field).copy()
        column[index] = value
        return dataclasses.replace(self.TREE, **{field: column})

    def test_a_tree_of_two_levels_passes_where_it_fits(self):
        check_binary(self.TREE, SMALL)
        with broken("the group of operation 2 has 2 levels"):
            check_binary(self.TREE, dataclasses.replace(SMALL, depth=1))

    def test_the_first_operation_is_a_level_too(self):
        with broken("the group of operation 1 has 2 levels"):
            chain = binary_dag(2, [(ADD, 0, 1), (ADD, 2, 2)], [3], [1, 1])
            check_binary(chain, dataclasses.replace(SMALL, depth=1))

    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("value", [5, 6, -1])
    def test_operands_come_first(self, side: str, value: int):
        with broken("operation 1 uses a value that comes after it"):
            check_binary(self.change(side, 1, value), SMALL)

    def test_a_groups_number_is_its_root(self):
        with broken("operation 0 belongs to group 1, not a root"):
            check_binary(self.change("group", 0, 1), SMALL)
        with broken("operation 1 belongs to group 0, not a root"):
            check_binary(self.change("group", 1, 0), SMALL)


class Program:
    """Instructions written by hand, field by field."""

    def __init__(self, *opcodes: Opcode, config: DpuConfig = SMALL) -> None:
        count, banks = len(opcodes), config.banks
        self.config = config
        self.opcode = np.array(opcodes, np.uint8)
        self.columns: dict[str, np.ndarray] = {
            name: np.zeros((count, banks), bool)
            for name in ("read_enable", "valid_reset", "write_enable", "load_enable")
        }
        self.columns["store_enable"] = np.zeros((count, banks), bool)
        for name in ("read_address", "source", "write_source"):
            self.columns[name] = np.zeros((count, banks), np.int32)
        self.columns["operation"] = np.zeros((count, config.pes), np.uint8)
        self.columns["row"] = np.zeros(count, np.int32)

    def set(self, cycle: int, **fields: dict[int, int]) -> Program:
        for name, values in fields.items():
            for index, value in values.items():
                self.columns[name][cycle, index] = value
        return self

    def check(self, binary: BinaryDag, words: list[tuple[int, int, int]]) -> None:
        """Words of the data memory are row, bank, value; outputs are in row 3, from bank 0."""
        row, bank, value = np.array(words, np.int32).T if words else np.zeros((3, 0), np.int32)
        count = len(binary.outputs)
        layout = MemoryLayout(
            self.columns["row"],
            row,
            bank,
            value,
            np.full(count, 3, np.int32),
            np.arange(count, dtype=np.int32),
            4,
        )
        check_instructions(self.opcode, self.columns, layout, binary, self.config)


SUM = binary_dag(2, [(ADD, 0, 1)], [2])
WORDS = [(0, 0, 0), (0, 1, 1)]


def sum_program() -> Program:
    """Loads banks 0 and 1, adds them into bank 0, stores that to row 3."""
    program = Program(Opcode.LOAD, Opcode.NOP, Opcode.EXEC, Opcode.NOP, Opcode.STORE, Opcode.HALT)
    program.set(0, load_enable={0: 1, 1: 1})
    program.set(2, read_enable={0: 1, 1: 1}, valid_reset={0: 1, 1: 1}, source={0: 0, 1: 1})
    program.set(2, operation={0: ADD}, write_source={0: FIRST_WRITER})
    program.set(4, read_enable={0: 1}, store_enable={0: 1})
    program.columns["row"][4] = 3
    return program


class TestInstructions:
    def test_a_sum_passes(self):
        sum_program().check(SUM, WORDS)

    def test_the_other_order_of_operands_is_another_value(self):
        program = sum_program().set(2, source={0: 1, 1: 0})
        with broken("exec writes nothing known to bank 0 in cycle 4"):
            program.check(SUM, WORDS)

    def test_another_operation_is_another_value(self):
        program = sum_program().set(2, operation={0: PeOp.MUL})
        with broken("exec writes nothing known to bank 0 in cycle 4"):
            program.check(SUM, WORDS)

    def test_operations_that_compute_the_same_stand_for_one_another(self):
        twice = binary_dag(2, [(ADD, 0, 1), (ADD, 0, 1)], [3])
        sum_program().check(twice, WORDS)

    def test_a_result_may_pass_through_the_layers_above(self):
        program = sum_program().set(2, operation={2: PeOp.PASS_LEFT}, write_source={0: 3})
        with broken("cycle 4 reads register 0 of bank 0: empty"):
            program.check(SUM, WORDS)
        program = Program(*[Opcode(int(o)) for o in sum_program().opcode[:4]], Opcode.NOP,
                          Opcode.STORE, Opcode.HALT)  # fmt: skip
        program.set(0, load_enable={0: 1, 1: 1})
        program.set(2, read_enable={0: 1, 1: 1}, source={0: 0, 1: 1}, operation={0: ADD})
        # The loaded words stay, so that the sum is written to the next register.
        program.set(2, write_source={0: 3}).set(5, read_enable={0: 1}, read_address={0: 1})
        program.columns["row"][5] = 3
        program.check(SUM, WORDS)

    def test_reading_too_early(self):
        program = sum_program()
        program.opcode[[1, 2]] = program.opcode[[2, 1]]
        for column in program.columns.values():
            column[[1, 2]] = column[[2, 1]]
        with broken("cycle 1 reads register 0 of bank 0: empty"):
            program.check(SUM, WORDS)

    def test_reading_what_was_freed(self):
        program = sum_program().set(4, read_enable={1: 1})
        with broken("cycle 4 reads register 0 of bank 1: empty"):
            program.check(SUM, WORDS)

    def test_reading_another_register(self):
        program = sum_program().set(2, read_address={1: 1})
        with broken("cycle 2 reads register 1 of bank 1: empty"):
            program.check(SUM, WORDS)

    def test_a_word_that_the_host_does_not_fill(self):
        with broken("load writes nothing known to bank 1 in cycle 2"):
            sum_program().check(SUM, WORDS[:1])

    def test_two_words_for_one_place(self):
        with broken("two values for row 0, bank 1"):
            sum_program().check(SUM, [*WORDS, (0, 1, 0)])

    def test_two_writes_to_a_bank_in_one_cycle(self):
        program = sum_program()
        program.opcode[2] = Opcode.EXEC_LOAD
        with broken("bank 0 is written twice in cycle 4"):
            program.set(2, load_enable={0: 1}).check(SUM, WORDS)

    def test_a_copy_and_a_load_in_one_cycle(self):
        program = Program(Opcode.LOAD, Opcode.LOAD, Opcode.COPY, Opcode.NOP, Opcode.HALT)
        program.set(0, load_enable={0: 1}).set(1, load_enable={1: 1})
        program.set(2, read_enable={0: 1}, source={2: 0}, write_enable={2: 1})
        binary = dataclasses.replace(SUM, outputs=np.zeros(0, np.int32))
        program.check(binary, WORDS)
        program.set(2, source={1: 0}, write_enable={1: 1})
        with broken("bank 1 is written twice in cycle 3"):
            program.check(binary, WORDS)

    def test_a_copy_of_nothing(self):
        program = sum_program()
        program.opcode[3] = Opcode.COPY
        program.set(3, source={5: 7}, write_enable={5: 1})
        with broken("copy writes nothing known to bank 5 in cycle 4"):
            program.check(SUM, WORDS)

    def test_a_copy_beside_execution_of_nothing(self):
        program = sum_program().set(2, source={5: 7}, write_source={5: WRITE_COPY})
        with broken("copy writes nothing known to bank 5 in cycle 3"):
            program.check(SUM, WORDS)

    def test_a_full_bank(self):
        count = SMALL.registers + 1
        program = Program(*[Opcode.LOAD] * count, Opcode.HALT)
        for cycle in range(count):
            program.set(cycle, load_enable={0: 1})
        with broken(f"bank 0 is full in cycle {count - 1 + SMALL.load_latency}"):
            program.check(SUM, WORDS)

    def test_a_store_beside_execution_of_a_bank_that_is_not_read(self):
        program = sum_program()
        program.opcode[2] = Opcode.EXEC_STORE
        with broken("cycle 2 stores bank 4 without reading it"):
            program.set(2, store_enable={4: 1}).check(SUM, WORDS)

    def test_another_value_in_the_outputs_place(self):
        program = sum_program()
        program.set(2, valid_reset={0: 0})
        with broken("output 0 is value 2, but value 0 is stored"):
            program.check(SUM, WORDS)

    def test_an_output_that_is_not_stored(self):
        program = sum_program()
        program.columns["row"][4] = 2
        with broken("output 0 is value 2, but value None is stored"):
            program.check(SUM, WORDS)

    def test_an_output_that_is_an_input(self):
        layout = MemoryLayout(
            np.zeros(1, np.int32),
            *[np.zeros(0, np.int32)] * 3,
            np.array([-1], np.int32),
            np.array([1], np.int32),
            0,
        )
        program = Program(Opcode.HALT)
        for output, text in ((1, None), (0, "output 0 is value 0, but value 1 is stored")):
            binary = dataclasses.replace(SUM, outputs=np.array([output], np.int32))
            arguments = (program.opcode, program.columns, layout, binary, SMALL)
            if text is None:
                check_instructions(*arguments)
            else:
                with broken(text):
                    check_instructions(*arguments)


def sums_and_products(builder: DagBuilder) -> None:
    """A few groups, values used twice, and outputs that have users."""
    inputs = [builder.input() for _ in range(12)]
    sums = [builder.operation(Op.ADD, inputs[k : k + 3]) for k in range(10)]
    products = [builder.operation(Op.MUL, sums[k : k + 2]) for k in range(9)]
    for value in sums:
        builder.output(value)
    builder.operation(Op.ADD, products)


def require_passing(found: Passes) -> None:
    check_instructions(found.opcode, found.columns, found.layout, found.binary, found.config)


def check_changed(found: Passes, name: str, place: int | tuple[int, int], value: int) -> None:
    """Checks the instructions with another value at one place of a column."""
    columns = {name: column.copy() for name, column in found.columns.items()}
    columns["opcode"] = found.opcode.copy()
    columns[name][place] = value
    opcode = columns.pop("opcode")
    check_instructions(opcode, columns, found.layout, found.binary, found.config)


MASKS = {
    "read_enable": (
        Opcode.EXEC,
        Opcode.COPY,
        Opcode.STORE,
        Opcode.EXEC_LOAD,
        Opcode.EXEC_STORE,
    ),
    "load_enable": (Opcode.LOAD, Opcode.EXEC_LOAD),
    "store_enable": (Opcode.EXEC_STORE,),
}
"""Masks of which the compiler sets no bit in vain, and the opcodes that use them."""


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_no_bit_of_a_compiled_program_can_go(name: str, overlap: bool):
    found = run_passes(built(sums_and_products), dataclasses.replace(SMALL, overlap=overlap))
    require_passing(found)
    used = np.isin(found.opcode, MASKS[name])[:, None]
    places = np.argwhere(found.columns[name] & used).tolist()
    assert len(places) or (name == "store_enable" and not overlap)
    for cycle, bank in places:
        with pytest.raises(BrokenRuleError):
            check_changed(found, name, (cycle, bank), False)


def test_no_operation_of_a_compiled_program_can_be_another():
    found = run_passes(built(sums_and_products), SMALL)
    require_passing(found)
    places = np.argwhere(found.columns["operation"] >= ADD).tolist()
    assert len(places) >= found.binary.operations
    for cycle, pe in places:
        for other in (PeOp.PASS_LEFT, PeOp.SUB, PeOp.MAX):
            with pytest.raises(BrokenRuleError):
                check_changed(found, "operation", (cycle, pe), other)


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=100), configs(), st.data())
def test_no_instruction_of_a_program_can_be_missing(
    dag: Dag, config: DpuConfig, data: st.DataObject
):
    found = run_passes(dag, config)
    require_passing(found)
    needed = np.flatnonzero(~np.isin(found.opcode, (Opcode.NOP, Opcode.HALT))).tolist()
    if needed:
        cycle = data.draw(st.sampled_from(needed))
        with pytest.raises(BrokenRuleError):
            check_changed(found, "opcode", cycle, Opcode.NOP)
