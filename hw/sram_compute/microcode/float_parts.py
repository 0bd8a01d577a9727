"""What floating-point microcode has in common: fields, shifts by a predicate, and the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gnarl.hw.lib.formats import FloatFormat
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.integer import majority
from gnarl.hw.sram_compute.microcode.rows import A, B, Row, Rows
from gnarl.hw.sram_compute.microcode.tables import LatchFunction, RowFunction


class FloatRows:
    """The rows of a floating-point number: ``fraction``, ``exponent``, ``sign``."""

    def __init__(self, rows: Rows, format: FloatFormat) -> None:
        self.rows = rows
        self.fraction = rows
        self.exponent = rows + format.fraction
        self.sign = rows.at(format.width - 1)


def load(p: Builder, row: Row) -> None:
    """The predicate is the row."""
    p.sweep(1, row, predicate=lambda a, b, c, p: a)


def set_rows(p: Builder, rows: Rows, count: int, value: int) -> None:
    """Rows where the predicate is set become 0 or 1."""
    if count:
        p.sweep(count, rows.up(), d=rows.up(), write=lambda a, b, c, p: value if p else a)


def gather(
    p: Builder,
    rows: Rows,
    count: int,
    *,
    start: LatchFunction,
    step: Callable[[int, int], int],
    d: Row | None = None,
    write: RowFunction | None = None,
    predicate: RowFunction | None = None,
) -> None:
    """The carry becomes ``step(carry, row)`` for all rows, two in a row operation.

    The last row operation also does what ``write`` and ``predicate`` say: to them, the carry is
    the new one.
    """
    half = count // 2
    pairs = half if count % 2 else half - 1
    both: RowFunction = lambda a, b, c, p: step(step(c, a), b)  # noqa: E731
    one: RowFunction = lambda a, b, c, p: step(c, a)  # noqa: E731
    if pairs:
        p.sweep(pairs, rows.up(), rows.up(pairs), start_carry=start, carry=both)
    after = one if count % 2 else both
    p.sweep(
        1,
        rows.at(2 * pairs),
        None if count % 2 else rows.at(2 * pairs + 1),
        d,
        start_carry=None if pairs else start,
        carry=after,
        write=_behind(after, write),
        predicate=_behind(after, predicate),
    )


def _behind(before: RowFunction, function: RowFunction | None) -> RowFunction | None:
    if function is None:
        return None
    return lambda a, b, c, p: function(a, b, before(a, b, c, p), p)


def gathered_any(
    p: Builder,
    rows: Rows,
    count: int,
    d: Row | None = None,
    write: RowFunction | None = None,
    predicate: RowFunction | None = None,
) -> None:
    """The carry is whether any of the rows is set; the rest as in ``gather``."""
    gather(
        p,
        rows,
        count,
        start=lambda c, p: 0,
        step=lambda c, row: c | row,
        d=d,
        write=write,
        predicate=predicate,
    )


def alike(numbers: range, kind: Callable[[int], Any]) -> Iterator[tuple[range, Any]]:
    """Runs of neighbouring numbers of one kind."""
    for value, group in groupby(numbers, kind):
        run = list(group)
        yield range(run[0], run[-1] + numbers.step, numbers.step), value


def shift_right_sticky(p: Builder, rows: Rows, low: int, top: int, distance: int) -> int:
    """Rows ``low`` to ``top`` move down by ``distance`` where the predicate is set.

    Row 1 is the lowest that is kept; the carry gathers what falls below it. Gives the new lowest
    row that may be set; rows below ``low`` need not be there before.
    """
    lowest = max(1, low - distance)
    for run, (is_there, falls, has_source) in alike(
        range(lowest, top + 1),
        lambda row: (row >= low, low <= row <= distance, row + distance <= top),
    ):
        p.sweep(
            len(run),
            rows.up(run[0]) if is_there else None,
            rows.up(run[0] + distance) if has_source else None,
            rows.up(run[0]),
            write=_moved(is_there, has_source),
            carry=(lambda a, b, c, p: c | a & p) if falls else None,
        )
    return lowest


def shift_left(
    p: Builder, rows: Rows, low: int, top: int, distance: int, lowest_source: int | None = None
) -> None:
    """Rows ``low`` to ``top`` move up by ``distance`` where the predicate is set.

    What comes from below ``lowest_source`` (``low`` unless it is given) is 0.
    """
    source = low if lowest_source is None else lowest_source
    for run, has_source in alike(range(top, low - 1, -1), lambda row: row - distance >= source):
        p.sweep(
            len(run),
            rows.down(run[0]),
            rows.down(run[0] - distance) if has_source else None,
            rows.down(run[0]),
            write=_moved(True, has_source),
        )


def _moved(is_there: bool, has_source: bool) -> RowFunction:
    """The bit of row a, or where the predicate is set that of b; 0 for those that aren't there."""
    if is_there and has_source:
        return lambda a, b, c, p: b if p else a
    if is_there:
        return lambda a, b, c, p: a & ~p
    return lambda a, b, c, p: b & p


