"""Messages between the vertices of a graph (FusedMM) on the execute unit alone.

A body has the product of an edge's rows, which is added up in four vectors, and adds the row of the
edge before to the result's row, which stays in registers: so what lies between a product and its
use takes no time of its own. Edges follow each other across vertices. Rows are fetched some edges
ahead, and the next vertex's row.

s0
    where the row of the vertex is whose results are in registers.
s1 to s3
    of the edge before: scale, product, value, which becomes this one's.
s4, s5, s8
    where neighbours' rows are: of the edge before, of this one, of that to be fetched.
s6, s7
    numbers of neighbours: of the next edge, of the next one to be fetched.
s9
    the number of the next edge, or of the last one.
s10, s15
    where the row of this edge's vertex is; how many edges it has behind its first one.
s11
    where the end of the vertex after the next one is said.
s12 to s14
    where the vertex begins and ends, and where the next one ends.
s16
    where the last vertex ends.

Vector registers, from v0 on: results; from v16: sums; from v20: rows. m1: the last vector's lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from gnarl.hw.lib.encoding.execute_isa import VECTOR_REGISTERS
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.tmu.by_hand.messages import MOST, SUMS
from gnarl.sw.compiler.tmu.by_hand.site import Site, row_of

_AHEAD = 2
"""Edges."""

_SUM = MOST
_LOADED = _SUM + SUMS
_BUFFERS = VECTOR_REGISTERS - _LOADED

_UNDER_WAY = 8
"""Vectors that are loaded before they are needed."""

_TOTAL = (4, 5, 8, 11)
"""Behind which of the result's vectors sums are added to each other, so that nothing waits."""

_FIRST, _THEN = "fmul_add.v v{i}, s1, {row}, zero", "fmul_add.v v{i}, s1, {row}, v{i}"
"""What makes results of a vertex's first edge, and what adds another one."""


def fused_mm(site: Site) -> str:
    if not site.arrays["indices"].words or not site.sizes["vertices"]:
        return "halt"
    return "\n".join(_Messages(site).lines())


