"""Random loop nests, as Python text, that have corners on purpose, each of which is rare elsewhere.

Loops are plain, so that passes have work to do, and few arrays are in all of them: what one
statement stores others read, at the same place or at others, in the same loop or in one behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, FLOAT32, ScalarType
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.arithmetic.special_floats import SPECIAL
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
LANES = (2, 4, 8, 16)
PADDING = 4
"""Elements of each dimension behind those that loops count through."""

_NARROW = ("int8", "uint8", "int16", "uint16", "uint32")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ARRAYS = {"a": "n", "b": "n", "c": "n", "d": "m", "e": "nm", "f": "mn", "h": "nn", "g": "2"}
"""Arrays of data, by the dimensions that they have."""

_EXTENTS = {"n": f"n + {PADDING}", "m": f"m + {PADDING}", "2": f"2 * n + {2 * PADDING}"}
_PLACES = {"x": "nn", "y": "nn", "v": "nm", "j": "mn"}
"""Arrays of places: which dimension they have, and of which they hold places."""


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


def _dimensions(name: str) -> str:
    """Those of loops, of which an array's indices are made."""
    return _ARRAYS[name].replace("2", "n")


@dataclass(frozen=True)
class _Counter:
    name: str
    dimension: str
    least: int = 0


_Scope = tuple[_Counter, ...]


