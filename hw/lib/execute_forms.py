"""What instructions of the execute unit say in text: which operands, in which order."""

from __future__ import annotations

from enum import Enum, auto

from hw.lib.execute_isa import Opcode, Source


class Place(Enum):
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


Form = tuple[Place, ...]

DSTS = {Place.SCALAR_DST: "s", Place.VECTOR_DST: "v", Place.MASK_DST: "m"}
"""By the letter of their registers."""

OPERANDS = {Place.A: "a", Place.B: "b", Place.C: "c"}
"""By the name of their field."""

SOURCES = {"deq": Source.DEQUEUE, "deq.s": Source.DEQUEUE_SCALAR, "zero": Source.ZERO}
"""What operands may be but registers and numbers."""

OPTIONAL = (Place.MASK, Place.INCREMENT)

FLOATING = (
    *(opcode for opcode in Opcode if Opcode.FADD <= opcode <= Opcode.FEQUAL),
    Opcode.REDUCE_ADD,
    Opcode.REDUCE_MAX,
    Opcode.REDUCE_MIN,
)
"""Whose operands are floating point."""

_DST = {False: Place.SCALAR_DST, True: Place.VECTOR_DST}
_COMPARISON_DST = {False: Place.SCALAR_DST, True: Place.MASK_DST}
_MASKED: dict[bool, Form] = {False: (), True: (Place.MASK,)}
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
        (Opcode.JUMP, False): (Place.TARGET,),
        (Opcode.JUMP_TOKEN, False): (),
        **{(opcode, False): (Place.A, Place.B, Place.TARGET) for opcode in _BRANCHES},
        (Opcode.LOOP, False): (Place.A, Place.TARGET),
        (Opcode.FIRST_LANES, False): (Place.MASK_DST, Place.A),
        (Opcode.LANES, False): (Place.MASK_DST, Place.A),
        (Opcode.SELECT, False): (Place.SCALAR_DST, Place.A, Place.B, Place.C),
        (Opcode.SELECT, True): (Place.VECTOR_DST, Place.A, Place.B, Place.MASK),
        (Opcode.EXTRACT, True): (Place.SCALAR_DST, Place.A, Place.LANE),
        (Opcode.PREFETCH, False): (Place.ADDRESS, Place.INCREMENT),
    }
    for opcode in (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN):
        forms[opcode, True] = (Place.SCALAR_DST, Place.A, Place.MASK)
    for vector in (False, True):
        for opcode in _UNARY:
            forms[opcode, vector] = (_DST[vector], Place.A)
        for opcode in _BINARY:
            forms[opcode, vector] = (_DST[vector], Place.A, Place.B)
        forms[Opcode.FMUL_ADD, vector] = (_DST[vector], Place.A, Place.B, Place.C)
        for opcode in (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL):
            forms[opcode, vector] = (_COMPARISON_DST[vector], Place.A, Place.B)
        behind = (*_MASKED[vector], Place.INCREMENT)
        forms[Opcode.LOAD, vector] = (_DST[vector], Place.ADDRESS, *behind)
        forms[Opcode.STORE, vector] = (Place.C, Place.ADDRESS, *behind)
    return forms


FORMS = _forms()
"""By opcode and ``vector``. There is none where ``vector`` makes no difference."""


def mnemonic(opcode: Opcode, vector: bool) -> str:
    """The first word of an instruction."""
    return opcode.name.lower() + (".v" if vector else "")


MNEMONICS = {mnemonic(*kind): kind for kind in FORMS}
