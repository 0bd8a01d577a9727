"""A product with a sparse matrix in coordinates on the execute unit alone.

As look-ups whose bags end where the next entry's row is another one. Rows are loaded and scaled a
group ahead, as columns are; behind the last entry they are below 0. Results of a row are loaded
when it begins, and those of a row behind it are fetched: in ascending order it comes soon.

s8
    where the row is whose results are in registers.
s16
    how many entries there are from the group on whose rows are found.
s17 to s24
    places of rows of the result, of ``U`` entries.

The other registers are as in ``look_ups``; m3: lanes of entries that there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.tmu.by_hand.coupled.look_ups import Bags, LookUps, largest_group
from gnarl.sw.compiler.tmu.by_hand.graphs import ROWS_AHEAD
from gnarl.sw.compiler.tmu.by_hand.site import Site

_ENTRIES = Bags(size="entries", indices="column", table="dense", weights="values").weighted


def spmm_coo(site: Site) -> str:
    if not site.arrays["column"].words:
        return "halt"
    return largest_group(site, _ENTRIES, _Coordinates)


class _Coordinates(LookUps):
    vectors = 4

    @property
    def _targets(self) -> int:
        return self._raw + self._indices.count

    def lines(self) -> Iterator[str]:
        group = range(self._group)
        yield from self._begin()
        for j in group:
            yield f"body{j}:"
            yield from self._body(j, self._bags.then)
            yield f"branch_ne {self._target(j + 1)}, s8, end{j}"
        yield "jump body0"
        for j in group:
            yield f"end{j}:"
            yield from text_lines(self._row.each(f"store.v v{{i}}, {self._result}"))
            yield f"next{j}:"
            yield from self._next_row(j)
        yield "done:"
        yield "halt"

    @property
    def _result(self) -> str:
        return f"[s8 + {self._array('out').base} + {{at}}]{{m}}"

    def _target(self, j: int) -> str:
        return f"s{17 + j % self._group}"

    def _begin_bags(self) -> Iterator[str]:
        yield f"add s16, {self._array('row').words}, zero"

    def _load_indices(self, ahead: int, step: str = "") -> Iterator[str]:
        yield from self._load_group("row", self._targets + self._indices.count, ahead, "")
        yield from super()._load_indices(ahead, step)

    def _find_places(self) -> Iterator[str]:
        yield from super()._find_places()
        count = self._indices.count
        for n in range(count):
            target = self._targets + n
            yield "first_lanes m3, s16"
            yield f"select.v v{target}, v{target + count}, -1, m3"
            yield f"mul.v v{target}, v{target}, {self._row.words}"
            yield f"sub s16, s16, {self._group // count}"

    def _take_places(self, j: int) -> Iterator[str]:
        yield from super()._take_places(j)
        yield self._extract(self._target(j), self._targets, j)

    def _begin_group(self) -> Iterator[str]:
        yield from self._load_indices(2 * self._group, f", s15 += {self._group}")
        yield from self._fetch_indices(("row", "column", "values"))

    def _next_row(self, j: int) -> Iterator[str]:
        """Moves to the next row behind body ``j``."""
        words = self._row.words
        yield f"add s8, {self._target(j + 1)}, zero"
        yield "branch_lt s8, zero, done"
        yield from text_lines(self._row.each(f"load.v v{{i}}, {self._result}"))
        ahead = range(ROWS_AHEAD * words, (ROWS_AHEAD + 1) * words, LINE_WORDS)
        yield from (f"prefetch [s8 + {self._array('out').base + word}]" for word in ahead)
        yield f"jump body{(j + 1) % self._group}"
