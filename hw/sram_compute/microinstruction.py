"""Microinstructions: sweeps of row operations over a compute array, loops of them, and skips.

A row operation takes a cycle. It reads rows a and b; on every bitline the two bits, the carry C and
the predicate P, both latches, go through three truth tables, which give the bit that is written to
row d and the next C and P. Where ``writes`` is 0, no row is written. A row operation sees all that
the one before it wrote. What it does not need it reads too: its tables ignore it.

Bit a + 2 b + 4 C + 8 P of a truth table is the value for those four bits; in a start table, bit
C + 2 P.

``SWEEP``: ``count`` row operations. The rows of the first are ``a``, ``b`` and ``d``; each moves on
by its ``step`` from one row operation to the next. Before the first, C and P become
``start_carry`` and ``start_predicate`` of both. With a count of 0 it takes a cycle, too, in which
that alone happens.

``SKIP``: where P is 0 on all bitlines of the bank, the ``length`` microinstructions that follow are
passed over. It takes ``SKIP_CYCLES``, whether it does or not; a bank without skips never does. The
line that says so is a register behind the latches, hence the cycles. ``is_last`` and ``ends_loop``
are as in the last of those microinstructions, and count where they are passed over.

Loops have one level, and take no cycles of their own: the microinstruction with ``starts_loop``,
when it is come to from the one before it, sets the counter i to 0; the one with ``ends_loop`` adds
1 and goes back there, as long as i stays below ``trips`` of the one that started the loop. Trips
are at least 1. ``is_last`` ends the program.

A row's address is that of its base, and ``offset`` + ``per_i`` x i + ``per_n`` x n: n, the width,
is a parameter of the command, as the bases are. Counts and trips are sums of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from gnarl.hw.lib.encoding.bit_fields import BitField, bit_fields, packed, unpacked
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum

SKIP_CYCLES = 4
"""Cycles of a ``SKIP``: until the last row operation's P is on the line, and a fetch from there."""


class Kind(IntEnum, metaclass=EnumType, shape=1):
    """What a microinstruction is."""

    SWEEP = 0
    SKIP = 1


class Base(IntEnum, metaclass=EnumType, shape=3):
    """The base that rows count from: operands ``A`` and ``B``, the destination ``D``, another
    operand or destination ``E``, scratch rows ``S``."""

    A = 0
    B = 1
    D = 2
    E = 3
    S = 4


ROW = data.StructLayout(
    {
        "base": Base.as_shape(),
        "offset": signed(8),
        "per_i": signed(2),
        "per_n": signed(3),
        "step": signed(2),
    }
)
"""A row that a sweep begins with. ``per_i`` and ``step`` are -1, 0 or 1; ``per_n`` -1 to 2."""

COUNT = data.StructLayout({"offset": signed(8), "per_i": signed(2), "per_n": signed(3)})
"""How often: ``offset`` + ``per_i`` x i + ``per_n`` x n, never below 0. As in ``ROW``."""

MICROINSTRUCTION = data.StructLayout(
    {
        "kind": Kind.as_shape(),
        "is_last": unsigned(1),
        "starts_loop": unsigned(1),
        "ends_loop": unsigned(1),
        "trips": COUNT,
        "length": unsigned(10),
        "count": COUNT,
        "a": ROW,
        "b": ROW,
        "d": ROW,
        "writes": unsigned(1),
        "start_carry": unsigned(4),
        "start_predicate": unsigned(4),
        "write_table": unsigned(16),
        "carry_table": unsigned(16),
        "predicate_table": unsigned(16),
    }
)
"""``trips`` counts with ``starts_loop``, ``length`` in a ``SKIP``; what does not count is 0."""

Fields = Mapping[str, Any]
"""Numbers by field's name, or for a layout within one the same again."""


def encode(fields: Fields) -> int:
    """The word of a microinstruction, of which fields that are left out are 0.

    ``ValueError`` for a field that is none of ``MICROINSTRUCTION``, or a number that is beyond it.
    """
    _check(_FIELDS, fields, "")
    return packed(_FIELDS, fields)


def decode(word: int) -> dict[str, Any]:
    """All fields of a microinstruction's word; inverse of ``encode``."""
    return unpacked(_FIELDS, word)


_FIELDS = bit_fields(MICROINSTRUCTION)


def _check(known: Mapping[str, BitField], fields: Fields, prefix: str) -> None:
    for name, value in fields.items():
        place = prefix + name
        if name not in known:
            raise ValueError(f"{place}: no such field; there are {', '.join(known)}")
        field = known[name]
        if field.within:
            _check(field.within, value, f"{place}.")
            continue
        least, most = _LIMITS.get(name, field.limits)
        if not least <= value <= most:
            raise ValueError(f"{place} = {value}: must be from {least} to {most}")


_LIMITS = {"per_i": (-1, 1), "step": (-1, 1), "per_n": (-1, 2), "base": (min(Base), max(Base))}
"""Limits of fields that have bits for more."""
