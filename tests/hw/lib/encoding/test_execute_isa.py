"""Instructions of the execute unit as bits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import (
    INSTRUCTION,
    INSTRUCTION_WORDS,
    Instruction,
    Opcode,
    Operand,
    Source,
)

operands = st.builds(Operand, st.sampled_from(Source), st.integers(0, 31))
instructions = st.builds(
    Instruction,
    st.sampled_from(Opcode),
    st.booleans(),
    st.integers(0, 31),
    st.integers(0, 3),
    operands,
    operands,
    operands,
    st.integers(-512, 511),
    st.integers(0, 2**32 - 1),
)


@given(instructions)
def test_words_mean_the_instruction(instruction):
    words = instruction.words()
    assert len(words) == INSTRUCTION_WORDS == 3
    assert all(0 <= word < 2**32 for word in words)
    assert Instruction.decoded(words) == instruction


def test_fields_lie_where_they_are_documented():
    """Fields by hand: dst from bit 7, a's source from 14, its index from 17, the immediate in word
    2."""
    plain = Instruction(
        Opcode.FADD, True, dst=3, a=Operand(Source.REGISTER, 5), b=Operand(Source.DEQUEUE)
    )
    assert plain.words() == (24 | 1 << 6 | 3 << 7 | 1 << 14 | 5 << 17 | 3 << 22, 0, 0)
    assert Instruction(Opcode.JUMP, immediate=-1).words() == (1, 0, 0xFFFF_FFFF)
    assert Instruction(Opcode.LOAD, increment=-8).words()[1] == (-8 & 0x3FF) << 6


@pytest.mark.parametrize("words", [(63, 0, 0), (24 | 7 << 14, 0, 0)])
def test_words_that_are_no_instruction(words):
    with pytest.raises(ValueError):
        Instruction.decoded(words)


def test_layout_is_whole_words():
    assert INSTRUCTION.size == 32 * INSTRUCTION_WORDS
