"""Expressions of random nests, as text. All indices are inside of arrays; no count of a shift, no
divisor and no conversion is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32, ScalarType
from tests.support.nests.random_texts.arrays import PADDING, PLACES, Declared, shape

_FLOATS = ("0.0", "1.0", "-1.5", "0.1", "2.0", "-0.0", "3.0e38", "1.0e-45", "inf")
_WHOLE = ("0.0", "1.0", "-1.0", "2.0")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Counter:
    """A name of whole numbers from ``least`` to below what loops count to in ``extent``."""

    name: str
    extent: str
    least: int = 0


@dataclass(frozen=True)
class Scope:
    """``locals``: names that have a value, with their types."""

    counters: tuple[Counter, ...] = ()
    locals: dict[str, ScalarType] = field(default_factory=dict)

    def with_counters(self, *counters: Counter) -> Scope:
        return Scope((*self.counters, *counters), dict(self.locals))


class Expressions:
    """Draws expressions of a nest with these arrays.

    exact
        whether floats stay whole numbers that have no rounding.
    divides
        whether ``//`` and ``%`` may be drawn.
    narrow
        whether there are types but float32 and int32.
    """

    def __init__(
        self,
        random: Random,
        arrays: list[Declared],
        *,
        exact: bool,
        divides: bool,
        narrow: bool,
    ) -> None:
        self._random = random
        self._arrays = arrays
        self._exact = exact
        self.divides = divides
        self._narrow = narrow

    def one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def often(self, chance: float) -> bool:
        return self._random.random() < chance

    # Values

    def value(self, type: ScalarType, scope: Scope, depth: int = 2) -> str:
        """A value of ``type``, or of one whose values it holds; never a number alone."""
        if depth == 0 or self.often(0.2):
            return self._leaf(type, scope)
        if self.often(0.05) and (guarded := self._guarded(type, scope)):
            return guarded
        if self.often(0.1):
            condition = self.condition(scope, depth - 1)
            chosen, other = (self.typed(type, scope, depth - 1) for _ in range(2))
            return f"({chosen} if {condition} else {other})"
        if type == BOOL:
            return self.condition(scope, depth - 1)
        if type == FLOAT32:
            return self._real(scope, depth - 1)
        return self._whole(type, scope, depth - 1)

    def typed(self, type: ScalarType, scope: Scope, depth: int = 2) -> str:
        """A value of just this type in Python, too."""
        if self.often(0.1):
            number = self._literal(type)
            return number if type == BOOL else f"{type}({number})"
        value = self.value(type, scope, depth)
        return value if type in (FLOAT32, BOOL) or not self._narrow else f"{type}({value})"

    def _real(self, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.value(FLOAT32, scope, depth)

        kind = self._random.random()
        if kind < 0.15:
            return f"{self.one('min', 'max')}({part()}, {part()})"
        if kind < 0.25:
            return self.one(f"abs({part()})", f"(-{part()})")
        if kind < 0.32:
            return f"float32({self._small(scope)})"
        operators = ["+", "+", "-"]
        if not self._exact:
            operators += ["*", "*", "/"]
            if kind < 0.37:
                return f"sqrt({part()})"
        right = self._literal(FLOAT32) if self.often(0.15) else part()
        pair = [part(), right]
        self._random.shuffle(pair)
        return f"({pair[0]} {self.one(*operators)} {pair[1]})"

    def _small(self, scope: Scope) -> str:
        """A whole number that float32 has, where that matters."""
        if self._exact:
            return self.one("n", "t", *(each.name for each in scope.counters))
        return self.value(INT32, scope, 1)

    def _whole(self, type: ScalarType, scope: Scope, depth: int) -> str:
        def part() -> str:
            return self.value(type, scope, depth)

        kind = self._random.random()
        if kind < 0.15:
            return f"{self.one('min', 'max')}({part()}, {part()})"
        if kind < 0.2:
            return f"(-{part()})"
        if kind < 0.3:
            shifted, by = self.typed(type, scope, depth), self._random.randrange(type.bits)
            return f"({shifted} {self.one('<<', '>>')} {by})"
        if kind < 0.45 and self.divides:
            divisor = self.one("2", "3", "7", f"max({part()}, 1)")
            return f"({part()} {self.one('//', '%')} {divisor})"
        if kind < 0.55 and self._narrow:
            wide = self.value(INT32, scope, depth)
            return self.one(f"{type}({wide})", f"abs({part()})")
        if kind < 0.6 and self._narrow:
            real = self.value(FLOAT32, scope, 0)
            return f"({type}({real}) if {real} > -1.0 and {real} < 100.0 else {type}(1))"
        right = self._literal(type) if self.often(0.25) else part()
        return f"({part()} {self.one('+', '-', '*')} {right})"

    def _literal(self, type: ScalarType) -> str:
        if type == BOOL:
            return self.one("True", "False")
        if type == FLOAT32:
            return self.one(*(_WHOLE if self._exact else _FLOATS))
        return self.one("0", "1", "3", "100")

    def _leaf(self, type: ScalarType, scope: Scope) -> str:
        names = [name for name, held in scope.locals.items() if type.holds(held)]
        if type == FLOAT32:
            names.append("s")
        if type == INT32:
            names += [each.name for each in scope.counters] * 2 + ["t", "n", "m"]
        arrays = [each for each in self._arrays if type.holds(each.type)]
        if type == INT32:
            arrays += self._random.sample(PLACES, 1)
        if type == BOOL:
            return self.condition(scope, 0)
        if arrays and (not names or self.often(0.65)):
            return self.element(self._random.choice(arrays), scope)
        return self.one(*names) if names else f"{type}({self._literal(type)})"

    def condition(self, scope: Scope, depth: int = 1) -> str:
        """A condition of any kind; without brackets where it is a comparison."""
        if depth and self.often(0.25):
            left, right = (self.condition(scope, depth - 1) for _ in range(2))
            return self.one(f"({left} and {right})", f"({left} or {right})", f"(not ({left}))")
        truths = [name for name, held in scope.locals.items() if held == BOOL]
        if truths and self.often(0.3):
            return self.one(*truths)
        types = [FLOAT32, INT32, *(each.type for each in self._arrays)]
        type = self._random.choice(types)
        left = self.value(type, scope, min(depth, 1))
        right = self._literal(type) if self.often(0.3) else self.value(type, scope, 0)
        return f"{left} {self.one(*COMPARISONS)} {right}"

    def _guarded(self, type: ScalarType, scope: Scope) -> str | None:
        """An element that the condition alone keeps inside of its array."""
        counters = [each for each in scope.counters if each.least == 0]
        arrays = [
            (array, counter)
            for array in self._arrays
            for counter in counters
            if array.type == type and array.dimensions == (counter.extent,)
        ]
        if not arrays:
            return None
        array, counter = self._random.choice(arrays)
        name, longest = counter.name, shape(counter.extent)
        where, condition = self._random.choice(
            ((f"{name} - 2", f"{name} > 1"), (f"{name} + 5", f"{name} < {longest} - 5"))
        )
        element = f"{array.name}[{where}]"
        places = [each for each in PLACES if each.dimensions == (each.holds,) == (counter.extent,)]
        if places and self.often(0.3):
            element = f"{array.name}[{self._random.choice(places).name}[{where}]]"
        other = self.typed(type, scope, 0)
        if self.often(0.3):
            return f"({other} if not ({condition}) else {element})"
        if self.often(0.3):
            condition = f"{condition} and {element} > {self._literal(type)}"
        return f"({element} if {condition} else {other})"

    # Places

    def element(self, array: Declared, scope: Scope) -> str:
        return f"{array.name}[{', '.join(self.index(each, scope) for each in array.dimensions)}]"

    def near(self, array: Declared, scope: Scope) -> str:
        """At what the innermost loops count, and shift."""
        found, unused = [], list(scope.counters)
        for dimension in array.dimensions:
            fitting = [each for each in unused if each.extent == dimension]
            if not fitting or self.often(0.05):
                found.append(self.index(dimension, scope))
                continue
            unused.remove(fitting[-1])
            found.append(self._shifted(fitting[-1]))
        return f"{array.name}[{', '.join(found)}]"

    def index(self, dimension: str, scope: Scope, depth: int = 2) -> str:
        """A place of a dimension, of any kind."""
        fitting = [each for each in scope.counters if each.extent == dimension]
        kind = self._random.random()
        if fitting and kind < 0.55:
            counter = self._random.choice(fitting)
            if kind < 0.08:
                return f"{shape(dimension)} - 1 - {counter.name}"
            return self._shifted(counter)
        if dimension == "2n" and kind < 0.7:
            rows = [each.name for each in scope.counters if each.extent == "n"]
            if rows:
                one, other = (self.one(*rows) for _ in range(2))
                return f"{self.one(f'2 * {one}', f'{one} + {other}', f'n + {one}')} + 1"
        if dimension == "nm" and kind < 0.8:
            rows, columns = (
                [each.name for each in scope.counters if each.extent == of] for of in "nm"
            )
            if rows and columns:
                row, column = self.one(*rows), self.one(*columns)
                return self.one(f"{row} * m + {column}", f"{column} * n + {row}")
        if depth == 0 or kind < 0.65:
            gone = [f"{each.name} - {each.name} + 1" for each in scope.counters]
            return self.one("0", "1", str(PADDING - 1), "t" if dimension in "nm" else "2", *gone)
        holding = [each for each in PLACES if each.holds == dimension]
        if holding and kind < 0.85:
            array = self._random.choice(holding)
            return f"{array.name}[{self.index(array.dimensions[0], scope, depth - 1)}]"
        number = self.value(INT32, scope, depth - 1)
        if self.divides and self.often(0.5):
            return f"{number} % ({shape(dimension)})"
        if fitting and self.often(0.3):
            counter = self.one(*(each.name for each in fitting))
            return self.one(f"({counter} >> 1)", f"({counter} if {number} > 2 else 0)")
        return f"min(max({number}, 0), {shape(dimension)} - 1)"

    def _shifted(self, counter: Counter) -> str:
        by = self._random.choice((0, 0, 0, self._random.randint(-counter.least, PADDING)))
        return f"{counter.name} {'+' if by > 0 else '-'} {abs(by)}" if by else counter.name