class _Maker:
    def __init__(self, random: Random, *, narrow: bool, owns: bool) -> None:
        self._random = random
        self._kinds: set[str] = set()
        self._exact = random.random() < 0.3
        types = ["float32"] * 4 + ["int32"] * 2 + [random.choice(_NARROW)] * 4 * narrow
        self._type = BY_NAME[random.choice(types)]
        self._other = BY_NAME[random.choice(types)]
        arrays = [name for name in _ARRAYS if name != "g" or not owns or random.random() < 0.2]
        names = random.sample(arrays, random.randint(3, 5))
        self._types = {name: self._other if random.random() < 0.2 else self._type for name in names}
        self._owns = owns
        self._is_regular = owns and random.random() < 0.6
        self._has_locals = not self._is_regular and random.random() < (0.1 if owns else 0.5)
        self._lines: list[str] = []
        self._loops = 0
        self._stored: set[str] = set()
        self._loaded: list[str] = []
        self._home: list[_Counter] = []

    def _noted(self, kind: str, there: bool = True) -> None:
        if there:
            self._kinds.add(kind)

    def _often(self, chance: float) -> bool:
        return self._random.random() < chance

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

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
        kinds = {self._type.name, self._other.name} & set(_NARROW)
        self._noted("narrow", bool(kinds))
        values = self._values()
        nest = read_source(text, "corner.py")
        workload = LoopWorkload("corner", nest, values)
        return CornerNest(text, workload, frozenset(self._kinds), self._exact)

    def _head(self) -> str:
        main = self._type
        parameters = [
            f"{name}: {type}[{', '.join(_EXTENTS[each] for each in _ARRAYS[name])}]"
            for name, type in self._types.items()
        ]
        parameters += [f"{name}: int32[{_EXTENTS[of]}]" for name, (of, _) in _PLACES.items()]
        parameters += [f"{name}: int32[{_EXTENTS['n']}]" for name in "ol"]
        parameters += [f"r: {main}[4]", f"w: {main}[z]", f"s: {main}", "t: int32"]
        return (
            f"n, m, z = sizes('n', 'm', 'z')\n\n\n@nest\ndef {NAME}(\n    "
            + ",\n    ".join(parameters)
            + ",\n):"
        )

    # Loops

    def _loop(self, scope: _Scope, depth: int, inner: int) -> None:
        self._loops += 1
        self._noted("three loops", len(scope) > 1)
        name = f"k{self._loops}"
        bounds, dimension, least = self._bounds(scope)
        self._add(depth, f"for {name} in range({bounds}):")
        inside = (*scope, _Counter(name, dimension, least))
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
        order = self._random.sample(_dimensions(name), len(_dimensions(name)))
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
            scope, depth = (*scope, _Counter(f"k{self._loops}", dimension, least)), depth + 1
        self._home = [
            next(each for each in scope if each.dimension == dimension)
            for dimension in _dimensions(name)
        ]
        if len(order) > 1 and order[0] == order[1]:
            self._home = list(scope[-2:])
        if self._often(0.2):
            return self._own_sum(name, scope, depth)
        for _ in range(self._random.choice((1, 1, 2, 2, 3))):
            self._statement(scope, depth)

    def _own_sum(self, name: str, scope: _Scope, depth: int) -> None:
        """A sum in an element of the iteration's own."""
        self._noted("inner sum")
        self._loops += 1
        dimension = self._one("n", "m")
        inside = (*scope, _Counter(f"k{self._loops}", dimension))
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

    def _bounds(self, scope: _Scope) -> tuple[str, str, int]:
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

    def _statement(self, scope: _Scope, depth: int) -> None:
        kinds = [self._plain_store] * 4 + [self._in_place, self._twice, self._augmented]
        kinds += [self._elsewhere, self._sum] * (not self._owns)
        if self._has_locals:
            kinds += [self._carried, self._delayed, self._local_sum, self._best]
        if depth < 6:
            kinds += [self._condition] * 2
        self._random.choice(kinds)(scope, depth)

    def _target(self, scope: _Scope) -> tuple[str, str]:
        """An array whose dimensions the loops count through, if there is one, and an element."""
        counted = {each.dimension for each in scope}
        names = [name for name in self._types if set(_dimensions(name)) <= counted]
        if self._owns and (self._is_regular or self._often(0.95)):
            around = sorted(each.dimension for each in scope)
            own = [name for name in self._types if sorted(_dimensions(name)) == around]
            if own:
                name = self._one(*own)
                self._stored.add(name)
                return name, self._own_place(name, scope)
        name = self._one(*(names or self._types))
        self._stored.add(name)
        return name, self._place(name, scope)

    def _own_place(self, name: str, scope: _Scope) -> str:
        """An element that no other iteration has."""
        if self._home and _dimensions(name) == "".join(each.dimension for each in self._home):
            near = [each.name if self._often(0.9) else self._shifted(each) for each in self._home]
            return f"{name}[{', '.join(near)}]"
        unused, indices = list(scope), []
        for dimension in _dimensions(name):
            fitting = [each for each in unused if each.dimension == dimension]
            chosen = fitting[0] if self._often(0.7) else self._random.choice(fitting)
            unused.remove(chosen)
            indices.append(chosen.name if self._often(0.7) else self._of(chosen))
        self._noted("transposed", [scope[0].name] != indices[:1] and len(indices) > 1)
        return f"{name}[{', '.join(indices)}]"

    def _plain_store(self, scope: _Scope, depth: int) -> None:
        self._store(scope, depth, None)

    def _store(self, scope: _Scope, depth: int, value: str | None) -> None:
        """``value``: of the nest's type, by default an expression."""
        name, place = self._target(scope)
        type = self._types[name]
        if value is None:
            value = self._value(type, scope, 2)
        elif type != self._type:
            value = self._value(type, scope, 1)
        self._add(depth, f"{place} = {value}")

    def _in_place(self, scope: _Scope, depth: int) -> None:
        self._noted("in place")
        name, left = self._target(scope)
        type = self._types[name]
        parts = [self._place(name, scope), self._value(type, scope, 1)]
        self._random.shuffle(parts)
        self._add(depth, f"{left} = {self._joined(type, *parts)}")

    def _twice(self, scope: _Scope, depth: int) -> None:
        self._noted("stored twice")
        name, place = self._target(scope)
        self._add(depth, f"{place} = {self._value(self._types[name], scope, 1)}")
        if self._often(0.4):
            self._statement(scope, depth)
        other = place if self._often(0.6) else self._place(name, scope)
        value = self._value(self._types[name], scope, 1)
        self._add(depth, f"{other} {self._one('=', '+=')} {value}")

    def _augmented(self, scope: _Scope, depth: int) -> None:
        self._noted("augmented")
        name, place = self._target(scope)
        value = self._value(self._types[name], scope, 1)
        operator = self._one("+", "+", "-", *["*"] * (not self._exact))
        self._add(depth, f"{place} {operator}= {value}")

    def _sum(self, scope: _Scope, depth: int) -> None:
        """A sum in an element that the innermost loop does not name."""
        self._noted("element of a sum")
        around = scope[:-1]
        fitting = [
            name
            for name in self._types
            if around and {each.dimension for each in around} >= set(_ARRAYS[name])
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

    def _elsewhere(self, scope: _Scope, depth: int) -> None:
        """Places are changed, or copied."""
        rows = [each.name for each in scope if each.dimension == "n"]
        if not rows or self._often(0.6):
            return self._plain_store(scope, depth)
        self._noted("written places")
        row = self._one(*rows)
        self._add(depth, f"y[{row}] = {self._one(f'x[{row}]', f'n - {row}', f'y[y[{row}]]', row)}")

    def _carried(self, scope: _Scope, depth: int) -> None:
        self._noted("carried")
        self._add(depth, f"q = {self._joined(self._type, 'q', self._value(self._type, scope, 1))}")
        if self._often(0.6):
            self._store(scope, depth, "q")

    def _delayed(self, scope: _Scope, depth: int) -> None:
        """What an iteration stores an earlier one has loaded."""
        self._noted("delayed")
        self._store(scope, depth, self._one("q", f"q {self._operator()} s"))
        self._add(depth, f"q = {self._value(self._type, scope, 1)}")

    def _local_sum(self, scope: _Scope, depth: int) -> None:
        self._noted("carried")
        self._add(depth, f"p = p {self._one('+', '+', '-')} {self._value(self._type, scope, 1)}")

    def _best(self, scope: _Scope, depth: int) -> None:
        self._noted("best")
        value = self._value(self._type, scope, 1)
        self._add(depth, f"if {value} {self._one('<', '>', '>=')} q:")
        self._add(depth + 1, f"q = {value}")

    def _condition(self, scope: _Scope, depth: int) -> None:
        self._noted("condition")
        self._noted("nested condition", self._lines[-1].lstrip().startswith("if "))
        self._add(depth, f"if {self._comparison(scope)}:")
        for _ in range(self._random.choice((1, 1, 2))):
            self._statement(scope, depth + 1)
        if self._often(0.35):
            self._noted("else")
            self._add(depth, "else:")
            self._statement(scope, depth + 1)

    def _comparison(self, scope: _Scope) -> str:
        if self._often(0.15):
            self._noted("several conditions")
            left, right = self._compared(scope), self._compared(scope)
            return self._one(f"{left} and {right}", f"{left} or {right}", f"not ({left})")
        return self._compared(scope)

    def _compared(self, scope: _Scope) -> str:
        type = self._random.choice((self._type, self._other))
        kind = self._random.random()
        counter = self._random.choice(scope)
        if kind < 0.12 and not self._is_regular:
            loaded = {"n": f"x[{counter.name}]", "m": f"j[{counter.name}]"}.get(counter.dimension)
            other = self._one("t", "1", loaded or "n")
            return f"{counter.name} {self._one(*_COMPARISONS)} {other}"
        right = self._leaf(type, scope) if kind < 0.5 else self._constant(type)
        return f"{self._leaf(type, scope)} {self._one(*_COMPARISONS)} {right}"

    # Values

    def _zero(self) -> str:
        return "0.0" if self._type == FLOAT32 else f"{self._type}(0)"

    def _operator(self) -> str:
        return self._one("+", "-", *["*"] * (not self._exact))

    def _joined(self, type: ScalarType, left: str, right: str) -> str:
        kind = self._random.random()
        if kind < 0.12:
            self._noted("extremum")
            return f"{self._one('min', 'max')}({left}, {right})"
        return f"{left} {self._operator()} ({right})"

    def _value(self, type: ScalarType, scope: _Scope, depth: int) -> str:
        if depth == 0 or self._often(0.3):
            return self._leaf(type, scope)
        kind = self._random.random()
        if kind < 0.07:
            self._noted("choice")
            chosen, other = self._leaf(type, scope), self._leaf(type, scope)
            return f"({chosen} if {self._compared(scope)} else {other})"
        if kind < 0.13 and (array := self._of_type(self._other, scope)):
            return self._converted(type, self._place(array, scope))
        if kind < 0.2 and (array := self._of_type(type, scope)):
            self._noted("two operands")
            one, other = self._place(array, scope), self._place(array, scope)
            return self._joined(type, one, other)
        left, right = self._value(type, scope, depth - 1), self._value(type, scope, depth - 1)
        return f"({self._joined(type, left, right)})"

    def _converted(self, type: ScalarType, value: str) -> str:
        """Floats only where they are small."""
        self._noted("conversion")
        if self._other == FLOAT32 and type != FLOAT32:
            return f"({type}({value}) if {value} > -0.5 and {value} < 9.5 else {type}(1))"
        return f"{type}({value})"

    def _of_type(self, type: ScalarType, scope: _Scope) -> str:
        names = [name for name, held in self._types.items() if held == type]
        counted = {each.dimension for each in scope}
        fitting = [each for each in names if set(_dimensions(each)) <= counted]
        if self._is_regular and self._home:
            held = "".join(each.dimension for each in self._home)
            names = [each for each in names if held.endswith(_dimensions(each))]
        elif fitting and self._often(0.9):
            names = fitting
        return self._one(*names) if names else ""

    def _element_of(self, scope: _Scope) -> str:
        name = self._of_type(self._type, scope)
        return self._place(name, scope) if name else "s"

    def _leaf(self, type: ScalarType, scope: _Scope) -> str:
        kind = self._random.random()
        if kind < 0.12:
            return self._constant(type)
        if type == self._type and kind < 0.24:
            return self._one("s", *["p", "q"] * self._has_locals)
        if type != FLOAT32 and kind < 0.3 and scope and not self._is_regular:
            return f"{type}({self._one(*(each.name for each in scope))})"
        name = self._of_type(type, scope)
        if not name:
            return self._constant(type)
        self._loaded.append(name)
        return self._place(name, scope)

    def _constant(self, type: ScalarType) -> str:
        is_edge = self._often(0.4)
        if type == FLOAT32:
            if self._exact:
                return self._one("0.0", "1.0", "-1.0", "2.0")
            self._noted("edge constant", is_edge)
            edges = ("-0.0", "1.0e-45", "3.4028235e38", "inf", "-3.4028235e38", "1.1754944e-38")
            edges = tuple(f"float32({each})" for each in (*edges, "0.1"))
            return self._one(*(edges if is_edge else ("0.0", "1.0", "0.5", "-1.5")))
        self._noted("edge constant", is_edge)
        edges = (f"{type.least}", f"{type.most}", f"{type.most - 1}", f"{type.least + 1}")
        number = self._one(*(edges if is_edge else ("0", "1", "2", "3", "7")))
        return f"{type}({number})"

    # Places

    def _place(self, name: str, scope: _Scope) -> str:
        dimensions = _ARRAYS[name]
        home = self._home[-len(dimensions) :]
        chance = 1.0 if self._is_regular else 0.9
        if "".join(each.dimension for each in home) == dimensions and self._often(chance):
            near = [each.name if self._often(0.6) else self._shifted(each) for each in home]
            return f"{name}[{', '.join(near)}]"
        if len(dimensions) == 1:
            return f"{name}[{self._index(dimensions, scope)}]"
        orders = [each.dimension for each in scope]
        is_against = orders[-2:] == [*reversed(dimensions)] and dimensions != "nn"
        if dimensions == "nn":
            rows = [each for each in scope if each.dimension == "n"]
            if len(rows) > 1 and self._often(0.85):
                first, second = rows[-2:]
                if self._often(0.4):
                    is_against, (first, second) = True, (second, first)
                self._noted("transposed", is_against)
                return f"{name}[{self._of(first)}, {self._of(second)}]"
        self._noted("transposed", is_against)
        return f"{name}[{', '.join(self._index(each, scope) for each in dimensions)}]"

    def _index(self, dimension: str, scope: _Scope) -> str:
        rows = [each for each in scope if each.dimension == dimension.replace("2", "n")]
        kind = self._random.random()
        if not rows or kind < 0.04:
            self._noted("constant place")
            return self._one("0", "3", *["t", "n"] * (dimension != "m"))
        counter = rows[-1] if self._often(0.8) else self._random.choice(rows)
        if dimension == "2":
            self._noted("scaled")
            more = self._random.choice((0, 1, 1, 2, 3))
            return self._one(f"2 * {counter.name} + {more}", f"2 * {counter.name}", counter.name)
        if kind < (0.07 if self._owns else 0.15):
            return self._loaded_place(dimension, scope)
        return self._of(counter)

    def _of(self, counter: _Counter) -> str:
        """The counter, shifted, reversed, or as it is."""
        kind, name, end = self._random.random(), counter.name, counter.dimension
        if kind < 0.25:
            return self._shifted(counter)
        if kind < 0.33:
            self._noted("reversed")
            return self._one(f"{end} - 1 - {name}", f"{end} + 3 - {name}")
        return name

    def _shifted(self, counter: _Counter) -> str:
        by = self._random.choice((1, 1, 2, 3, 4, -1, -1, -2, -3))
        by = max(by, -counter.least)
        self._noted("shifted", by != 0)
        return f"{counter.name} {'+' if by > 0 else '-'} {abs(by)}" if by else counter.name

    def _loaded_place(self, dimension: str, scope: _Scope) -> str:
        pairs = [
            (name, each)
            for name, (of, held) in _PLACES.items()
            for each in scope
            if of == each.dimension and held == dimension
        ]
        if not pairs:
            return "1"
        self._noted("loaded")
        name, counter = self._random.choice(pairs)
        place = self._of(counter)
        if counter.dimension == "n" and self._often(0.25):
            self._noted("loaded twice")
            place = f"{self._one('x', 'y')}[{place}]"
        return f"{name}[{place}]"

    # What is in arrays

    def _size(self, name: str) -> int:
        kind = self._one("size 0", "size 1", "odd size", "lanes and one", "lanes and one", "", "")
        kind = kind or "all lanes"
        lanes = self._random.choice(LANES)
        if kind in ("size 0", "size 1"):
            size = int(kind[-1])
        elif kind == "odd size":
            size = self._random.choice((3, 5, 7, 9, 11, 13, 19))
        elif kind == "all lanes":
            size = lanes * self._random.choice((1, 2))
        else:
            size = lanes * self._random.choice((1, 1, 2)) + self._random.choice((-1, 1))
        self._noted(kind)
        return min(size, 33)

    def _values(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(self._random.getrandbits(32))
        sizes = {"n": self._size("n"), "m": self._size("m")}
        n, m = sizes["n"], sizes["m"]
        lengths = {"n": n + PADDING, "m": m + PADDING, "2": 2 * n + 2 * PADDING}
        shapes = {name: [lengths[each] for each in _ARRAYS[name]] for name in self._types}
        values = {name: self._data(rng, type, shapes[name]) for name, type in self._types.items()}
        for name, (of, held) in _PLACES.items():
            values[name] = self._places(rng, lengths[of], lengths[held])
        values["o"] = np.sort(rng.integers(0, n + 1, n + PADDING)).astype(np.int32)
        values["l"] = rng.integers(0, min(n, 5) + 1, n + PADDING).astype(np.int32)
        if self._often(0.4):
            self._noted("empty rows")
            values["o"] = (values["o"] // 3 * 3).astype(np.int32)
            values["l"] *= rng.random(n + PADDING) < 0.3
        z = self._random.choice((0, 0, 1, 3))
        self._noted("unused array", not any("w[" in line for line in self._lines))
        values |= {"r": self._data(rng, self._type, [4]), "w": self._data(rng, self._type, [z])}
        values["s"] = self._data(rng, self._type, [])
        values["t"] = np.array(rng.integers(0, n + 1), np.int32)
        return values

    def _data(self, rng: np.random.Generator, type: ScalarType, shape: list[int]) -> np.ndarray:
        kind = self._one("small", "small", "zeros", "edges", "edges")
        if kind == "zeros":
            return np.zeros(shape, type.dtype)
        if type == FLOAT32:
            if self._exact:
                return rng.integers(-2, 3, shape).astype(np.float32)
            found = rng.standard_normal(shape).astype(np.float32)
            edges = SPECIAL
            self._noted("special floats", kind == "edges")
        else:
            found = rng.integers(max(type.least, -3), 8, shape).astype(type.dtype)
            edges = np.array([type.least, type.least + 1, 0, type.most - 1, type.most], type.dtype)
            self._noted("edges", kind == "edges")
        chance = self._random.choice((0.1, 0.5)) if kind == "edges" else 0.0
        return np.asarray(np.where(rng.random(shape) < chance, rng.choice(edges, shape), found))

    def _places(self, rng: np.random.Generator, count: int, most: int) -> np.ndarray:
        kind = self._one("", "", "same places", "last place", "permutation", "repeats")
        if kind == "same places":
            found = np.full(count, rng.integers(most))
        elif kind == "last place":
            found = np.full(count, most - 1)
        elif kind == "permutation":
            found = rng.permutation(max(count, most))[:count] % most
        elif kind == "repeats":
            found = rng.integers(0, min(most, 3), count)
        else:
            found = rng.integers(0, most, count)
        self._noted(kind, kind in KINDS)
        return found.astype(np.int32)
