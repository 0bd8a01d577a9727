"""Random loop nests, as Python text, that have corners on purpose, each of which is rare elsewhere.

Loops are plain, so that passes have work to do, and few arrays are in all of them: what one
statement stores others read, at the same place or at others, in the same loop or in one behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.corner_operands import (
    NARROW,
    CornerOperands,
    Counter,
    Scope,
    dimensions_of,
)
from tests.support.nests.corner_values import ARRAYS, EXTENTS, PADDING, PLACES, CornerValues
from tests.support.nests.python_nests import run_as_python

KINDS = (
    *("shifted", "reversed", "scaled", "loaded", "loaded twice", "constant place", "transposed"),
    *("in place", "two operands", "stored twice", "augmented", "conversion", "inner sum"),
    *(
        "condition",
        "nested condition",
        "else",
        "several conditions",
        "choice",
        "carried",
        "delayed",
    ),
    *("sum behind", "loaded bounds", "triangular", "step", "in a row", "edge constant", "extremum"),
    *("size 0", "size 1", "odd size", "lanes and one", "all lanes", "unused array", "empty array"),
    *(
        "same places",
        "last place",
        "permutation",
        "empty rows",
        "edges",
        "special floats",
        "narrow",
    ),
    *("written places", "element of a sum", "three loops", "best", "repeated"),
)
"""What a nest may have, by name."""

NAME = "corner_nest"


@dataclass(frozen=True)
class CornerNest:
    """``kinds``: of ``KINDS``; ``exact``: whether sums are the same in any order."""

    text: str
    workload: LoopWorkload
    kinds: frozenset[str]
    exact: bool

    def as_python(self) -> dict[str, np.ndarray]:
        """What the text leaves in all arrays when Python runs it."""
        return run_as_python(self.text, NAME, self.workload.binding)


def corner_nest(seed: int, *, narrow: bool = False, owns: bool = False) -> CornerNest:
    """The nest of a seed.

    narrow
        also of integers but int32.
    owns
        mostly without locals, and iterations write elements of their own.
    """
    return _Maker(Random(seed), narrow=narrow, owns=owns).made()


class _Maker(CornerOperands):
    def __init__(self, random: Random, *, narrow: bool, owns: bool) -> None:
        super().__init__(random, narrow=narrow, owns=owns)
        self._lines: list[str] = []
        self._loops = 0
        self._stored: set[str] = set()

    def _add(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def made(self) -> CornerNest:
        if self._has_locals:
            self._add(1, f"p = {self._one('s', self._zero())}")
            self._add(1, "q = s")
        owns_all = self._is_regular or self._owns and self._often(0.8)
        for number in range(self._random.choice((1, 1, 2, 2, 3))):
            before = set(self._stored)
            self._loaded.clear()
            if owns_all:
                self._own_loops()
            else:
                self._loop((), 1, self._random.choice((1, 1, 1, 2, 2, 3)))
            self._noted("in a row", bool(number and before & set(self._loaded)))
        if self._has_locals and self._often(0.7):
            self._add(1, "r[0] = p")
            self._add(1, "r[1] = q")
        if self._often(0.1):
            self._noted("empty array")
            self._add(1, f"for k in range(z):\n        w[k] = {self._one('s', 'w[k] + s')}")
        text = f"{self._head()}\n" + "\n".join(self._lines) + "\n"
        kinds = {self._type.name, self._other.name} & set(NARROW)
        self._noted("narrow", bool(kinds))
        self._noted("unused array", not any("w[" in line for line in self._lines))
        values = CornerValues(self._random, self._noted, exact=self._exact).values(
            self._types, self._type
        )
        nest = read_source(text, "corner.py")
        workload = LoopWorkload("corner", nest, values)
        return CornerNest(text, workload, frozenset(self._kinds), self._exact)

    def _head(self) -> str:
        main = self._type
        parameters = [
            f"{name}: {type}[{', '.join(EXTENTS[each] for each in ARRAYS[name])}]"
            for name, type in self._types.items()
        ]
        parameters += [f"{name}: int32[{EXTENTS[of]}]" for name, (of, _) in PLACES.items()]
        parameters += [f"{name}: int32[{EXTENTS['n']}]" for name in "ol"]
        parameters += [f"r: {main}[4]", f"w: {main}[z]", f"s: {main}", "t: int32"]
        return (
            f"n, m, z = sizes('n', 'm', 'z')\n\n\n@nest\ndef {NAME}(\n    "
            + ",\n    ".join(parameters)
            + ",\n):"
        )

    # Loops

    def _loop(self, scope: Scope, depth: int, inner: int) -> None:
        self._loops += 1
        self._noted("three loops", len(scope) > 1)
        name = f"k{self._loops}"
        bounds, dimension, least = self._bounds(scope)
        self._add(depth, f"for {name} in range({bounds}):")
        inside = (*scope, Counter(name, dimension, least))
        if inner <= 1:
            for _ in range(self._random.choice((1, 1, 1, 2, 2, 3))):
                self._statement(inside, depth + 1)
            return
        kind = 0.6 if self._owns and self._often(0.85) else self._random.random()
        is_sum = self._has_locals and kind < 0.35
        if is_sum:
            self._add(depth + 1, f"p = {self._one(self._zero(), 's', self._element_of(inside))}")
        elif kind < 0.5:
            self._statement(inside, depth + 1)
        self._loop(inside, depth + 1, inner - 1)
        if self._often(0.1):
            self._loop(inside, depth + 1, 1)
        if is_sum:
            self._noted("sum behind")
            self._store(inside, depth + 1, self._one("p", f"p {self._operator()} s"))
        elif kind > 0.75:
            self._statement(inside, depth + 1)

    def _own_loops(self) -> None:
        """Loops that count through an array's dimensions, in any order, around them one that
        repeats all, or inside of them one that adds up."""
        name = self._one(*self._types)
        order = self._random.sample(dimensions_of(name), len(dimensions_of(name)))
        depth, scope = 1, ()
        if self._often(0.2):
            self._noted("repeated")
            self._add(1, f"for k0 in range({self._one('2', 't', '3', '1, n')}):")
            depth = 2
        for dimension in order:
            self._loops += 1
            least = self._random.choice((0, 0, 0, 1, 2))
            end = self._one(dimension, dimension, f"{dimension} - 1")
            bounds = f"{least}, {end}" if least or self._often(0.2) else dimension
            self._add(depth, f"for k{self._loops} in range({bounds}):")
            scope, depth = (*scope, Counter(f"k{self._loops}", dimension, least)), depth + 1
        self._home = [
            next(each for each in scope if each.dimension == dimension)
            for dimension in dimensions_of(name)
        ]
        if len(order) > 1 and order[0] == order[1]:
            self._home = list(scope[-2:])
        if self._often(0.2):
            return self._own_sum(name, scope, depth)
        for _ in range(self._random.choice((1, 1, 2, 2, 3))):
            self._statement(scope, depth)

    def _own_sum(self, name: str, scope: Scope, depth: int) -> None:
        """A sum in an element of the iteration's own."""
        self._noted("inner sum")
        self._loops += 1
        dimension = self._one("n", "m")
        inside = (*scope, Counter(f"k{self._loops}", dimension))
        self._add(depth, f"for k{self._loops} in range({dimension}):")
        place = self._own_place(name, scope)
        self._stored.add(name)
        if self._often(0.2):
            self._noted("extremum")
            value = (
                f"{self._one('min', 'max')}({place}, {self._value(self._types[name], inside, 1)})"
            )
            return self._add(depth + 1, f"{place} = {value}")
        self._add(depth + 1, f"{place} += {self._value(self._types[name], inside, 2)}")

    def _bounds(self, scope: Scope) -> tuple[str, str, int]:
        """Text, which dimension is counted through, and from where."""
        rows = [each.name for each in scope if each.dimension == "n"]
        kind = 0.6 if self._owns and self._often(0.7) else self._random.random()
        if rows and kind < 0.3:
            row = self._one(*rows)
            self._noted("loaded bounds")
            bounds = (
                f"o[{row}], o[{row} + 1]",
                f"o[{row}], o[{row} + 1]",
                f"l[{row}]",
                f"l[x[{row}]]",
            )
            return self._one(*bounds), "n", 0
        if rows and kind < 0.45:
            row = self._one(*rows)
            self._noted("triangular")
            bounds = (f"{row}, n", f"{row} + 1, n", row, f"{row} + 1", f"n - {row}")
            return self._one(*bounds), "n", 0
        dimension = self._one("n", "n", "n", "m")
        if kind > 0.93:
            return "t", "n", 0
        if kind > 0.88:
            self._noted("step")
            return f"{self._one('0', '1')}, {dimension}, {self._one('2', '3')}", dimension, 0
        if kind > 0.7:
            least = self._random.choice((1, 1, 2, 3))
            end = self._one(dimension, dimension, f"{dimension} - 1")
            return f"{least}, {end}", dimension, least
        if kind > 0.67:
            return f"{dimension} + {PADDING}", "", 0
        return dimension, dimension, 0

    # Statements

    def _statement(self, scope: Scope, depth: int) -> None:
        kinds = [self._plain_store] * 4 + [self._in_place, self._twice, self._augmented]
        kinds += [self._elsewhere, self._sum] * (not self._owns)
        if self._has_locals:
            kinds += [self._carried, self._delayed, self._local_sum, self._best]
        if depth < 6:
            kinds += [self._condition] * 2
        self._random.choice(kinds)(scope, depth)

    def _target(self, scope: Scope) -> tuple[str, str]:
        """An array whose dimensions the loops count through, if there is one, and an element."""
        counted = {each.dimension for each in scope}
        names = [name for name in self._types if set(dimensions_of(name)) <= counted]
        if self._owns and (self._is_regular or self._often(0.95)):
            around = sorted(each.dimension for each in scope)
            own = [name for name in self._types if sorted(dimensions_of(name)) == around]
            if own:
                name = self._one(*own)
                self._stored.add(name)
                return name, self._own_place(name, scope)
        name = self._one(*(names or self._types))
        self._stored.add(name)
        return name, self._place(name, scope)

    def _own_place(self, name: str, scope: Scope) -> str:
        """An element that no other iteration has."""
        if self._home and dimensions_of(name) == "".join(each.dimension for each in self._home):
            near = [each.name if self._often(0.9) else self._shifted(each) for each in self._home]
            return f"{name}[{', '.join(near)}]"
        unused, indices = list(scope), []
        for dimension in dimensions_of(name):
            fitting = [each for each in unused if each.dimension == dimension]
            chosen = fitting[0] if self._often(0.7) else self._random.choice(fitting)
            unused.remove(chosen)
            indices.append(chosen.name if self._often(0.7) else self._of(chosen))
        self._noted("transposed", [scope[0].name] != indices[:1] and len(indices) > 1)
        return f"{name}[{', '.join(indices)}]"

    def _plain_store(self, scope: Scope, depth: int) -> None:
        self._store(scope, depth, None)

    def _store(self, scope: Scope, depth: int, value: str | None) -> None:
        """``value``: of the nest's type, by default an expression."""
        name, place = self._target(scope)
        type = self._types[name]
        if value is None:
            value = self._value(type, scope, 2)
        elif type != self._type:
            value = self._value(type, scope, 1)
        self._add(depth, f"{place} = {value}")

    def _in_place(self, scope: Scope, depth: int) -> None:
        self._noted("in place")
        name, left = self._target(scope)
        type = self._types[name]
        parts = [self._place(name, scope), self._value(type, scope, 1)]
        self._random.shuffle(parts)
        self._add(depth, f"{left} = {self._joined(type, *parts)}")

    def _twice(self, scope: Scope, depth: int) -> None:
        self._noted("stored twice")
        name, place = self._target(scope)
        self._add(depth, f"{place} = {self._value(self._types[name], scope, 1)}")
        if self._often(0.4):
            self._statement(scope, depth)
        other = place if self._often(0.6) else self._place(name, scope)
        value = self._value(self._types[name], scope, 1)
        self._add(depth, f"{other} {self._one('=', '+=')} {value}")

    def _augmented(self, scope: Scope, depth: int) -> None:
        self._noted("augmented")
        name, place = self._target(scope)
        value = self._value(self._types[name], scope, 1)
        operator = self._one("+", "+", "-", *["*"] * (not self._exact))
        self._add(depth, f"{place} {operator}= {value}")

    def _sum(self, scope: Scope, depth: int) -> None:
        """A sum in an element that the innermost loop does not name."""
        self._noted("element of a sum")
        around = scope[:-1]
        fitting = [
            name
            for name in self._types
            if around and {each.dimension for each in around} >= set(ARRAYS[name])
        ]
        value = self._value(self._type, scope, 1)
        if not fitting:
            place = f"r[{self._one('0', '1', '3')}]"
        else:
            self._noted("inner sum")
            name = self._one(*fitting)
            place = self._place(name, around)
            value = self._value(self._types[name], scope, 1)
            self._stored.add(name)
        if self._often(0.2):
            self._noted("extremum")
            self._add(depth, f"{place} = {self._one('min', 'max')}({place}, {value})")
            return
        self._add(depth, f"{place} += {value}")

    def _elsewhere(self, scope: Scope, depth: int) -> None:
        """Places are changed, or copied."""
        rows = [each.name for each in scope if each.dimension == "n"]
        if not rows or self._often(0.6):
            return self._plain_store(scope, depth)
        self._noted("written places")
        row = self._one(*rows)
        self._add(depth, f"y[{row}] = {self._one(f'x[{row}]', f'n - {row}', f'y[y[{row}]]', row)}")

    def _carried(self, scope: Scope, depth: int) -> None:
        self._noted("carried")
        self._add(depth, f"q = {self._joined(self._type, 'q', self._value(self._type, scope, 1))}")
        if self._often(0.6):
            self._store(scope, depth, "q")

    def _delayed(self, scope: Scope, depth: int) -> None:
        """What an iteration stores an earlier one has loaded."""
        self._noted("delayed")
        self._store(scope, depth, self._one("q", f"q {self._operator()} s"))
        self._add(depth, f"q = {self._value(self._type, scope, 1)}")

    def _local_sum(self, scope: Scope, depth: int) -> None:
        self._noted("carried")
        self._add(depth, f"p = p {self._one('+', '+', '-')} {self._value(self._type, scope, 1)}")

    def _best(self, scope: Scope, depth: int) -> None:
        self._noted("best")
        value = self._value(self._type, scope, 1)
        self._add(depth, f"if {value} {self._one('<', '>', '>=')} q:")
        self._add(depth + 1, f"q = {value}")

    def _condition(self, scope: Scope, depth: int) -> None:
        self._noted("condition")
        self._noted("nested condition", self._lines[-1].lstrip().startswith("if "))
        self._add(depth, f"if {self._comparison(scope)}:")
        for _ in range(self._random.choice((1, 1, 2))):
            self._statement(scope, depth + 1)
        if self._often(0.35):
            self._noted("else")
            self._add(depth, "else:")
            self._statement(scope, depth + 1)