class _Messages:
    def __init__(self, site: Site) -> None:
        self._row = row_of(site, MOST)
        self._bases = {name: array.base for name, array in site.arrays.items()}
        self._vertices = site.sizes["vertices"]
        self._last = site.arrays["indices"].words - 1

    def lines(self) -> Iterator[str]:
        yield from self._begin()
        yield from self._next_vertex("none")
        yield from self._body("")
        yield "vertex:"
        yield "add s0, s10, zero"
        ahead = range(self._row.words, 2 * self._row.words, LINE_WORDS)
        yield from (f"prefetch [s10 + {self._bases['vertex'] + word}]" for word in ahead)
        yield "branch_eq s15, zero, only"
        yield from self._body(_FIRST)
        yield "sub s15, s15, 1"
        yield "loop s15, last"
        yield from self._body(_THEN)
        yield "last:"
        yield from self._end_of_vertex("found", _THEN)
        yield "only:"
        yield from self._end_of_vertex("found_behind_one", _FIRST)
        yield "done:"
        yield "halt"

    def _begin(self) -> Iterator[str]:
        words, indices, offsets = self._row.words, self._bases["indices"], self._bases["offsets"]
        yield from [self._row.mask] * bool(self._row.mask)
        yield f"load s13, [{offsets}]"
        yield f"load s14, [{offsets + 1}]"
        yield f"load s16, [{offsets + self._vertices}]"
        yield f"add s11, {offsets + 2}, zero"
        yield f"add s10, {-words}, zero"
        yield "branch_eq s13, s16, done"
        yield "add s9, s13, zero"
        for edge in range(_AHEAD):
            yield f"load s8, [s9 + {indices + edge}]"
            yield f"mul s8, s8, {words}"
            yield from self._fetches()
        for register, edge in (("s5", 0), ("s8", _AHEAD)):
            yield f"load {register}, [s9 + {indices + edge}]"
            yield f"mul {register}, {register}, {words}"

    def _end_of_vertex(self, found: str, add: str) -> Iterator[str]:
        """The product of the next vertex's first edge; of any one, where there is none."""
        yield f"branch_eq s13, s16, {found}"
        yield from self._next_vertex(found)
        yield from self._body(add)
        store = f"store.v v{{i}}, [s0 + {self._bases['out']} + {{at}}]{{m}}"
        yield from text_lines(self._row.each(store))
        yield "branch_ne s0, s10, vertex"
        yield "jump done"

    def _next_vertex(self, found: str) -> Iterator[str]:
        """The next one that has edges."""
        yield f"{found}_not:"
        yield f"add s10, s10, {self._row.words}"
        yield "add s12, s13, zero"
        yield "add s13, s14, zero"
        yield "load s14, [s11], s11 += 1"
        yield f"branch_eq s12, s13, {found}_not"
        yield "sub s15, s13, s12"
        yield "sub s15, s15, 1"
        yield f"{found}:"

    def _body(self, add: str) -> Iterator[str]:
        """The body for an edge. ``add``: what is done with the edge before; none, where there is
        none."""
        loads, slots = self._products()
        turn = len(slots)
        if add:
            for i in range(self._row.count):
                slots.append((add.format(i=i, row=_buffer(len(loads))), len(loads) + 1))
                loads.append(self._load("neighbour", "s4", i, len(loads)))
        ordered = _with_loads(slots, loads)
        yield from next(ordered)
        yield from self._find_edges()
        yield from (line for slot in islice(ordered, turn) for line in slot)
        results = [*ordered]
        results.insert(sum(len(slot) > 1 for slot in results), self._move())
        total, end = _total(min(self._row.count, SUMS)), len(results)
        for place, line in reversed([*zip(_TOTAL[-len(total) :], total, strict=True)]):
            results.insert(min(place, end), [line])
        for slot in results:
            yield from slot

    def _products(self) -> tuple[list[str], list[tuple[str, int]]]:
        """Loads; and what is done with them, each behind so many loads."""
        loads: list[str] = []
        slots: list[tuple[str, int]] = []
        for i in range(self._row.count):
            total, first = f"v{_SUM + i % SUMS}", len(loads)
            loads += [
                self._load(name, place, i, first + n)
                for n, (name, place) in enumerate((("neighbour", "s5"), ("vertex", "s10")))
            ]
            operands = f"{total}, {_buffer(first)}, {_buffer(first + 1)}"
            add = f"fmul.v {operands}" if i < SUMS else f"fmul_add.v {operands}, {total}"
            slots.append((add, len(loads)))
        return loads, slots

    def _load(self, name: str, place: str, i: int, number: int) -> str:
        line = f"load.v {_buffer(number)}, [{place} + {self._bases[name]} + {{at}}]{{m}}"
        return self._row.line(line, i)

    def _find_edges(self) -> Iterator[str]:
        """The scale of the edge before, the value of this one, numbers of neighbours to come."""
        yield "fadd s2, s2, zero"
        yield from self._fetches()
        yield "fmul s1, s2, s3"
        indices = self._bases["indices"]
        yield f"load s3, [s9 + {self._bases['values']}], s9 += 1"
        yield f"min s9, s9, {self._last}"
        yield f"load s6, [s9 + {indices}]"
        yield f"load s7, [s9 + {indices + _AHEAD}]"
        yield f"prefetch [s9 + {indices + _AHEAD + LINE_WORDS}]"

    def _fetches(self) -> Iterator[str]:
        return (f"prefetch [s8 + {self._bases['neighbour'] + word}]" for word in self._row.lines)

    def _move(self) -> list[str]:
        """Moves to the next edge."""
        words = self._row.words
        return ["add s4, s5, zero", f"mul s5, s6, {words}", f"mul s8, s7, {words}"]


def _buffer(number: int) -> str:
    return f"v{_LOADED + number % _BUFFERS}"


def _with_loads(slots: Sequence[tuple[str, int]], loads: Sequence[str]) -> Iterator[list[str]]:
    """The first loads; then what is done, each with loads for later."""
    issued = min(_UNDER_WAY, len(loads))
    yield [*loads[:issued]]
    for line, behind in slots:
        until = min(behind + _UNDER_WAY, len(loads))
        yield [line, *loads[issued:until]]
        issued = until


def _total(sums: int) -> list[str]:
    """s2: of all lanes, by halves."""
    lines = []
    for half in (2, 1):
        for i in range(min(half, sums - half)):
            first = f"v{_SUM + i}"
            lines.append(f"fadd.v {first}, {first}, v{_SUM + i + half}")
    return [*lines, f"reduce_add.v s2, v{_SUM}"]