def shift_right(p: Builder, rows: Rows, top: int, distance: int) -> None:
    """Rows 0 to ``top`` move down by ``distance`` where the predicate is set."""
    for run, has_source in alike(range(top + 1), lambda row: row + distance <= top):
        p.sweep(
            len(run),
            rows.up(run[0]),
            rows.up(run[0] + distance) if has_source else None,
            rows.up(run[0]),
            write=_moved(True, has_source),
        )


def pack_exponent(p: Builder, format: FloatFormat, d: FloatRows, top: Row) -> None:
    """Adds ``top`` and the carry to the exponent in ``d``; the predicate says if it is all ones."""
    p.sweep(
        1,
        d.exponent.at(),
        top,
        d.exponent.at(),
        start_predicate=lambda c, p: 1,
        write=lambda a, b, c, p: a ^ b ^ c,
        carry=lambda a, b, c, p: majority(a, b, c),
        predicate=lambda a, b, c, p: a ^ b ^ c,
    )
    p.sweep(
        format.exponent - 1,
        d.exponent.up(1),
        d=d.exponent.up(1),
        write=lambda a, b, c, p: a ^ c,
        carry=lambda a, b, c, p: a & c,
        predicate=lambda a, b, c, p: p & (a ^ c),
    )


def overwrite_special(
    p: Builder, format: FloatFormat, d: FloatRows, is_nan: Row, is_special: Row
) -> None:
    """Results whose predicate is set become infinities of their sign, or, where both rows are set,
    the canonical NaN."""
    p.sweep(1, is_nan, is_special, carry=lambda a, b, c, p: a & b)
    set_rows(p, d.fraction, format.fraction - 1, 0)
    top = d.rows.at(format.fraction - 1)
    p.sweep(1, top, d=top, write=lambda a, b, c, p: c if p else a)
    set_rows(p, d.exponent, format.exponent, 1)
    p.sweep(1, d.sign, d=d.sign, write=lambda a, b, c, p: a & ~(c & p))


@dataclass(frozen=True)
class Difference:
    """Tables of a constant's bit less row a, where there is one, with a carry, as ``subtract`` has.

    ``masked``: and the predicate. ``gathered``: or the predicate.
    """

    write: RowFunction
    masked: RowFunction
    gathered: RowFunction
    carry: RowFunction


def subtracted(bit: int, has_row: bool) -> Difference:
    def write(a: int, b: int, c: int, p: int) -> int:
        return bit ^ ~(a & has_row) ^ c

    return Difference(
        write,
        masked=lambda a, b, c, p: write(a, b, c, p) & p,
        gathered=lambda a, b, c, p: write(a, b, c, p) | p,
        carry=lambda a, b, c, p: majority(bit, ~(a & has_row), c),
    )


def canonical_nan(p: Builder, format: FloatFormat, d: FloatRows) -> None:
    """Results whose predicate is set become NaN."""
    set_rows(p, d.fraction, format.fraction - 1, 0)
    set_rows(p, d.rows + (format.fraction - 1), format.exponent + 1, 1)
    set_rows(p, d.exponent + format.exponent, 1, 0)


def any_exponents(p: Builder, format: FloatFormat, left: Row) -> None:
    """The carry, and the row, is whether the exponent of A isn't 0, the predicate whether that of B
    isn't."""
    a, b, last = FloatRows(A, format), FloatRows(B, format), format.exponent - 1
    p.sweep(
        last,
        a.exponent.up(),
        b.exponent.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: a | c,
        predicate=lambda a, b, c, p: b | p,
    )
    p.sweep(
        1,
        a.exponent.at(last),
        b.exponent.at(last),
        left,
        write=lambda a, b, c, p: a | c,
        carry=lambda a, b, c, p: a | c,
        predicate=lambda a, b, c, p: b | p,
    )


def hidden_bits(p: Builder, format: FloatFormat, left: Row, right: Row) -> None:
    """Writes whether the exponents of A and B aren't 0, to two rows."""
    any_exponents(p, format, left)
    p.sweep(1, d=right, write=lambda a, b, c, p: p)


def all_ones(p: Builder, format: FloatFormat) -> None:
    """The carry is whether the exponent of A is all ones, the predicate that of B."""
    a, b = FloatRows(A, format), FloatRows(B, format)
    p.sweep(
        format.exponent,
        a.exponent.up(),
        b.exponent.up(),
        start_carry=lambda c, p: 1,
        start_predicate=lambda c, p: 1,
        carry=lambda a, b, c, p: a & c,
        predicate=lambda a, b, c, p: b & p,
    )


def are_nan(p: Builder, format: FloatFormat) -> None:
    """The carry is whether A is NaN, the predicate whether B is."""
    a, b = FloatRows(A, format), FloatRows(B, format)
    p.sweep(
        format.fraction,
        A.up(),
        B.up(),
        start_carry=lambda c, p: 0,
        start_predicate=lambda c, p: 0,
        carry=lambda a, b, c, p: a | c,
        predicate=lambda a, b, c, p: b | p,
    )
    p.sweep(
        format.exponent,
        a.exponent.up(),
        b.exponent.up(),
        carry=lambda a, b, c, p: a & c,
        predicate=lambda a, b, c, p: b & p,
    )
