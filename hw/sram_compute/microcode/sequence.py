"""The order in which a bank runs microinstructions, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gnarl.hw.sram_compute.microcode.program import Microinstruction, Sweep
from gnarl.hw.sram_compute.microcode.rows import Row
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES, Base


@dataclass(frozen=True)
class Run:
    """A sweep as it runs: i and n are known. ``Span``: base, first row from there, step."""

    sweep: Sweep
    count: int
    a: Span | None
    b: Span | None
    d: Span | None


Span = tuple[Base, int, int]


def sequence(
    program: Sequence[Microinstruction], n: int, any_predicate: Callable[[], bool]
) -> Iterator[Run | None]:
    """The sweeps of a program in order, and None for each skip that is tested.

    ``any_predicate`` is asked behind a skip's None.
    """
    place = start = i = trips = 0
    is_back = False
    while True:
        each = program[place]
        if each.trips is not None and not is_back:
            start, i, trips = place, 0, each.trips.at(0, n)
        place += 1
        is_passed = True
        if each.sweep is None:
            yield None
            is_passed = not any_predicate()
            place += each.length if is_passed else 0
        else:
            yield _run(each.sweep, i, n)
        is_back = is_passed and each.ends_loop and i + 1 < trips
        if is_back:
            place, i = start, i + 1
        elif is_passed and each.is_last:
            return


def cycles(program: Sequence[Microinstruction], n: int = 0, *, skips: bool) -> int:
    """Cycles of a program at width ``n``, where ``skips`` says whether all skips pass over their
    blocks or none does."""
    return sum(
        SKIP_CYCLES if run is None else max(1, run.count)
        for run in sequence(program, n, lambda: not skips)
    )


def extent(program: Sequence[Microinstruction], base: Base, n: int = 0) -> tuple[int, int]:
    """The first row from ``base`` on that a program reads or writes, and one behind the last;
    (0, 0) if there is none."""
    rows = [
        first + step * place
        for run in sequence(program, n, lambda: True)
        if run is not None and run.count
        for span in (run.a, run.b, run.d)
        if span is not None and span[0] == base
        for _, first, step in [span]
        for place in (0, run.count - 1)
    ]
    return (min(rows), max(rows) + 1) if rows else (0, 0)


def _run(sweep: Sweep, i: int, n: int) -> Run:
    def span(row: Row | None) -> Span | None:
        return None if row is None else (row.base, row.number.at(i, n), row.step)

    return Run(sweep, sweep.count.at(i, n), span(sweep.a), span(sweep.b), span(sweep.d))
