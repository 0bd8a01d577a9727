"""Scores of triples on the execute unit alone.

A step works on some vectors of the three rows, each of whose registers is loaded for the next step
as soon as it is read; the next sample's rows are fetched meanwhile. What a step makes is added up
in the next one, so a sample's last vectors in the first step of the sample behind it, where then
its lanes are added, too, and its score is stored.

s0 to s2
    where the next step's vectors of a sample's rows are: head, relation, tail.
s3 to s5
    where vectors of the next sample's rows are, to be fetched.
s6
    the number of the sample behind that, or of the last one.
s7, s14
    the score of the sample before; where it goes, that before the first one where the first one's
    does.
s8
    where it would go.
s9, s10
    samples; steps but for the first and the last.
s11 to s13
    rows' numbers.

Vector registers: heads, relations, tails, and what is made of them, ``_STEP`` of each; v24 and v25:
sums; v26: those of the sample before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.compiler.tmu.by_hand.coupled.order import spread
from gnarl.sw.compiler.tmu.by_hand.knowledge_graphs import SUMS, pairs
from gnarl.sw.compiler.tmu.by_hand.site import Site

_STEP = 4
"""Vectors of a row, where it has a multiple of so many; else those of a pair."""

_ROWS = ("heads", "entity"), ("links", "relation"), ("tails", "entity")
"""Names of the arrays of their numbers, and of the table."""


def l1(site: Site) -> str:
    absolute = ["fabs.v {made}, {made}"]
    return "\n".join(_Scores(site, absolute, "fadd.v {sum}, {sum}, {made}", []).lines())


def l2(site: Site) -> str:
    add = "fmul_add.v {sum}, {made}, {made}, {sum}"
    return "\n".join(_Scores(site, [], add, ["fsqrt s7, s7"]).lines())


class _Scores:
    """Scores of samples. ``make``: what is done with differences; ``add``: adds them up; ``end``:
    makes a score of their sum s7."""

    def __init__(self, site: Site, make: list[str], add: str, end: list[str]) -> None:
        self._site, self._make, self._add, self._end = site, make, add, end
        vectors = SUMS * pairs(site)
        self._vectors = range(_STEP if vectors % _STEP == 0 else SUMS)
        self._steps = vectors // len(self._vectors)
        self._words = len(self._vectors) * site.config.lanes
        self._last = site.sizes["samples"] - 1
        self._out = site.arrays["out"].base

    def lines(self) -> Iterator[str]:
        if self._last < 0:
            yield "halt"
            return
        yield from self._begin()
        yield "loop s9, samples"
        yield from self._begin_sample()
        if self._steps > 1:
            yield from self._step(self._end_sums())
        if self._steps > 2:
            yield "loop s10, steps"
            yield from self._step()
            yield "steps:"
        advanced = self._site.sizes["dim"] - self._words
        yield from (f"sub s{n}, s{n + 3}, {advanced}" for n in range(3))
        behind = self._end_sums() if self._steps == 1 else ()
        yield from self._step([*behind, *self._score()])
        yield "store s7, [s14]"
        yield from self._places(3)
        yield "samples:"
        yield from (self._sum(i) for i in self._vectors)
        yield from self._end_sums()
        yield from self._score()
        yield f"store s7, [{self._out + self._last}]"
        yield "halt"

    def _begin(self) -> Iterator[str]:
        """Fetches the first sample's rows, and loads what its first step needs."""
        yield f"add s8, {self._out - 1}, zero"
        yield f"add s9, {self._last + 1}, zero"
        yield f"add s10, {self._steps - 2}, zero"
        yield from self._numbers()
        yield from self._places(0)
        yield from self._numbers()
        for word in range(0, self._site.sizes["dim"], LINE_WORDS):
            yield from (f"prefetch [s{n} + {self._base(n) + word}]" for n in range(3))
        yield from self._places(3)
        for n in range(3):
            yield from (self._load(n, i) for i in self._vectors)
        for register in (*map(_made, self._vectors), "v24", "v25"):
            yield f"add.v {register}, zero, zero"

    def _begin_sample(self) -> Iterator[str]:
        yield from self._numbers()
        yield f"max s14, s8, {self._out}"
        yield "add s8, s8, 1"

    def _numbers(self) -> Iterator[str]:
        """Loads the numbers of the rows of sample s6, and moves s6 to the next one."""
        for n, (numbers, _) in enumerate(_ROWS):
            yield f"load s{n + 11}, [s6 + {self._site.arrays[numbers].base}]"
        yield "add s6, s6, 1"
        yield f"min s6, s6, {self._last}"

    def _places(self, first: int) -> Iterator[str]:
        """Computes where the rows are, into the registers from ``first`` on."""
        yield from (f"mul s{first + n}, s{n + 11}, {self._site.sizes['dim']}" for n in range(3))

    def _step(self, behind: Iterable[str] = ()) -> Iterator[str]:
        """A step of a score. ``behind``: the additions of what the step before has made."""
        fetches = [*self._fetches()]
        first = len(fetches) // 2
        for i in self._vectors:
            yield self._sum(i)
            yield f"fadd.v {_made(i)}, {_loaded(0, i)}, {_loaded(1, i)}"
            yield from (self._load(n, i) for n in range(2))
        differences = [
            [f"fsub.v {_made(i)}, {_made(i)}, {_loaded(2, i)}", self._load(2, i)]
            for i in self._vectors
        ]
        makes = [[line.format(made=_made(i)) for line in self._make] for i in self._vectors]
        yield from spread([*differences, *makes], [*behind, *fetches[:first]])
        yield from fetches[first:]

    def _sum(self, i: int) -> str:
        return self._add.format(sum=f"v{24 + i % SUMS}", made=_made(i))

    def _end_sums(self) -> Iterator[str]:
        """Adds them up, and clears them."""
        yield "fadd.v v26, v24, v25"
        yield "add.v v24, zero, zero"
        yield "add.v v25, zero, zero"
        yield "reduce_add.v s7, v26"

    def _score(self) -> Iterator[str]:
        yield "fadd s7, s7, zero"
        yield from self._end

    def _load(self, n: int, i: int) -> str:
        step = f", s{n} += {self._words}" if i == self._vectors[-1] else ""
        return (
            f"load.v {_loaded(n, i)}, [s{n} + {self._base(n) + i * self._site.config.lanes}]{step}"
        )

    def _fetches(self) -> Iterator[str]:
        words = range(0, self._words, LINE_WORDS)
        for word in words:
            for n in range(3):
                step = f", s{n + 3} += {self._words}" if word == words[-1] else ""
                yield f"prefetch [s{n + 3} + {self._base(n) + word}]{step}"

    def _base(self, n: int) -> int:
        return self._site.arrays[_ROWS[n][1]].base


def _loaded(n: int, i: int) -> str:
    return f"v{n * _STEP + i}"


def _made(i: int) -> str:
    return _loaded(3, i)
