"""What microcode is written with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gnarl.hw.sram_compute.microcode.program import Loop, Program, Skip, Step, Sweep
from gnarl.hw.sram_compute.microcode.rows import Number, Row, linear
from gnarl.hw.sram_compute.microcode.tables import (
    KEEP_CARRY,
    KEEP_PREDICATE,
    START_CARRY,
    START_PREDICATE,
    LatchFunction,
    RowFunction,
    reads,
    start_table,
    table,
)


class Builder:
    """A program, sweep by sweep; for one ``width`` alone, if it is given, else for any."""

    def __init__(self, width: int | None = None) -> None:
        self.width = width
        self._steps: list[Step] = []

    def sweep(
        self,
        count: Number,
        a: Row | None = None,
        b: Row | None = None,
        d: Row | None = None,
        *,
        write: RowFunction | None = None,
        carry: RowFunction | None = None,
        predicate: RowFunction | None = None,
        start_carry: LatchFunction | None = None,
        start_predicate: LatchFunction | None = None,
    ) -> None:
        """Row operations; what is left out of carry and predicate stays as it is.

        ``ValueError`` where ``d`` is given without ``write`` or the other way round, and where a
        function depends on a row that is not given.
        """
        if (d is None) != (write is None):
            raise ValueError("d and write: give both or neither")
        tables = (
            table(write) if write else 0,
            table(carry) if carry else KEEP_CARRY,
            table(predicate) if predicate else KEEP_PREDICATE,
        )
        needed = [any(each) for each in zip(*map(reads, tables), strict=True)]
        for name, row, is_needed in zip("ab", (a, b), needed, strict=True):
            if is_needed != (row is not None):
                wrong = "no row for what depends on it" if is_needed else "nothing depends on it"
                raise ValueError(f"{name}: {wrong}")
        self._steps.append(
            Sweep(
                linear(count),
                a,
                b,
                d,
                *tables,
                start_carry=start_table(start_carry) if start_carry else START_CARRY,
                start_predicate=start_table(start_predicate)
                if start_predicate
                else START_PREDICATE,
            )
        )

    @contextmanager
    def loop(self, trips: Number) -> Iterator[None]:
        """A loop of what is written within, with i from 0 to ``trips`` - 1; nothing where a given
        width makes it none."""
        around, self._steps = self._steps, []
        yield
        if self.width is None or linear(trips).at(0, self.width):
            around.append(Loop(linear(trips), tuple(self._steps)))
        self._steps = around

    @contextmanager
    def if_any_predicate(self) -> Iterator[None]:
        """What is written within may be passed over where no bitline has its predicate set."""
        around, self._steps = self._steps, []
        yield
        around.append(Skip(tuple(self._steps)))
        self._steps = around

    def program(self) -> Program:
        return tuple(self._steps)
