"""The execute unit's assembly: what it means, that listings read back, and all its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_assembly import assemble, encode
from gnarl.hw.lib.encoding.execute_forms import DSTS, FORMS, OPERANDS, FormPart
from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode, Operand, Source
from gnarl.hw.lib.encoding.execute_listing import listing
from tests.support.errors import refused


def own(index: int) -> Operand:
    """A register of the instruction's own kind."""
    return Operand(Source.REGISTER, index)


def lanes_of(index: int) -> Operand:
    return Operand(Source.SCALAR, index)


DEQ, DEQ_S = Operand(Source.DEQUEUE), Operand(Source.DEQUEUE_SCALAR)


IMMEDIATE = Operand(Source.IMMEDIATE)
MEANINGS = {
    "halt": Instruction(Opcode.HALT),
    "jump 7": Instruction(Opcode.JUMP, immediate=7),
    "jump_token": Instruction(Opcode.JUMP_TOKEN),
    "branch_lt s1, zero, 9": Instruction(Opcode.BRANCH_LT, a=own(1), immediate=9),
    "branch_ge s1, deq, 9": Instruction(Opcode.BRANCH_GE, a=own(1), b=DEQ, immediate=9),
    "loop s31, 5": Instruction(Opcode.LOOP, a=own(31), immediate=5),
    "add s1, s2, -1": Instruction(Opcode.ADD, dst=1, a=own(2), b=IMMEDIATE, immediate=0xFFFF_FFFF),
    "add s1, s2.s, deq.s": Instruction(Opcode.ADD, dst=1, a=lanes_of(2), b=DEQ_S),
    "add.v v1, s2, v3": Instruction(Opcode.ADD, True, dst=1, a=lanes_of(2), b=own(3)),
    "to_float s1, deq": Instruction(Opcode.TO_FLOAT, dst=1, a=DEQ),
    "fabs.v v31, v30": Instruction(Opcode.FABS, True, dst=31, a=own(30)),
    "fadd.v v1, deq, 0.5": Instruction(
        Opcode.FADD, True, dst=1, a=DEQ, b=IMMEDIATE, immediate=0x3F00_0000
    ),
    "fmul_add.v v1, v2, s3, v1": Instruction(
        Opcode.FMUL_ADD, True, dst=1, a=own(2), b=lanes_of(3), c=own(1)
    ),
    "fless s1, s2, s3": Instruction(Opcode.FLESS, dst=1, a=own(2), b=own(3)),
    "fless.v m1, v2, deq.s": Instruction(Opcode.FLESS, True, dst=1, a=own(2), b=DEQ_S),
    "first_lanes m3, s2": Instruction(Opcode.FIRST_LANES, dst=3, a=own(2)),
    "lanes m1, deq": Instruction(Opcode.LANES, dst=1, a=DEQ),
    "select s1, s2, s3, s4": Instruction(Opcode.SELECT, dst=1, a=own(2), b=own(3), c=own(4)),
    "select.v v1, v2, zero, m2": Instruction(Opcode.SELECT, True, dst=1, mask=2, a=own(2)),
    "reduce_max.v s1, v2": Instruction(Opcode.REDUCE_MAX, True, dst=1, a=own(2)),
    "reduce_add.v s1, v2, m3": Instruction(Opcode.REDUCE_ADD, True, dst=1, mask=3, a=own(2)),
    "extract.v s1, v2, 3": Instruction(Opcode.EXTRACT, True, dst=1, a=own(2), immediate=3),
    "load s1, [100]": Instruction(Opcode.LOAD, dst=1, immediate=100),
    "load s1, [deq]": Instruction(Opcode.LOAD, dst=1, a=DEQ),
    "load s1, [s2 - 4], s2 += -512": Instruction(
        Opcode.LOAD, dst=1, a=own(2), immediate=0xFFFF_FFFC, increment=-512
    ),
    "load.v v1, [s2 + 16], m1, s2 += 8": Instruction(
        Opcode.LOAD, True, dst=1, mask=1, a=own(2), immediate=16, increment=8
    ),
    "store zero, [s2], s2 += 1": Instruction(Opcode.STORE, a=own(2), increment=1),
    "store.v deq, [s2 + 4], m2": Instruction(
        Opcode.STORE, True, mask=2, a=own(2), c=DEQ, immediate=4
    ),
    "prefetch [s2.s + 64], s2 += 511": Instruction(
        Opcode.PREFETCH, a=lanes_of(2), immediate=64, increment=511
    ),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_meanings(text: str) -> None:
    """And the same text is what a listing gives."""
    assert assemble(text).instructions == (MEANINGS[text],)
    assert [*listing([MEANINGS[text]])] == [f"    {text}"]


def immediate_of(text: str, **constants: float) -> int:
    (instruction,) = assemble(f"add s1, s1, {text}", constants=constants).instructions
    return instruction.immediate


@pytest.mark.parametrize(
    "text, word",
    [
        ("0", 0),
        ("-2147483648", 0x8000_0000),
        ("4294967295", 0xFFFF_FFFF),
        ("0xfF", 255),
        ("1 + 2 - 5 + N", 8),
        ("-N", 0xFFFF_FFF6),
        ("1.", 0x3F80_0000),
        ("-0.0", 0x8000_0000),
        ("1e-45", 1),
        ("inf", 0x7F80_0000),
        ("-inf", 0xFF80_0000),
        ("nan", 0x7FC0_0000),
        ("HALF", 0x3F00_0000),
        ("SINGLE + 1", 0x3FA0_0000),
    ],
)
def test_numbers(text: str, word: int) -> None:
    assert immediate_of(text, N=np.int32(10), HALF=0.5, SINGLE=np.float32(0.25)) == word


def test_labels_and_constants() -> None:
    """Labels alone on a line, before an instruction, two at one place, and behind the last."""
    assembly = assemble("""
        .const ROW 16       # words
        .const PAIR ROW + ROW
first:                      ; comment
second: loop s1, end; more
        load s2, [s3 + PAIR]
        jump first

end:
    """)
    assert assembly.labels == {"first": 0, "second": 0, "end": 3}
    assert [each.immediate for each in assembly.instructions] == [3, 32, 0]
    assert np.array_equal(assembly.words(), encode(assembly.instructions))
    assert assembly.words().shape == (3, 3) and assemble("").words().shape == (0, 3)


def test_listings_name_targets() -> None:
    """Targets have the given names, the first of several, or addresses; beyond the program
    numbers."""
    text = "one:\ntwo:\n    loop s1, i3\n    jump one\n    jump two\ni3:\n    jump 9"
    assembly = assemble(text)
    lines = [*listing(assembly.instructions, assembly.labels)]
    assert lines == text.replace("jump two", "jump one").splitlines()
    unnamed = "\n".join(line for line in lines if line != "two:").replace("one", "i0")
    assert [*listing(assembly.instructions)] == unnamed.splitlines()


def test_a_name_that_is_given_is_not_made_up() -> None:
    instructions = assemble("jump 1\nhalt").instructions
    assert [*listing(instructions, {"i1": 0})] == ["i1:", "    jump 1", "    halt"]


INDICES = st.integers(0, 31)
ANY_OPERAND = st.builds(Operand, st.sampled_from(Source), INDICES)
ANY = st.builds(
    Instruction,
    opcode=st.sampled_from(Opcode),
    vector=st.booleans(),
    dst=INDICES,
    mask=st.integers(0, 3),
    a=ANY_OPERAND,
    b=ANY_OPERAND,
    c=ANY_OPERAND,
    increment=st.integers(-512, 511),
    immediate=st.integers(0, 0xFFFF_FFFF),
)
"""Most of these say more than a text."""

REGISTERS = (Source.REGISTER, Source.SCALAR)
QUEUE = (Source.DEQUEUE, Source.DEQUEUE_SCALAR)


@st.composite
def usual(draw: st.DrawFn) -> Instruction:
    """One that a text says all of."""
    opcode, vector = draw(st.sampled_from([*FORMS]))
    fields: dict[str, Any] = {}
    form = FORMS[opcode, vector]
    has_immediate = not {FormPart.TARGET, FormPart.LANE, FormPart.ADDRESS}.isdisjoint(form)
    sources = [Source.ZERO, *REGISTERS, *QUEUE, Source.IMMEDIATE]
    for place in form:
        if place in DSTS:
            fields["dst"] = draw(st.integers(0, 3) if place == FormPart.MASK_DST else INDICES)
        elif place == FormPart.MASK:
            fields["mask"] = draw(st.integers(0, 3))
        elif place == FormPart.INCREMENT and fields["a"].source in REGISTERS:
            fields["increment"] = draw(st.integers(-512, 511))
        elif place in OPERANDS or place == FormPart.ADDRESS:
            is_target = FormPart.TARGET in form or place == FormPart.ADDRESS
            source = draw(st.sampled_from(sources[:-1] if is_target else sources))
            if source in QUEUE:
                sources = [each for each in sources if each not in QUEUE]
            has_immediate |= source == Source.IMMEDIATE
            index = draw(INDICES) if source in REGISTERS else 0
            fields[OPERANDS.get(place, "a")] = Operand(source, index)
    if has_immediate:
        fields["immediate"] = draw(st.integers(0, 40) | st.integers(0, 0xFFFF_FFFF))
    return Instruction(opcode, vector, **fields)


@given(usual())
def test_what_text_says_is_no_words(instruction: Instruction) -> None:
    assert not any(".word" in line for line in listing([instruction]))


@given(st.lists(ANY | usual(), max_size=8), st.booleans())
def test_listings_read_back(instructions: list[Instruction], has_labels: bool) -> None:
    labels = {"begin": 0, "i1": 0, "end": len(instructions)} if has_labels else {}
    again = assemble("\n".join(listing(instructions, labels)))
    assert again.instructions == tuple(instructions)
    assert labels.items() <= again.labels.items()


def test_words_say_what_text_does_not() -> None:
    halt = Instruction(Opcode.HALT, dst=3)
    assert [*listing([halt])] == ["    .word 0x00000180, 0x00000000, 0x00000000"]
    negative = Instruction(Opcode.ADD, dst=1, b=IMMEDIATE, immediate=-2)
    assert [*listing([negative])] == ["    add s1, zero, -2"]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("add s1, s2, !", "1: unexpected character '!'"),
        ("fad s1, s2, s3", "1: fad: no such instruction; near it are fadd, fadd.v, and"),
        ("mwait", "1: mwait: no such instruction"),
        ("12", "1: 12: no such instruction"),
        ("jump.v 1", "1: jump.v: no such instruction; near it are jump"),
        ("add s1, s32, 1", "1: s32: registers are s0 to s31"),
        ("load.v v1, [s1], m4", "1: m4: registers are m0 to m3"),
        ("add s1 s2", "1: expected ',', found s2"),
        ("add s1, s2", "1: expected ',', found the line's end"),
        ("add s1, s2, s3, s4", "1: expected the line's end, found ','"),
        ("halt halt", "1: expected the line's end, found halt"),
        ("reduce_add.v s1, v1, v2", "1: expected a mask register, found v2"),
        ("add v1, s1, s2", "1: expected a scalar register, found v1"),
        ("add s1.s, s1, s2", "1: expected a scalar register, found s1.s"),
        ("add s1, v1, 2", "1: expected a scalar operand, found v1"),
        ("add.v s1, v1, v2", "1: expected a vector register, found s1"),
        ("add.v v1, m1, v2", "1: expected an operand, found m1"),
        ("add.v v1, v2.s, v2", "1: expected an operand, found v2.s"),
        ("fless.v v1, v1, v2", "1: expected a mask register, found v1"),
        ("add s1, [, 2", "1: expected an operand, found '['"),
        ("load.v v1, [v1]", "1: expected a scalar operand, found v1"),
        ("load s1, s2", "1: expected '[', found s2"),
        ("load s1, [s2 s3]", "1: expected ']', found s3"),
        ("load s1, [s2 + s3]", "1: expected a number or a name, found s3"),
        ("load s1, [s2 + 3.5]", "1: 3.5: an offset must be a whole number"),
        ("load s1, [s2], s3 += 1", "1: expected s2, the address's register, found s3"),
        ("load s1, [4], s3 += 1", "1: expected the line's end, found s3"),
        ("load s1, [s2], m1, s2 += 1", "1: expected s2, the address's register, found m1"),
        ("load s1, [s2], s2 + 1", "1: expected '+=', found '+'"),
        ("load s1, [s2], s2 += 512", "1: 512: an increment must be from -512 to 511"),
        ("add.v v1, deq, deq.s", "1: deq.s: an instruction takes one operand from the queue"),
        ("store.v deq, [deq]", "1: deq: an instruction takes one operand from the queue"),
        ("store 1, [s2 + 2]", "1: 2: the instruction's immediate is 1 already"),
        ("store 1, [s2]", "1: 0: the instruction's immediate is 1 already"),
        ("loop 4, 5", "1: 4: the target is the immediate; take a register"),
        ("jump 1.5", "1: 1.5: a target must be a whole number"),
        ("jump away", "1: away: no such constant or label"),
        ("extract.v s1, v1, -1", "1: -1: a lane must be from 0 to 4294967295"),
        (
            "add s1, s2, 4294967296",
            "1: 4294967296: an immediate must be from -2147483648 to 4294967295",
        ),
        ("add s1, s2, 1e39", "1: 1e+39: too large for float32"),
        ("add s1, s2, 1e999", "1: 1e999: too large for float32"),
        ("\n\ns1: halt", "3: s1: has a meaning already; take another name"),
        ("deq: halt", "1: deq: has a meaning already; take another name"),
        ("a:\n\na: halt", "3: a: defined already, in line 1"),
        ("GIVEN: halt", "1: GIVEN: defined already, before the first line"),
        ("a:\n.const a 1", "2: a: defined already, in line 1"),
        (".const a", "1: expected a number or a name, found the line's end"),
        (".const 1 2", "1: expected a name, found 1"),
        (".const .a 2", "1: expected a name, found .a"),
        (".const a later\n.const later 1", "1: later: no such constant or label"),
        (".const a 1 2", "1: expected the line's end, found 2"),
        (".word 0, 0", "1: expected ',', found the line's end"),
        (".word 0, 0, 4294967296", "1: 4294967296: a word must be from 0 to 4294967295"),
        (".word 63, 0, 0", "1: not an instruction: 63 is not a valid Opcode"),
        (".word 0x1c000, 0, 0", "1: not an instruction: 7 is not a valid Source"),
        (".word 0, 0x10000, 0", "1: not an instruction: bits that mean nothing must be 0"),
    ],
)
def test_errors(text: str, problem: str) -> None:
    with refused(f"sum.tmu:{problem}"):
        assemble(text, "sum.tmu", {"GIVEN": 1})
