"""What instructions of the execute unit say in text: which operands, in which order."""

from __future__ import annotations

from enum import Enum, auto

from gnarl.hw.lib.encoding.execute_isa import Opcode, Source


class FormPart(Enum):
    """A part of an instruction's text.

    ``A``, ``B``, ``C``: an operand of the instruction's own kind. ``TARGET``, ``LANE``: the
    immediate. ``ADDRESS``: operand a and the offset. ``MASK``, ``INCREMENT``: may be left out.
    """

    SCALAR_DST = auto()
    VECTOR_DST = auto()
    MASK_DST = auto()
    A = auto()
    B = auto()
    C = auto()
    TARGET = auto()
    LANE = auto()
    ADDRESS = auto()
    MASK = auto()
    INCREMENT = auto()


Form = tuple[FormPart, ...]

DSTS = {FormPart.SCALAR_DST: "s", FormPart.VECTOR_DST: "v", FormPart.MASK_DST: "m"}
"""Destinations by the letter of their registers."""

OPERANDS = {FormPart.A: "a", FormPart.B: "b", FormPart.C: "c"}
"""Operands by the name of their field."""

SOURCES = {"deq": Source.DEQUEUE, "deq.s": Source.DEQUEUE_SCALAR, "zero": Source.ZERO}
"""What operands may be but registers and numbers."""

OPTIONAL = (FormPart.MASK, FormPart.INCREMENT)

FLOATING = (
    *(opcode for opcode in Opcode if Opcode.FADD <= opcode <= Opcode.FEQUAL),
    Opcode.REDUCE_ADD,
    Opcode.REDUCE_MAX,
    Opcode.REDUCE_MIN,
)
"""Whose operands are floating point."""

_DST = {False: FormPart.SCALAR_DST, True: FormPart.VECTOR_DST}
_COMPARISON_DST = {False: FormPart.SCALAR_DST, True: FormPart.MASK_DST}
_MASKED: dict[bool, Form] = {False: (), True: (FormPart.MASK,)}
_UNARY = (Opcode.TO_FLOAT, Opcode.FABS, Opcode.FSQRT)
_BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)
_BINARY = tuple(
    opcode
    for opcode in Opcode
    if Opcode.ADD <= opcode < Opcode.FLESS and opcode not in (*_UNARY, Opcode.FMUL_ADD)
)


def _forms() -> dict[tuple[Opcode, bool], Form]:
    forms: dict[tuple[Opcode, bool], Form] = {
        (Opcode.HALT, False): (),
        (Opcode.JUMP, False): (FormPart.TARGET,),
        (Opcode.JUMP_TOKEN, False): (),
        **{(opcode, False): (FormPart.A, FormPart.B, FormPart.TARGET) for opcode in _BRANCHES},
        (Opcode.LOOP, False): (FormPart.A, FormPart.TARGET),
        (Opcode.FIRST_LANES, False): (FormPart.MASK_DST, FormPart.A),
        (Opcode.LANES, False): (FormPart.MASK_DST, FormPart.A),
        (Opcode.SELECT, False): (FormPart.SCALAR_DST, FormPart.A, FormPart.B, FormPart.C),
        (Opcode.SELECT, True): (FormPart.VECTOR_DST, FormPart.A, FormPart.B, FormPart.MASK),
        (Opcode.EXTRACT, True): (FormPart.SCALAR_DST, FormPart.A, FormPart.LANE),
        (Opcode.PREFETCH, False): (FormPart.ADDRESS, FormPart.INCREMENT),
    }
    for opcode in (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN):
        forms[opcode, True] = (FormPart.SCALAR_DST, FormPart.A, FormPart.MASK)
    for vector in (False, True):
        for opcode in _UNARY:
            forms[opcode, vector] = (_DST[vector], FormPart.A)
        for opcode in _BINARY:
            forms[opcode, vector] = (_DST[vector], FormPart.A, FormPart.B)
        forms[Opcode.FMUL_ADD, vector] = (_DST[vector], FormPart.A, FormPart.B, FormPart.C)
        for opcode in (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL):
            forms[opcode, vector] = (_COMPARISON_DST[vector], FormPart.A, FormPart.B)
        behind = (*_MASKED[vector], FormPart.INCREMENT)
        forms[Opcode.LOAD, vector] = (_DST[vector], FormPart.ADDRESS, *behind)
        forms[Opcode.STORE, vector] = (FormPart.C, FormPart.ADDRESS, *behind)
    return forms


FORMS = _forms()
"""Forms by opcode and ``vector``. There is none where ``vector`` makes no difference."""


def mnemonic(opcode: Opcode, vector: bool) -> str:
    """The first word of an instruction."""
    return opcode.name.lower() + (".v" if vector else "")


MNEMONICS = {mnemonic(*kind): kind for kind in FORMS}
