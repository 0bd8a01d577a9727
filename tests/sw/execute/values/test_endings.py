"""The execute unit's interpreter: faults, deadlocks, what is left in queues, and traces."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble, encode
from gnarl.hw.lib.encoding.execute_isa import Fault, Instruction, Opcode, Operand, Source
from gnarl.sw.execute.trace import ENDS_BODY, FAULTS, FLAGS, MOST_LANES
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.execute import DeadlockError, FaultError
from gnarl.sw.execute.values.output import Output, Room
from tests.support.execute.runs import LANES, ran


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
    """Faults of bits and places come first; an address has to be known first."""
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


@pytest.mark.parametrize(
    "text, what", [("add s1, deq, 1\nhalt", "takes 1 of 0 words"), ("jump_token\nhalt", "no token")]
)
def test_a_trace_is_of_programs_without_queues(text: str, what: str):
    program = assemble(text, "test").words()
    with pytest.raises(DeadlockError, match=f"^instruction 0: deadlock: {what}, after 0"):
        list(execute.traced(program, np.zeros(64, np.uint32), LANES))
