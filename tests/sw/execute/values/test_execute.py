"""The execute unit's interpreter: operands, control and memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_assembly import assemble, encode
from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.execute import PREFETCH, READ, WRITE
from gnarl.sw.execute.values.output import Output
from tests.support.execute.runs import LANES, left_in, ran, times_executed

# Operands.


def test_sources_of_scalar_operands():
    text = """
        add s1, zero, -5
        add s2, deq, s1
        add s3, deq.s, s1.s
    """
    assert left_in(text, "s1", "s2", "s3", queued=Output(words=[7, 9])) == [-5, 2, 4]


def test_sources_of_vector_operands():
    """A vector from the queue in its order, scalars in every lane."""
    memory = np.zeros(64, np.uint32)
    text = """
        add s1, zero, 100
        add.v v1, deq, s1
        add.v v2, v1, deq.s
        add.v v3, v2, 1000
        sub.v v4, v3, zero
        store.v v4, [0]
        halt
    """
    done = ran(text, memory, Output(words=[1, 2, 3, 4, 10]))
    assert memory[:4].tolist() == [1111, 1112, 1113, 1114]
    assert done.words == 5


def test_scalar_places_take_one_word():
    """Addresses, counts and masks, in vector instructions too."""
    memory = np.arange(64, dtype=np.uint32)
    text = """
        load.v v1, [deq + 2]
        first_lanes m1, deq
        lanes m2, deq
        store.v v1, [40], m1
        store.v v1, [50], m2
        loop deq, end
        add s1, s1, 1
end:    branch_eq deq, s1, last
        halt
last:   store s1, [60]
        halt
    """
    done = ran(text, memory, Output(words=[8, 3, 0b1010, 5, 5]))
    assert memory[40:44].tolist() == [10, 11, 12, 43]
    assert memory[50:54].tolist() == [50, 11, 52, 13]
    assert memory[60] == 5
    assert done.words == 5


def test_operands_that_are_not_used_take_words_too():
    jump = Instruction(Opcode.JUMP, vector=True, c=Operand(Source.DEQUEUE), immediate=1)
    absolute = Instruction(Opcode.FABS, vector=True, dst=1, b=Operand(Source.DEQUEUE))
    program = encode([jump, absolute, Instruction(Opcode.HALT)])
    done = execute.run(program, np.zeros(1, np.uint32), LANES, Output(words=[1, 2, 3, 4, 5]))
    assert done.words == 1 + LANES


def test_the_vector_flag_makes_no_difference_between_lanes():
    reduction = Instruction(Opcode.REDUCE_ADD, dst=1, a=Operand(Source.DEQUEUE))
    store = Instruction(Opcode.STORE, c=Operand(Source.REGISTER, 1))
    memory = np.zeros(1, np.uint32)
    words = np.array([1, 2, 4, 8], np.float32).view(np.uint32).tolist()
    program = encode([reduction, store, Instruction(Opcode.HALT)])
    execute.run(program, memory, LANES, Output(words=words))
    assert memory.view(np.float32).tolist() == [15]


# Masks and lanes.


@pytest.mark.parametrize("count, expected", [(-1, 0), (0, 0), (1, 1), (3, 7), (4, 15), (99, 15)])
def test_first_lanes(count, expected):
    memory = np.zeros(64, np.uint32)
    ran("first_lanes m3, COUNT\nadd.v v1, zero, 1\nstore.v v1, [0], m3\nhalt", memory, COUNT=count)
    assert sum(int(word) << lane for lane, word in enumerate(memory[:4])) == expected


def test_mask_0_is_never_written():
    memory = np.zeros(64, np.uint32)
    text = """
        lanes m0, zero
        add.v v1, zero, 1.0
        fless.v m0, v1, zero
        store.v v1, [0]
        halt
    """
    ran(text, memory)
    assert np.count_nonzero(memory) == LANES


def test_scalars_are_selected_by_c():
    text = """
        add s1, zero, 8
        select s2, s1, -1, s1
        select s3, s1, -1, zero
    """
    assert left_in(text, "s2", "s3") == [8, -1]


@pytest.mark.parametrize("lanes", (2, 4))
def test_vectors_are_selected_by_lane(lanes: int):
    text = "load.v v1, [0]\nlanes m1, deq\nselect.v v2, v1, 9, m1\nstore.v v2, [0]\nhalt"
    program = assemble(text, "test").words()
    for mask in range(1 << lanes):
        memory = np.arange(lanes, dtype=np.uint32)
        execute.run(program, memory, lanes, Output(words=[mask]))
        assert memory.tolist() == [lane if mask >> lane & 1 else 9 for lane in range(lanes)]


def test_lanes_are_extracted_modulo_their_number():
    text = "add.v v1, zero, deq\nextract.v s1, v1, 1\nextract.v s2, v1, 7"
    assert left_in(text, "s1", "s2", queued=Output(words=[5, 6, 7, 8])) == [6, 8]


# Control.


def test_loops_nest():
    text = """
        add s1, zero, OUTER
        add s2, zero, INNER
        loop s1, end
        add s3, s3, 1
        loop s2, again
        add s4, s4, 1
