"""Microprograms: sweeps, loops of them and blocks that may be passed over, and their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnarl.hw.sram_compute.microcode.rows import Linear, Row
from gnarl.hw.sram_compute.microcode.tables import reads
from gnarl.hw.sram_compute.microinstruction import Base, Fields, Kind, decode, encode


@dataclass(frozen=True)
class Sweep:
    """``count`` row operations, as in ``gnarl.hw.sram_compute.microinstruction``.

    Rows that the tables ignore are None; so is ``d``, where no row is written.
    """

    count: Linear
    a: Row | None
    b: Row | None
    d: Row | None
    write: int
    carry: int
    predicate: int
    start_carry: int
    start_predicate: int


@dataclass(frozen=True)
class Loop:
    """The ``body`` ``trips`` times, with i from 0 up."""

    trips: Linear
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Skip:
    """The ``body``, unless the predicate is 0 on all bitlines."""

    body: tuple[Step, ...]


Step = Sweep | Loop | Skip
Program = tuple[Step, ...]


@dataclass(frozen=True)
class Microinstruction:
    """A sweep with its place in loops, or, without a sweep, a skip of ``length``."""

    sweep: Sweep | None
    length: int = 0
    trips: Linear | None = None
    ends_loop: bool = False
    is_last: bool = False

    def word(self) -> int:
        """The word of the layout ``MICROINSTRUCTION``."""
        fields: dict[str, Any] = {
            "kind": Kind.SWEEP if self.sweep else Kind.SKIP,
            "is_last": self.is_last,
            "starts_loop": self.trips is not None,
            "ends_loop": self.ends_loop,
            "length": self.length,
        }
        if self.trips is not None:
            fields["trips"] = self.trips.fields()
        sweep = self.sweep
        if sweep is None:
            return encode(fields)
        rows = {"a": sweep.a, "b": sweep.b, "d": sweep.d}
        return encode(
            fields
            | {name: row.fields() for name, row in rows.items() if row is not None}
            | {
                "count": sweep.count.fields(),
                "writes": sweep.d is not None,
                "start_carry": sweep.start_carry,
                "start_predicate": sweep.start_predicate,
                "write_table": sweep.write,
                "carry_table": sweep.carry,
                "predicate_table": sweep.predicate,
            }
        )


def disassemble(word: int) -> Microinstruction:
    """The microinstruction of a word; inverse of ``Microinstruction.word``."""
    fields = decode(word)
    return Microinstruction(
        None if fields["kind"] == Kind.SKIP else _sweep(fields),
        fields["length"],
        Linear(**fields["trips"]) if fields["starts_loop"] else None,
        bool(fields["ends_loop"]),
        bool(fields["is_last"]),
    )


def _sweep(fields: Fields) -> Sweep:
    write, carry, predicate = (fields[f"{name}_table"] for name in ("write", "carry", "predicate"))
    reads_a, reads_b = map(any, zip(*map(reads, (write, carry, predicate)), strict=True))
    return Sweep(
        Linear(**fields["count"]),
        _row(fields["a"]) if reads_a else None,
        _row(fields["b"]) if reads_b else None,
        _row(fields["d"]) if fields["writes"] else None,
        write,
        carry,
        predicate,
        fields["start_carry"],
        fields["start_predicate"],
    )


def _row(fields: Fields) -> Row:
    number = Linear(fields["offset"], fields["per_i"], fields["per_n"])
    return Row(Base(fields["base"]), number, fields["step"])


def assemble(program: Program) -> tuple[Microinstruction, ...]:
    """The microinstructions of a program, in order.

    ``ValueError`` for a program or block without sweeps, a loop in a loop, and i outside of one.
    """
    found = _assemble(program, in_loop=False)
    found[-1] = replace(found[-1], is_last=True)
    _mark_skips(found)
    return tuple(found)


def _assemble(steps: Sequence[Step], in_loop: bool) -> list[Microinstruction]:
    if not steps:
        raise ValueError("no sweeps: a program, a loop and a block that may be skipped have some")
    assembled: list[Microinstruction] = []
    for step in steps:
        if isinstance(step, Sweep):
            if not in_loop and _counts(step):
                raise ValueError("i outside of a loop")
            assembled.append(Microinstruction(step))
        elif isinstance(step, Skip):
            body = _assemble(step.body, in_loop)
            assembled += [Microinstruction(None, length=len(body)), *body]
        elif in_loop:
            raise ValueError("a loop in a loop: there is one counter")
        else:
            body = _assemble(step.body, True)
            body[0] = replace(body[0], trips=step.trips)
            body[-1] = replace(body[-1], ends_loop=True)
            assembled += body
    return assembled


def _counts(sweep: Sweep) -> bool:
    """Whether a sweep depends on the loop's counter."""
    rows = (row.number for row in (sweep.a, sweep.b, sweep.d) if row is not None)
    return any(number.per_i for number in (sweep.count, *rows))


def _mark_skips(program: list[Microinstruction]) -> None:
    """Gives skips the flags of the last microinstruction of their block.

    A loop that ends in a block is one that the block has whole, unless the skip is in it, too.
    """
    inside = False
    loops = []
    for each in program:
        inside |= each.trips is not None
        loops.append(inside)
        inside &= not each.ends_loop
    for place in reversed(range(len(program))):
        each = program[place]
        if each.sweep is None:
            last = program[place + each.length]
            program[place] = replace(
                each, is_last=last.is_last, ends_loop=loops[place] and last.ends_loop
            )


def parameters_fit(program: Sequence[Step], width: int) -> bool:
    """Whether loops have trips, and sweeps no count below 0, at a width."""
    return _fits(program, width, 0)


def _fits(steps: Sequence[Step], width: int, i: int) -> bool:
    for step in steps:
        if isinstance(step, Sweep):
            fits = step.count.at(i, width) >= 0
        elif isinstance(step, Skip):
            fits = _fits(step.body, width, i)
        else:
            trips = step.trips.at(0, width)
            fits = trips > 0 and all(_fits(step.body, width, trip) for trip in (0, trips - 1))
        if not fits:
            return False
    return True
