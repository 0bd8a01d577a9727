"""What statements of random nests with corners read, and where."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, FLOAT32, ScalarType
from tests.support.nests.corner_values import ARRAYS, PLACES

NARROW = ("int8", "uint8", "int16", "uint16", "uint32")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def dimensions_of(name: str) -> str:
    """Those of loops, of which an array's indices are made."""
    return ARRAYS[name].replace("2", "n")


@dataclass(frozen=True)
class Counter:
    name: str
    dimension: str
    least: int = 0


Scope = tuple[Counter, ...]


class CornerOperands:
    """Draws what statements read: elements, constants, conditions, and the places of elements.

    ``scope``: the counters of the loops around a statement.
    """

    def __init__(self, random: Random, *, narrow: bool, owns: bool) -> None:
        self._random = random
        self._kinds: set[str] = set()
        self._exact = random.random() < 0.3
        types = ["float32"] * 4 + ["int32"] * 2 + [random.choice(NARROW)] * 4 * narrow
        self._type = BY_NAME[random.choice(types)]
        self._other = BY_NAME[random.choice(types)]
        arrays = [name for name in ARRAYS if name != "g" or not owns or random.random() < 0.2]
        names = random.sample(arrays, random.randint(3, 5))
        self._types = {name: self._other if random.random() < 0.2 else self._type for name in names}
        self._owns = owns
        self._is_regular = owns and random.random() < 0.6
        self._has_locals = not self._is_regular and random.random() < (0.1 if owns else 0.5)
        self._loaded: list[str] = []
        self._home: list[Counter] = []

    def _noted(self, kind: str, there: bool = True) -> None:
        if there:
            self._kinds.add(kind)

    def _often(self, chance: float) -> bool:
        return self._random.random() < chance

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _comparison(self, scope: Scope) -> str:
        if self._often(0.15):
            self._noted("several conditions")
            left, right = self._compared(scope), self._compared(scope)
            return self._one(f"{left} and {right}", f"{left} or {right}", f"not ({left})")
        return self._compared(scope)

    def _compared(self, scope: Scope) -> str:
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

    def _value(self, type: ScalarType, scope: Scope, depth: int) -> str:
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

    def _of_type(self, type: ScalarType, scope: Scope) -> str:
        names = [name for name, held in self._types.items() if held == type]
        counted = {each.dimension for each in scope}
        fitting = [each for each in names if set(dimensions_of(each)) <= counted]
        if self._is_regular and self._home:
            held = "".join(each.dimension for each in self._home)
            names = [each for each in names if held.endswith(dimensions_of(each))]
        elif fitting and self._often(0.9):
            names = fitting
        return self._one(*names) if names else ""

    def _element_of(self, scope: Scope) -> str:
        name = self._of_type(self._type, scope)
        return self._place(name, scope) if name else "s"

    def _leaf(self, type: ScalarType, scope: Scope) -> str:
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

    def _place(self, name: str, scope: Scope) -> str:
        dimensions = ARRAYS[name]
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

    def _index(self, dimension: str, scope: Scope) -> str:
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

    def _of(self, counter: Counter) -> str:
        """The counter, shifted, reversed, or as it is."""
        kind, name, end = self._random.random(), counter.name, counter.dimension
        if kind < 0.25:
            return self._shifted(counter)
        if kind < 0.33:
            self._noted("reversed")
            return self._one(f"{end} - 1 - {name}", f"{end} + 3 - {name}")
        return name

    def _shifted(self, counter: Counter) -> str:
        by = self._random.choice((1, 1, 2, 3, 4, -1, -1, -2, -3))
        by = max(by, -counter.least)
        self._noted("shifted", by != 0)
        return f"{counter.name} {'+' if by > 0 else '-'} {abs(by)}" if by else counter.name

    def _loaded_place(self, dimension: str, scope: Scope) -> str:
        pairs = [
            (name, each)
            for name, (of, held) in PLACES.items()
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
