"""The machine's rules, each by its name. Data words are float32 unless a test says otherwise."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import COUNTERS, WRITE_COPY, ErrorCause, Opcode, PeOp
from gnarl.hw.lib.losses import LOSSES
from gnarl.sw.golden.words import to_words
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import run
from tests.support.dpu.model_runs import CONFIG, fails, row, simulate
from tests.support.dpu.programs import HALT, NOP, Instruction, add, copy, load, program, store


def test_halt_alone_takes_start_and_drain():
    result = simulate([])
    assert result.cycles == CONFIG.start_cycles + CONFIG.drain_cycles == 3 + 3
    assert result.counters == dict.fromkeys(COUNTERS, 0)


def test_every_instruction_takes_a_cycle_and_is_counted():
    instructions = [
        load(0, 0, 1),
        NOP,
        add({0: 0, 1: 0}, {0: 0, 1: 1}, 0),
        copy({1: 0}, {5: 1}),
        Instruction(Opcode.EXEC_LOAD, row=1, banks=[7]),
        Instruction(Opcode.EXEC_STORE, reads={1: 0}, row=2, banks=[1]),
        store(3, {1: 0}),
    ]
    result = simulate(instructions)
    assert result.cycles == CONFIG.start_cycles + len(instructions) + CONFIG.drain_cycles
    issued = {"exec": 3, "copy": 1, "load": 2, "store": 2, "nop": 1}
    assert result.counters == dict.fromkeys(COUNTERS, 0) | issued


@pytest.mark.parametrize(
    ("format", "operation", "left", "right", "lost"),
    [
        ("float32", PeOp.MUL, 1e-30, 1e-30, "underflow"),
        ("float32", PeOp.MUL, 1e-30, -1e-30, "underflow"),
        ("float32", PeOp.MUL, 2.0**-75, 2.0**-75, "underflow"),
        ("float32", PeOp.MUL, 2.0**-74, 2.0**-75, ""),
        ("float32", PeOp.MUL, 0.0, 1e-30, ""),
        ("float32", PeOp.SUB, 1e-30, 1e-30, ""),
        ("float32", PeOp.SUB, 2.0**-126, 2.0**-126 + 2.0**-149, ""),
        ("float32", PeOp.MUL, 1e30, 1e30, "overflow"),
        ("float32", PeOp.ADD, -3e38, -3e38, "overflow"),
        ("float32", PeOp.SUB, 3e38, -3e38, "overflow"),
        ("float32", PeOp.ADD, np.inf, 3e38, ""),
        ("float32", PeOp.SUB, np.inf, np.inf, "nan"),
        ("float32", PeOp.ADD, np.inf, -np.inf, "nan"),
        ("float32", PeOp.MUL, np.inf, 0.0, "nan"),
        ("float32", PeOp.MUL, np.nan, 0.0, ""),
        ("float32", PeOp.ADD, np.nan, 1.0, ""),
        ("float32", PeOp.MAX, np.inf, 1.0, ""),
        ("float32", PeOp.MIN, 1e-40, np.nan, ""),
        ("float32", PeOp.PASS_LEFT, np.inf, 0.0, ""),
        ("fixed16.8", PeOp.MUL, 2.0**-5, 2.0**-5, "underflow"),
        ("fixed16.8", PeOp.MUL, 2.0**-4, 2.0**-4, ""),
        ("fixed16.8", PeOp.MUL, 0.0, 2.0**-8, ""),
        ("fixed16.8", PeOp.ADD, 100, 100, "overflow"),
        ("fixed16.8", PeOp.SUB, -100, 100, "overflow"),
        ("fixed16.8", PeOp.MUL, 16, -16, "overflow"),
        ("fixed16.8", PeOp.MUL, 8, -16, ""),
        ("fixed16.8", PeOp.ADD, 100, -100, ""),
    ],
)
def test_results_that_lose_something_are_counted(
    format: str, operation: PeOp, left: float, right: float, lost: str
):
    config = replace(CONFIG, format=format)
    data = np.zeros((config.data_rows, config.banks), np.uint32)
    data[0, :2] = to_words(np.array([left, right]), format)
    compute = add({0: 0, 1: 0}, {0: 0, 1: 1}, 0, operation)
    found = run(
        config, program(config, [load(0, 0, 1), NOP, compute, compute, HALT]), Rows.first(data)
    )
    expected = dict.fromkeys(LOSSES, 0) | ({lost: 2} if lost else {})
    assert {name: found.counters[name] for name in LOSSES} == expected


@pytest.mark.parametrize("pe_stages", [1, 3])
def test_drain_waits_for_the_highest_layer(pe_stages: int):
    config = DpuConfig(depth=3, banks=8, pe_stages=pe_stages)
    assert simulate([], config).cycles == config.start_cycles + 1 + 3 * pe_stages


def test_what_the_data_memory_held_stays():
    assert row(simulate([]), 4) == [40, 41, 42, 43, 44, 45, 46, 47]


def test_a_tree_computes_every_operation_in_operand_order():
    operations = [PeOp.ADD, PeOp.SUB, PeOp.MUL, PeOp.MAX, PeOp.MIN, PeOp.PASS_LEFT, PeOp.PASS_RIGHT]
    # (30, 31) and (32, 33) through layer 1, their results through layer 2.
    expected = [30 + 31 - (32 + 33), 30 - 31, 30 * 31, 31, 30, 30, 31]
    for operation, value in zip(operations, expected, strict=True):
        top = PeOp.SUB if operation == PeOp.ADD else PeOp.PASS_LEFT
        compute = Instruction(
            Opcode.EXEC,
            reads={0: 0, 1: 0, 2: 0, 3: 0},
            lanes={0: 0, 1: 1, 2: 2, 3: 3},
            operations={(0, 1, 0): operation, (0, 1, 1): operation, (0, 2, 0): top},
            results={2: (0, 2, 0)},
        )
        result = simulate([load(3, 0, 1, 2, 3), NOP, compute, NOP, NOP, store(9, {2: 1})])
        assert row(result, 9) == [90, 91, value, 93, 94, 95, 96, 97]


def test_trees_compute_side_by_side_and_lanes_take_any_bank():
    compute = Instruction(
        Opcode.EXEC,
        reads={0: 0, 7: 0},
        lanes={0: 7, 1: 7, 4: 0, 5: 7, 6: 7, 7: 0},
        operations={
            (0, 1, 0): PeOp.ADD,
            (1, 1, 0): PeOp.MUL,
            (1, 1, 1): PeOp.SUB,
            (1, 2, 0): PeOp.ADD,
        },
        results={1: (0, 1, 0), 4: (1, 1, 0), 6: (1, 1, 1), 7: (1, 2, 0)},
    )
    result = simulate([load(1, 0, 7), NOP, compute, NOP, NOP, store(0, {1: 0, 4: 0, 6: 0, 7: 1})])
    assert row(result, 0) == [0, 34, 2, 3, 170, 5, 7, 177]


@pytest.mark.parametrize("interconnect", ["crossbar", "layered", "single"])
def test_every_interconnect_writes_the_named_pe(interconnect: str):
    config = DpuConfig(depth=2, banks=8, registers=8, output_interconnect=interconnect)
    compute = Instruction(
        Opcode.EXEC,
        reads={0: 0, 1: 0, 2: 0, 3: 0},
        lanes={0: 0, 1: 1, 2: 2, 3: 3},
        operations={(0, 1, 0): PeOp.ADD, (0, 1, 1): PeOp.MUL, (0, 2, 0): PeOp.SUB},
        results={0: (0, 2, 0), 1: (0, 1, 0), 3: (0, 1, 1)},
    )
    result = simulate(
        [load(0, 0, 1, 2, 3), NOP, compute, NOP, NOP, store(1, {0: 1, 1: 1, 3: 1})], config
    )
    assert row(result, 1, config)[:4] == [-5, 1, 12, 6]


def test_an_exec_may_write_crossbar_outputs_too():
    move = Instruction(Opcode.EXEC, reads={0: 0}, lanes={5: 0}, write_sources={5: WRITE_COPY})
    result = simulate([load(2, 0), NOP, move, store(0, {5: 0})])
    assert row(result, 0) == [0, 1, 2, 3, 4, 20, 6, 7]


def test_a_bank_that_is_not_read_gives_0():
    result = simulate([load(2, 0), NOP, copy({}, {5: 0}), store(0, {5: 0})])
    assert row(result, 0)[5] == 0


def test_stored_banks_are_those_of_the_mask():
    instruction = Instruction(Opcode.EXEC_STORE, reads={0: 0, 1: 0}, row=3, banks=[1])
    result = simulate([load(2, 0, 1), NOP, instruction])
    assert row(result, 3) == [30, 21, 32, 33, 34, 35, 36, 37]


def test_a_machine_without_overlap_stores_what_it_reads():
    config = DpuConfig(depth=2, banks=8, registers=8, data_rows=16, overlap=False)
    result = simulate([load(2, 0, 1), NOP, store(3, {1: 0})], config)
    assert row(result, 3) == [30, 21, 32, 33, 34, 35, 36, 37]


class TestForwarding:
    """A word can be read in the very cycle in which it is written, not a cycle earlier."""

    def test_a_load_is_read_two_cycles_later(self):
        assert row(simulate([load(1, 3), NOP, store(0, {3: 0})]), 0)[3] == 13

    def test_a_load_is_not_read_one_cycle_later(self):
        fails([load(1, 3), store(0, {3: 0})], ErrorCause.READ_OF_EMPTY_REGISTER, 3, 1)

    def test_a_copy_is_read_one_cycle_later(self):
        instructions = [load(1, 3), NOP, copy({3: 0}, {4: 3}), store(0, {4: 0})]
        assert row(simulate(instructions), 0)[4] == 13

    @pytest.mark.parametrize("pe_stages", [1, 2, 5])
    @pytest.mark.parametrize("layer", [1, 2])
    def test_a_result_is_read_after_the_latency_of_its_layer(self, layer: int, pe_stages: int):
        config = DpuConfig(depth=2, banks=8, registers=8, data_rows=16, pe_stages=pe_stages)
        pe = (0, layer, 0)
        compute = Instruction(
            Opcode.EXEC,
            reads={0: 0, 1: 0},
            lanes={0: 0, 1: 1},
            operations={(0, 1, 0): PeOp.ADD},
            results={0: pe},
        )
        wait = [NOP] * (config.layer_latency(layer) - 1)
        instructions = [load(1, 0, 1), NOP, compute, *wait, store(0, {0: 1})]
        assert row(simulate(instructions, config), 0, config)[0] == 21
        del instructions[3]
        number = len(instructions) - 1
        fails(instructions, ErrorCause.READ_OF_EMPTY_REGISTER, 0, number, config=config)


class TestWriteAddresses:
    """A write goes to the lowest register that was empty when the cycle began."""

    def test_registers_fill_from_the_lowest(self):
        loads = [load(number, 0) for number in range(3)]
        stores = [store(15 - number, {0: number}) for number in range(3)]
        result = simulate([*loads, NOP, *stores])
        assert [row(result, 15 - number)[0] for number in range(3)] == [0, 10, 20]

    def test_a_freed_register_is_taken_next(self):
        instructions = [
            *(load(number, 0) for number in range(3)),
            NOP,
            store(10, {0: 1}, free=[0]),
            load(7, 0),
            NOP,
            store(11, {0: 1}),
        ]
        result = simulate(instructions)
        assert [row(result, number)[0] for number in (10, 11)] == [10, 70]

    def test_a_register_freed_in_the_cycle_of_the_write_is_not_taken_yet(self):
        # The second load writes in the cycle of the first store: it takes register 1.
        loads = [load(1, 0), load(2, 0), NOP]
        result = simulate([*loads, store(10, {0: 0}, free=[0]), store(11, {0: 1})])
        assert [row(result, number)[0] for number in (10, 11)] == [10, 20]

    def test_a_register_may_be_freed_in_the_cycle_in_which_it_is_written(self):
        instructions = [load(1, 0), NOP, store(10, {0: 0}, free=[0]), load(2, 0), NOP]
        result = simulate([*instructions, store(11, {0: 0})])
        assert [row(result, number)[0] for number in (10, 11)] == [10, 20]

    def test_a_register_is_freed_without_being_read(self):
        instructions = [
            load(1, 0),
            NOP,
            Instruction(Opcode.COPY, free=[0]),
            load(2, 0),
            NOP,
            store(11, {0: 0}),
        ]
        assert row(simulate(instructions), 11)[0] == 20

    def test_a_freed_register_is_empty(self):
        instructions = [load(1, 5), NOP, store(2, {5: 0}, free=[5]), store(2, {5: 0})]
        fails(instructions, ErrorCause.READ_OF_EMPTY_REGISTER, 5, 3)


class TestLayersWriteApart:
    """Each layer is written when it is done, lower layers of an instruction before higher ones."""

    def test_a_lower_layer_is_written_earlier_than_a_higher_one(self):
        both = Instruction(
            Opcode.EXEC,
            reads={0: 0, 1: 0},
            lanes={0: 0, 1: 1},
            operations={(0, 1, 0): PeOp.ADD, (0, 2, 0): PeOp.PASS_LEFT},
            results={0: (0, 1, 0), 1: (0, 2, 0)},
        )
        result = simulate([load(1, 0, 1), NOP, both, NOP, store(0, {0: 1}), store(0, {1: 1})])
        assert row(result, 0)[:2] == [21, 21]

    def test_layers_of_two_instructions_may_meet_in_one_bank(self):
        high = Instruction(Opcode.EXEC, results={0: (0, 2, 0)})
        low = Instruction(Opcode.EXEC, results={0: (0, 1, 0)})
        fails([high, low], ErrorCause.WRITE_CONFLICT, 0, 1, CONFIG.layer_latency(1))
        simulate([low, high])
        simulate([high, NOP, low])

    def test_a_load_may_meet_a_layer_of_its_own_instruction(self):
        instruction = Instruction(Opcode.EXEC_LOAD, results={2: (0, 1, 1)}, row=1, banks=[1, 2])
        fails([instruction], ErrorCause.WRITE_CONFLICT, 2, 0, CONFIG.load_latency)

    def test_a_copy_may_meet_a_layer(self):
        compute = Instruction(Opcode.EXEC, results={2: (0, 1, 1)})
        fails([compute, copy({}, {2: 0})], ErrorCause.WRITE_CONFLICT, 2, 1, 1)


class TestDataMemory:
    """Loads and stores are done in the order of issue."""

    def test_a_load_right_after_a_store_sees_it(self):
        instructions = [load(1, 0), NOP, store(5, {0: 0}), load(5, 0), NOP, store(6, {0: 1})]
        assert row(simulate(instructions), 6)[0] == 10

    def test_a_load_right_before_a_store_does_not(self):
        instructions = [load(1, 0), load(5, 0), store(5, {0: 0}), NOP, store(6, {0: 1})]
        assert row(simulate(instructions), 6)[0] == 50


@pytest.mark.parametrize("format", ["float16", "bfloat16", "float8_e5m2", "fixed16.8"])
def test_other_formats(format: str):
    config = DpuConfig(depth=2, banks=8, registers=8, format=format, data_rows=4)
    instructions = [load(1, 0, 1), NOP, add({0: 0, 1: 0}, {0: 0, 1: 1}, 0), NOP, store(0, {0: 1})]
    data = to_words(np.array([[0.0] * 8, [1.25, -0.5] + [0.0] * 6] + [[0.0] * 8] * 2), format)
    result = run(config, program(config, [*instructions, HALT]), Rows.first(data))
    assert row(result, 0, config)[0] == 0.75


def test_passing_leaves_bits_and_computing_makes_nans_canonical():
    data = np.zeros((16, 8), np.uint32)
    data[1, :2] = [0xFFABCDEF, 0x3F800000]
    instruction = Instruction(
        Opcode.EXEC,
        reads={0: 0, 1: 0},
        lanes={0: 0, 1: 1, 2: 0},
        operations={(0, 1, 0): PeOp.ADD, (0, 1, 1): PeOp.PASS_LEFT},
        results={0: (0, 1, 0), 2: (0, 1, 1)},
    )
    instructions = [load(1, 0, 1), NOP, instruction, NOP, store(0, {0: 1, 2: 0}), HALT]
    result = run(CONFIG, program(CONFIG, instructions), Rows.first(data))
    assert result.data.words[0].tolist() == [0x7FC00000, 0, 0xFFABCDEF, 0, 0, 0, 0, 0]


def test_bits_above_the_format_s_are_not_there():
    config = DpuConfig(depth=2, banks=8, registers=8, format="fixed16.0", data_rows=16)
    data = np.full((config.data_rows, config.banks), 0xABCD0007, np.uint32)
    found = run(config, program(config, [HALT]), Rows.first(data)).data.words
    assert np.unique(found).tolist() == [7]


def test_the_given_data_memory_is_left_alone():
    data = np.zeros((16, 8), np.uint32)
    data[1] = 7
    result = run(
        CONFIG, program(CONFIG, [load(1, 0), NOP, store(0, {0: 0}), HALT]), Rows.first(data)
    )
    assert result.data.words[0, 0] == 7
    assert data[0, 0] == 0


def test_the_model_takes_memory_for_rows_that_are_used():
    """1 MiB here, and 512 MiB for all rows, more than once."""
    config = DpuConfig(depth=3, banks=64, registers=8, data_rows=1 << 20)
    numbers = np.array([5, 1 << 19])
    words = to_words(np.arange(128.0).reshape(2, 64), config.format)
    last = config.data_rows - 1
    instructions = [load(1 << 19, 0, 1), load(7, 2), NOP, NOP, store(last, {0: 0, 2: 0}), HALT]
    data = Rows(numbers, words)
    run(config, program(config, instructions), data)  # compiles
    tracemalloc.start()
    found = run(config, program(config, instructions), data).data
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert found.numbers.tolist() == [5, 7, 1 << 19, last]
    assert (found.words[[0, 2]] == words).all()
    assert not found.words[1].any()
    assert found.words[3, :3].tolist() == [words[1, 0], 0, 0]
    assert found.among(np.array([6, last])).words[:, 0].tolist() == [0, words[1, 0]]