again:  add s5, s5, 1
end:    halt
    """
    for outer, inner in ((3, 2), (1, 1), (3, 0), (0, 3), (-1, 2), (2, -5)):
        ran_outer, ran_inner = max(outer, 0), max(inner, 0)
        assert times_executed(text, OUTER=outer, INNER=inner) == [
            *(1, 1, 1, ran_outer, ran_outer, ran_outer * ran_inner, ran_outer, 1)
        ]


@given(counts=st.lists(st.integers(-1, 4), min_size=3, max_size=3))
def test_a_jump_out_of_bodies_ends_their_loops(counts):
    """Out of both to code that nests two again, and back into the outer body from the inner."""
    text = """
        add s9, zero, FIRST
        add s10, zero, STOP
        add s1, zero, 5
        add s2, zero, 6
        loop s1, done
        loop s2, inner_done
        add s3, s3, 1
        branch_eq s3, s9, skip      ; out of the inner body alone
        add s4, s4, 1
inner_done:
        add s5, s5, 1
        branch_eq s5, s10, done     ; out of the outer body
skip:   add s6, s6, 1
done:   add s1, zero, FIRST
        add s2, zero, SECOND
        loop s1, end
        add s7, s7, 1
        loop s2, again
        add s8, s8, 1
again:  add s7, s7, zero
end:
    """
    first, second, stop = counts
    setup = f".const FIRST {first}\n.const SECOND {second}\n.const STOP {stop}\n"
    s3 = s4 = s5 = s6 = 0
    for _ in range(5):
        left = False
        for _ in range(6):
            s3 += 1
            if s3 == first:
                left = True
                break
            s4 += 1
        if not left:
            s5 += 1
            if s5 == stop:
                break
        s6 += 1
    names = [f"s{number}" for number in range(3, 9)]
    outer, inner = max(first, 0), max(second, 0)
    assert left_in(setup + text, *names) == [s3, s4, s5, s6, outer, outer * inner]


def test_a_body_may_end_with_halt():
    text = "add s1, zero, 3\nloop s1, end\nadd s2, s2, 1\nhalt\nend: add s2, s2, 1"
    assert times_executed(text) == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "name, taken", [("eq", "=="), ("ne", "!="), ("lt", "<"), ("ge", ">=")], ids=lambda each: each
)
def test_branches_compare_signed(name, taken):
    compares = {
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        ">=": lambda a, b: a >= b,
    }[taken]
    text = (
        f"add s1, zero, A\nadd s2, zero, B\nbranch_{name} s1, s2, end\nadd s3, zero, 1\nend: halt"
    )
    for a, b in ((0, 0), (1, 0), (-1, 0), (0, -1), (-(1 << 31), (1 << 31) - 1)):
        assert times_executed(text, A=a, B=b)[3] == (not compares(a, b))


def test_tokens_are_jumped_to_in_their_order():
    text = "jump_token\nadd s1, s1, 1\njump_token\nadd s1, s1, 10\njump_token\nhalt"
    done = ran(text, queued=Output(tokens=[3, 1, 1, 5]))
    assert done.executed.tolist() == [1, 2, 2, 1, 1, 1]
    assert done.tokens == 4


# Memory.


def test_addresses_are_incremented_after_their_use():
    memory = np.arange(64, dtype=np.uint32)
    text = """
        add s1, zero, 10
        load s2, [s1 + 4], s1 += 3
        store s1, [s1 - 12], s1 += -512
        prefetch [s1], s1 += 511
        store s1, [2]
        store s2, [3]
        halt
    """
    ran(text, memory)
    assert memory[:4].tolist() == [0, 13, 12, 14]


def test_a_load_into_its_own_address_keeps_what_was_loaded():
    memory = np.arange(64, dtype=np.uint32) + 20
    assert left_in("add s1, zero, 5\nload s1, [s1], s1 += 3", "s1", memory=memory) == [25]


def test_a_store_of_its_own_address_stores_what_it_was():
    assert left_in("add s1, zero, 47\nstore s1, [s1], s1 += 3\nload s2, [47]", "s1", "s2") == [
        50,
        47,
    ]


def test_lanes_outside_the_mask_load_0_and_store_nothing():
    memory = np.arange(64, dtype=np.uint32) + 100
    text = """
        add.v v1, zero, 7
        lanes m1, 6
        load.v v1, [3], m1
        store.v v1, [20]
        store.v v1, [30], m1
        halt
    """
    ran(text, memory)
    assert memory[20:24].tolist() == [0, 104, 105, 0]
    assert memory[30:34].tolist() == [130, 104, 105, 133]


def test_lanes_outside_the_mask_may_lie_outside_memory():
    memory = np.arange(64, dtype=np.uint32)
    text = """
        first_lanes m1, 2
        store.v zero, [62], m1
        load.v v1, [64], m2         # which has no lanes at the start
        halt
    """
    ran(text, memory)
    assert memory[61:].tolist() == [61, 0, 0]


def test_lines_in_the_program_s_order():
    """A line an access; two where a vector's lanes lie on two; none without lanes."""
    text = """
        load s1, [15]
        load.v v1, [14]
        lanes m1, 3
        store.v v1, [14], m1
        lanes m2, 12
        store.v v1, [14], m2
        lanes m3, zero
        load.v v1, [14], m3
        prefetch [63]
        prefetch [64]
        store.v v1, [32]
        halt
    """
    done = ran(text)
    assert done.lines.tolist() == [0, 0, 1, 0, 1, 3, 2]
    assert done.uses.tolist() == [READ, READ, READ, WRITE, WRITE, PREFETCH, WRITE]
    assert (done.loads, done.stores, done.prefetches, done.memory) == (3, 3, 2, 8)


def test_as_many_lines_as_there_are():
    text = "add s1, zero, 400\nloop s1, end\nstore.v zero, [14]\nadd s2, s2, 1\nend: halt"
    done = ran(text)
    assert done.lines.tolist() == [0, 1] * 400


def test_instructions_are_counted_by_kind():
    """Vectors of memory and control are memory and control."""
    text = """
        add s1, zero, 2
        loop s1, end
        add.v v1, v1, 1
        load.v v2, [0]
        sub s2, s2, 1
end:    prefetch [16]
        store s1, [20]
        fabs.v v3, v2
        halt
    """
    done = ran(text)
    assert (done.control, done.memory, done.vector, done.scalar) == (2, 4, 3, 3)
    assert (done.loads, done.stores, done.prefetches) == (2, 1, 1)
