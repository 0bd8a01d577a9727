"""Bags of rows on the execute unit alone: one stream of look-ups, through bags and their ends.

A group of ``U`` look-ups is a body each, behind which the bag may end. While it adds up the row of
a look-up, a body loads the next one's, finds the place of the one ``U`` later in indices that were
loaded as vectors, and fetches its row. So nothing of this begins anew with a bag. What a bag's end
does stands behind the group, once for each body, with the next bag's first body.

s0 to s7
    places of rows of ``U`` look-ups.
s8 to s14
    how many look-ups of the group are behind each body but the last, negative.
s15
    the number of the look-up behind the group.
s16
    that of the one behind the bag, minus s15.
s17, s18
    where the next bag ends, or how long it is; where it is said of the one after that.
s19, s23
    where the bag's results go; where results end.
s21, s22, s24
    where the bag begins and ends; its look-ups, as a float.
s25, s26
    weights of this look-up and the next one.

Vector registers, from v0 on: sums; rows; from v31 down: indices, and places. m1: the last vector's
lanes; m2: ``U`` lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gnarl.hw.lib.encoding.execute_isa import VECTOR_REGISTERS
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.tmu.by_hand.coupled.order import spread
from gnarl.sw.compiler.tmu.by_hand.site import Array, Site, Vectors, row_of

_MOST = 26
"""Vectors of a row."""

_GROUPS = (8, 4, 2)
"""Look-ups of a group: as many as fit."""


@dataclass(frozen=True)
class Bags:
    """Names in the nest of a size, and of arrays; and what is done.

    ends
        of offsets, or of lengths where ``has_lengths``.
    first, then
        what makes sums v{i} of a bag's first row, and what adds another one, of which vector i is
        in {row}, and the weight in {weight}.
    """

    size: str = "bags"
    ends: str = "offsets"
    indices: str = "indices"
    table: str = "table"
    weights: str = ""
    first: str = "fadd.v v{i}, {row}, zero"
    then: str = "fadd.v v{i}, v{i}, {row}"
    has_lengths: bool = False
    divides: bool = False

    @property
    def weighted(self) -> Bags:
        return replace(
            self,
            weights=self.weights or "weights",
            first="fmul_add.v v{i}, {weight}, {row}, zero",
            then="fmul_add.v v{i}, {weight}, {row}, v{i}",
        )


SUMS = Bags()
LENGTHS = Bags(ends="lengths", has_lengths=True)
MEANS = Bags(divides=True)
WEIGHTED_SUMS = SUMS.weighted
WEIGHTED_MEANS = MEANS.weighted
MAXIMA = Bags(first="add.v v{i}, {row}, zero", then="fmax.v v{i}, v{i}, {row}")
CSR = Bags(size="rows", table="dense", weights="values").weighted


def program(site: Site, bags: Bags) -> str:
    """Text for ``bags``. Raises ``CapacityError`` where not even the smallest group fits."""
    if not site.arrays[bags.indices].words or not site.sizes[bags.size]:
        return "halt"
    return largest_group(site, bags, LookUps)


def largest_group(site: Site, bags: Bags, made: type[LookUps]) -> str:
    """Text of ``made`` with the largest group that fits. Raises ``CapacityError``."""
    row = row_of(site, _MOST)
    for group in _GROUPS:
        indices = Vectors(group, site.config.lanes)
        if row.count + 2 + made.vectors * indices.count <= VECTOR_REGISTERS:
            lines = [*made(site, bags, row, indices).lines()]
            if sum(not line.endswith(":") for line in lines) <= site.config.program_words:
                return "\n".join(lines)
    raise CapacityError(
        f"program_words = {site.config.program_words}: must be more for rows of {row.words} words"
    )


class LookUps:
    """A program, line after line. ``vectors``: registers for each vector of a group's indices."""

    vectors = 2

    def __init__(self, site: Site, bags: Bags, row: Vectors, indices: Vectors) -> None:
        self._site = site
        self._bags = bags
        self._row = row
        self._indices = indices
        self._group = indices.words
        self._table = site.arrays[bags.table]
        self._places = VECTOR_REGISTERS - self.vectors * indices.count
        self._raw = self._places + indices.count
        vectors = row.count
        times = -(-vectors // (self._places - vectors))
        self._buffers = -(-vectors // times)

    def lines(self) -> Iterator[str]:
        group = range(self._group)
        yield from self._begin()
        for j in group:
            yield f"body{j}:"
            yield from self._body(j, self._bags.then)
            yield f"branch_eq s16, {self._behind(j)}, end{j}"
        yield "jump body0"
        for j in group:
            yield f"end{j}:"
            yield from self._end_of_bag(j)
            yield f"next{j}:"
            yield from self._next_bag(j)
            yield f"empty{j}:"
            yield from self._store("zero")
            yield f"jump next{j}"
        yield "done:"
        yield "halt"

    def _behind(self, j: int) -> str:
        """How many look-ups of the group are behind body ``j``, negative."""
        return "zero" if j == self._group - 1 else f"s{8 + j}"

    def _array(self, name: str) -> Array:
        return self._site.arrays[name]

    def _begin(self) -> Iterator[str]:
        """Begins a bag, as behind a group, of which there is none."""
        bags, group = self._bags, self._group
        yield from [self._row.mask] * bool(self._row.mask)
        if group < self._indices.lanes:
            yield f"first_lanes m2, {group}"
        yield from self._begin_bags()
        yield from self._load_indices(0)
        yield from self._find_places()
        for j in range(group):
            yield from self._take_places(j)
        for j in range(group):
            yield from self._fetch_row(j)
        yield from self._load_indices(group)
        yield from self._find_places()
        if bags.weights:
            yield self._load_weight(0, 0)
        for i in range(self._buffers):
            yield self._load_vector(i, 0)
        yield f"jump next{group - 1}"

    def _begin_bags(self) -> Iterator[str]:
        bags = self._bags
        for j in range(self._group - 1):
            yield f"add {self._behind(j)}, {j + 1 - self._group}, zero"
        out, ends = self._array("out"), self._array(bags.ends)
        yield f"add s19, {out.base}, zero"
        yield f"add s23, {out.base + out.words}, zero"
        first = ends.base
        if not bags.has_lengths:
            yield f"load s15, [{first}]"
            yield "add s21, s15, zero"
            first += 1
        yield f"load s17, [{first}]"
        yield f"add s18, {first + 1}, zero"

    def _load_indices(self, ahead: int, step: str = "") -> Iterator[str]:
        """Loads indices from s15 on; behind the last one, what lies behind the array: the table."""
        yield from self._load_group(self._bags.indices, self._raw, ahead, step)

    def _load_group(self, name: str, first: int, ahead: int, step: str) -> Iterator[str]:
        """Loads a group of an array into the registers from ``first`` on."""
        lanes = self._indices.lanes
        base = self._array(name).base + ahead
        mask = ", m2" if self._group < lanes else ""
        last = self._indices.count - 1
        for n in range(self._indices.count):
            place = f"[s15 + {base + n * lanes}]{mask}"
            yield f"load.v v{first + n}, {place}{step if n == last else ''}"

    def _find_places(self) -> Iterator[str]:
        """Computes places of rows from indices; behind the last look-up these may be anything."""
        for n in range(self._indices.count):
            place = self._places + n
            yield f"min.v v{place}, v{self._raw + n}, {self._table.shape[0] - 1}"
            yield f"max.v v{place}, v{place}, zero"
            yield f"mul.v v{place}, v{place}, {self._row.words}"

    def _take_places(self, j: int) -> Iterator[str]:
        yield self._extract(f"s{j}", self._places, j)

    def _extract(self, register: str, first: int, j: int) -> str:
        """Number ``j`` of the vectors from ``first`` on."""
        lanes = self._indices.lanes
        return f"extract.v {register}, v{first + j // lanes}, {j % lanes}"

    def _fetch_row(self, j: int) -> list[str]:
        return [f"prefetch [s{j} + {self._table.base + word}]" for word in self._row.lines]

    def _load_weight(self, j: int, behind: int) -> str:
        """Loads the weight of look-up s15 + ``behind``, for body ``j``."""
        place = self._array(self._bags.weights).base + behind
        return f"load {_weight(j)}, [s15 + {place}]"

    def _load_vector(self, i: int, j: int) -> str:
        """Vector ``i`` of the row at s``j``."""
        place = f"[s{j} + {self._table.base} + {{at}}]{{m}}"
        return self._row.line(f"load.v {self._buffer(i)}, {place}", i)

    def _buffer(self, i: int) -> str:
        return f"v{self._row.count + i % self._buffers}"

    def _body(self, j: int, add: str) -> Iterator[str]:
        """Vectors of its own row are loaded up to ``turn``, then those of the next one."""
        count, after = self._row.count, (j + 1) % self._group
        turn = count - self._buffers
        slots = [
            [
                add.format(i=i, row=self._buffer(i), weight=_weight(j)),
                self._load_vector(i + self._buffers, j)
                if i < turn
                else self._load_vector(i % self._buffers, after),
            ]
            for i in range(count)
        ]
        if j == 0:
            yield from self._begin_group()
        if self._bags.weights:
            yield self._load_weight(after, j + 1 - self._group)
        for slot in slots[:turn]:
            yield from slot
        yield from self._take_places(j)
        others = self._fetch_row(j)
        if after == 0:
            others += self._find_places()
        yield from spread(slots[turn:], others)

    def _begin_group(self) -> Iterator[str]:
        group = self._group
        yield from self._load_indices(2 * group, f", s15 += {group}")
        yield f"sub s16, s16, {group}"
        yield from self._fetch_indices((self._bags.indices, self._bags.weights))

    def _fetch_indices(self, names: Iterable[str]) -> Iterator[str]:
        for name in filter(None, names):
            yield f"prefetch [s15 + {self._array(name).base + 2 * self._group + LINE_WORDS}]"

    def _end_of_bag(self, j: int) -> Iterator[str]:
        if self._bags.divides:
            yield f"add s22, s15, {self._behind(j)}"
            yield "sub s24, s22, s21"
            yield "to_float s24, s24"
            yield "add s21, s22, zero"
            yield from text_lines(self._row.each("fdiv.v v{i}, v{i}, s24"))
        yield from self._store("v{i}")

    def _store(self, value: str) -> Iterator[str]:
        row = self._row
        line = f"store.v {value}, [s19 + {{at}}]{{m}}"
        for i in range(row.count):
            step = f", s19 += {row.words}" if i == row.count - 1 else ""
            yield row.line(line, i) + step

    def _next_bag(self, j: int) -> Iterator[str]:
        """Moves to the next bag behind body ``j``."""
        first = (j + 1) % self._group
        yield "branch_eq s19, s23, done"
        yield "add s16, s16, s17" if self._bags.has_lengths else "sub s16, s17, s15"
        yield "load s17, [s18], s18 += 1"
        yield f"prefetch [s18 + {LINE_WORDS}]"
        yield f"branch_eq s16, {self._behind(j)}, empty{j}"
        yield from self._body(first, self._bags.first)
        yield f"branch_eq s16, {self._behind(first)}, end{first}"
        yield f"jump body{(first + 1) % self._group}"


def _weight(j: int) -> str:
    return f"s{25 + j % 2}"
