"""The execute unit's interpreter: control, memory, queues, and how runs end."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw.lib.execute_assembly import assemble, encode
from hw.lib.execute_isa import Fault, Instruction, Opcode, Operand, Source
from sw.execute_timing.trace import ENDS_BODY, FAULTS, FLAGS, MOST_LANES
from sw.runtime.execute_model import execute
from sw.runtime.execute_model.execute import PREFETCH, READ, WRITE, DeadlockError, FaultError
from sw.runtime.execute_model.output import Output, Room

LANES = 4


def ran(
    text: str, memory: np.ndarray | None = None, queued: Output | None = None, **constants: int
) -> execute.ExecuteRun:
    words = np.zeros(64, np.uint32) if memory is None else memory
    assembly = assemble(text, "test", constants)
    return execute.run(assembly.words(), words, LANES, queued, limit=1000)


def left_in(
    text: str, *results: str, queued: Output | None = None, memory: np.ndarray | None = None
) -> list[int]:
    """Scalar registers after a program, signed."""
    words = np.zeros(64, np.uint32) if memory is None else memory
    stores = [f"store {name}, [{48 + place}]" for place, name in enumerate(results)]
    ran("\n".join([text, *stores, "halt"]), words, queued)
    return words[48 : 48 + len(results)].view(np.int32).tolist()


def times_executed(text: str, **constants: int) -> list[int]:
    return ran(text, **constants).executed.tolist()


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


# Endings.


def faults(instructions: list[Instruction], pc: int, fault: Fault, **queued: list[int]) -> None:
    memory = np.zeros(64, np.uint32)
    with pytest.raises(FaultError) as caught:
        execute.run(encode(instructions), memory, LANES, Output(**queued))
    assert (caught.value.pc, caught.value.fault) == (pc, fault)
    assert str(caught.value) == f"instruction {pc}: fault {fault.name}"
    assert not memory.any()


def faults_in(text: str, pc: int, fault: Fault, **queued: list[int]) -> None:
    faults(list(assemble(text).instructions), pc, fault, **queued)


DEQUEUED = Operand(Source.DEQUEUE)
WORD = Operand(Source.DEQUEUE_SCALAR)


@pytest.mark.parametrize("fields", [{"a": 0, "b": 1}, {"a": 1, "c": 0}, {"b": 1, "c": 1}])
def test_two_operands_from_the_queue(fields):
    operands = {name: (DEQUEUED, WORD)[which] for name, which in fields.items()}
    instruction = Instruction(Opcode.ADD, dst=1, **operands)
    faults([Instruction(Opcode.LESS), instruction], 1, Fault.ENCODING, words=[1] * 8)


def test_opcodes_and_sources_that_are_none():
    for word, operand in ((63, 0), (20, 0), (8, 6 << 14), (8, 7 << 22), (8, 6 << 30)):
        bits = word | operand
        program = np.array([[bits & 0xFFFF_FFFF, bits >> 32, 0]], np.uint32)
        with pytest.raises(FaultError) as caught:
            execute.run(program, np.zeros(1, np.uint32), LANES)
        assert caught.value.fault == Fault.ENCODING


@pytest.mark.parametrize(
    "text, pc",
    [
        ("jump 2\nhalt", 0),
        ("branch_ne zero, zero, 2\nhalt", 0),
        ("add s1, s1, zero\nloop zero, 4\nhalt", 1),
        ("less s1, zero, zero", 1),
    ],
    ids=["jump", "branch that is not taken", "loop that does not run", "no halt"],
)
def test_beyond_the_program(text, pc):
    faults_in(text, pc, Fault.CONTROL)


def test_a_token_beyond_the_program():
    faults_in("jump_token\nhalt", 0, Fault.CONTROL, tokens=[2])


@pytest.mark.parametrize(
    "text, pc",
    [
        ("add s1, zero, 1\nloop s1, 2\nhalt", 1),
        ("add s1, zero, 1\nloop s1, 0\nhalt", 1),
        ("loop zero, 1\nhalt\nhalt", 0),
        ("add s1, zero, 1\nloop s1, 4\nloop s1, 4\nless s2, s2, s2\nhalt", 2),
        ("add s1, zero, 1\nloop s1, 4\nloop zero, 5\nless s2, s2, s2\nhalt\nhalt", 2),
        (
            "add s1, zero, 1\nloop s1, 7\nloop s1, 6\nloop s1, 5\nless s2, s2, s2\n" + "halt\n" * 3,
            3,
        ),
        ("add s1, zero, 1\nloop s1, 3\njump 0\nhalt", 2),
        ("add s1, zero, 1\nloop s1, 3\nbranch_ne s1, s1, 0\nhalt", 2),
        ("add s1, zero, 1\nloop s1, 3\njump_token\nhalt", 2),
    ],
    ids=[
        *("no body", "backwards", "no body that does not run", "last of both", "across the end"),
        *("a third", "jump at the end", "branch at the end", "token at the end"),
    ],
)
def test_misplaced_loops_and_jumps(text, pc):
    faults_in(text, pc, Fault.CONTROL)


@pytest.mark.parametrize(
    "text, pc",
    [
        ("load s1, [64]\nhalt", 0),
        ("load s1, [-1]\nhalt", 0),
        ("less s1, s1, s1\nstore.v zero, [61]\nhalt", 1),
        ("lanes m1, 8\nload.v v1, [61], m1\nhalt", 1),
        ("lanes m1, 8\nload.v v1, [-2], m1\nhalt", 1),
    ],
)
def test_outside_memory(text, pc):
    faults_in(text, pc, Fault.ADDRESS)


def test_a_fault_has_no_effect():
    text = "add s1, zero, 64\nstore.v deq, [s1], s1 += 4\nhalt"
    with pytest.raises(FaultError) as caught:
        ran(text, queued=Output(words=[1, 2, 3, 4]))
    assert (caught.value.run.words, caught.value.run.executed.tolist()) == (0, [1, 0, 0])
    assert len(caught.value.run.lines) == 0


def dies(kind: type[execute.ExecuteError], message: str, text: str, **queued: list[int]) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$") as caught:
        ran(text, queued=Output(**queued))
    assert caught.value.pc == int(message.split()[1][:-1])


def test_deadlocks():
    text = "add s1, deq, zero\nadd.v v1, deq, zero\nhalt"
    message = "instruction 0: deadlock: takes 1 of 0 words, after 0"
    dies(DeadlockError, message, text)
    message = "instruction 1: deadlock: takes 4 of 3 words, after 1"
    dies(DeadlockError, message, text, words=[1, 2, 3, 4])
    dies(
        DeadlockError,
        "instruction 0: deadlock: no token, after 2 of them",
        "jump_token\nhalt",
        tokens=[0, 0],
    )


def test_what_is_left_in_the_queues():
    message = "instruction 1: HALT leaves 1 words and 2 tokens in the queues"
    dies(execute.ExecuteError, message, "add s1, deq, zero\nhalt", words=[1, 2], tokens=[1, 1])


@pytest.mark.parametrize("words, tokens", [(1, 0), (0, 1)])
def test_words_alone_or_tokens_alone_are_left(words: int, tokens: int):
    message = f"instruction 0: HALT leaves {words} words and {tokens} tokens in the queues"
    dies(execute.LeftError, message, "halt", words=[1] * words, tokens=[0] * tokens)


@pytest.mark.parametrize("room", (None, Room(4, 1), Room(3, 1), Room(4, 0), Room(64, 64)))
def test_what_queues_have_room_for(room: Room | None):
    """A vector, whose words are put at once, a token, and a word; any amount without a room."""
    program = assemble("add.v v1, deq, zero\njump_token\nadd s1, deq, zero\nhalt", "test").words()
    queued = Output(words=[1, 2, 3, 4, 5], tokens=[2], puts=[4, 0, 1])
    if room in (Room(3, 1), Room(4, 0)):
        taken = 0 if room == Room(3, 1) else 4
        message = f"for what comes behind {taken} words and 0 tokens"
        with pytest.raises(DeadlockError, match=f"deadlock: no room in the queues {message}$"):
            execute.run(program, np.zeros(1, np.uint32), LANES, queued, room=room)
    else:
        done = execute.run(program, np.zeros(1, np.uint32), LANES, queued, room=room)
        assert (done.words, done.tokens) == (5, 1)


def test_a_run_without_end():
    message = "instruction 0: not at HALT after 1000 instructions"
    dies(execute.ExecuteError, message, "jump 0")


def test_faults_come_before_what_has_to_be_waited_for():
    """Those of bits and places; an address has to be known first."""
    faults_in("add s1, zero, 1\nloop s1, 3\njump_token\nhalt", 2, Fault.CONTROL)
    loop = Instruction(Opcode.LOOP, a=DEQUEUED, immediate=1)
    faults([loop, Instruction(Opcode.HALT)], 0, Fault.CONTROL)
    both = replace(loop, b=WORD)
    faults([both, Instruction(Opcode.HALT)], 0, Fault.ENCODING)
    with pytest.raises(DeadlockError):
        ran("store deq, [64]\nhalt")


def test_a_trace_has_the_lanes_that_memory_is_asked_for():
    text = """
        first_lanes m1, 3
        load s1, [5]
        load.v v1, [8]
        store.v v1, [12], m1
        prefetch [100]
        halt
    """
    (part,) = execute.traced(assemble(text, "test").words(), np.zeros(64, np.uint32), LANES)
    wanted = [0, 5 << MOST_LANES | 0b1, 8 << MOST_LANES | 0b1111, 12 << MOST_LANES | 0b111, 0, 0]
    assert part.tolist() == [[pc * FLAGS, request] for pc, request in enumerate(wanted)]


@pytest.mark.parametrize(
    "text, pc, flags, waits",
    [
        ("loop deq, end\nend: halt", 0, FAULTS, 0),
        ("add s1, zero, 1", 1, FAULTS, 0),
        ("add s1, zero, 1\nloop s1, 3\njump_token\nhalt", 2, FAULTS + ENDS_BODY, 0),
        ("store s1, [64]\nhalt", 0, FAULTS, 1),
        (
            "add s1, zero, 1\nloop s1, 4\nfabs s1, s1\nstore s1, [64]\nhalt",
            3,
            FAULTS + ENDS_BODY,
            1,
        ),
    ],
)
def test_a_trace_ends_with_what_faults(text: str, pc: int, flags: int, waits: int):
    """What is not in its bits or its place has waited for its operands."""
    program = assemble(text, "test").words()
    found: list[list[int]] = []
    with pytest.raises(FaultError) as caught:
        for part in execute.traced(program, np.zeros(64, np.uint32), LANES):
            found += part.tolist()
    assert found[-1] == [pc * FLAGS + flags, waits]
    assert len(found) == caught.value.run.instructions + 1
