"""Statements of random nests, as text, see ``RandomText``."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.nests.random_texts.arrays import ALL_TYPES, LONGEST, PLACES, Declared, declare
from tests.support.nests.random_texts.expressions import Counter, Expressions, Scope

NAME = "random_text"

_LOCALS: dict[str, ScalarType] = {
    **{"f0": FLOAT32, "f1": FLOAT32, "f2": FLOAT32, "p0": INT32, "p1": INT32, "b0": BOOL},
    **{"w0": BY_NAME["int16"], "w1": BY_NAME["uint8"]},
}
_NARROW = ("w0", "w1")
_MOST_STATEMENTS = 14
_MOST_DEPTH = 6


class RandomText:
    """``text`` is a nest's source, of what ``random`` draws; ``arrays`` are those of data in it.

    exact
        floats are whole numbers, sums of which have no rounding as long as they are small.
    all_types
        arrays are of all types, and there is integer division; else as the TMU takes them.
    plain
        loops right inside of one another, whose iterations mostly write elements of their own.
    """

    def __init__(
        self,
        random: Random,
        *,
        exact: bool = False,
        all_types: bool = False,
        plain: bool = False,
    ) -> None:
        self._random = random
        self._exact = exact
        self._plain = plain
        self.arrays = declare(random, ALL_TYPES if all_types else ("float32", "int32"))
        self._written = random.sample(self.arrays, random.randint(1, min(3, len(self.arrays))))
        self._locals = [name for name in _LOCALS if all_types or name not in _NARROW]
        self._make = Expressions(
            random, self.arrays, exact=exact, divides=all_types, narrow=all_types
        )
        self._one, self._often = self._make.one, self._make.often
        self._loops = 0
        self._statements = 0
        self._lines: list[str] = []
        self._body()
        self.text = "\n".join([*self._head(), *self._lines]) + "\n"

    def nest(self) -> Nest:
        return read_source(self.text, "random.py")

    def _head(self) -> list[str]:
        parameters = [each.text for each in (*self.arrays, *PLACES)]
        parameters += ["reals: float32[8]", "wholes: int32[8]", "s: float32", "t: int32"]
        signature = f"def {NAME}({', '.join(parameters)}):"
        return ["n, m = sizes('n', 'm')", "", "", "@nest", signature]

    def _add(self, depth: int, *lines: str) -> None:
        self._lines += ["    " * depth + line for line in lines]

    def _body(self) -> None:
        scope = Scope()
        for name in self._locals:
            if self._often(0.2 if self._plain else 0.7):
                self._begin(name, scope)
        if self._often(0.15):
            self._add(1, "for k0 in range(n):", "    q[k0 + 1] = min(q[k0] + max(l[k0], 0), m)")
        for _ in range(self._random.choice((1, 1, 2))):
            self._loop(scope, 1, self._random.choice((1, 2, 2, 3)))
        for at, (name, type) in enumerate(scope.locals.items()):
            value = f"(1 if {name} else 0)" if type == BOOL else name
            self._add(1, f"{'reals' if type == FLOAT32 else 'wholes'}[{at}] = {value}")

    def _begin(self, name: str, scope: Scope) -> None:
        """A local has a first value, mostly one that all units know; or a second one."""
        type = _LOCALS[name]
        simple = {FLOAT32: ("s", "1.0"), INT32: ("t", "0", "n"), BOOL: ("t > 1", "s < 0.0")}
        if type not in simple or self._often(0.1):
            return self._assign(name, scope, 1)
        for _ in range(self._random.choice((1, 2, 2))):
            self._add(1, f"{name} = {self._literal(type, self._one(*simple[type]))}")
        scope.locals[name] = type

    def _literal(self, type: ScalarType, text: str) -> str:
        return f"{type}({text})" if text[0].isdigit() else text

    # Loops

    def _loop(self, scope: Scope, depth: int, inner: int) -> None:
        if not self._plain and self._often(0.07):
            return self._merge(scope, depth, inner)
        self._loops += 1
        name = f"k{self._loops}"
        bounds, extent, least = self._bounds(scope)
        self._add(depth, f"for {name} in range({bounds}):")
        self._inside(scope.with_counters(Counter(name, extent, least)), depth + 1, inner)

    def _bounds(self, scope: Scope) -> tuple[str, str, int]:
        """Text, which dimension is counted through, and from where."""
        random = self._random
        extent = self._one("n", "n", "m", "m", "8", "2n", "nm")
        last = self._spelt(LONGEST[extent])
        rows = [each.name for each in scope.counters if each.extent == "n"]
        same = [each for each in scope.counters if each.extent == extent]
        kind = random.random()
        if kind < 0.12 and rows:
            row, array = self._one(*rows), self._one("o", "q")
            return f"{array}[{row}], {array}[{row} + 1]", "n" if array == "o" else "m", 0
        if kind < 0.16 and rows:
            return self._spelt(f"l[{self._one(*rows)}]"), "n", 0
        if kind < 0.3 and same:
            around = random.choice(same)
            first = f"{around.name}{self._one('', ' + 1')}"
            if self._often(0.5):
                step = self._one("", "", ", 2")
                return f"{first}, {last}{step}", extent, around.least
            banded = f"{around.name}, min({around.name} + 3, {last})"
            return self._one(first, f"{last} - {around.name}", banded), extent, 0
        if kind < 0.4:
            number = self._make.value(INT32, scope, 1)
            lower = self._one("", "0, ", "1, ")
            return f"{lower}min(max({number}, 0), {last})", extent, int(lower[:1] or 0)
        if kind < 0.47:
            empty = self._one("0", "1", "1, 2", "3, 1", "2, 0, 2")
            return (empty, "8", 0) if extent == "8" else ("0", extent, 0)
        if kind < 0.55:
            return f"{self._one('0', '1', '2')}, {last}, {self._one('2', '3', '5')}", extent, 0
        if kind < 0.65:
            least = random.randint(1, 3)
            return f"{least}, {last}", extent, least
        if kind < 0.68:
            return f"{last} - 1", extent, 0
        if kind < 0.72 and extent in "nm":
            return "t", extent, 0
        return last, extent, 0

    def _spelt(self, number: str) -> str:
        """The same number, computed."""
        if not self._often(0.15):
            return number
        others = ("{} << 0", "0 + {}", "1 * {}", "({} << 1) - {}", "{} - (1 << 0) + 1")
        return f"({self._one(*others).replace('{}', number)})"

    def _merge(self, scope: Scope, depth: int, inner: int) -> None:
        """Coordinates are data; positions may be those behind a fiber's end."""
        self._loops += 1
        at = self._loops
        coordinate, one, two = f"k{at}", f"x{at}", f"y{at}"
        rows = [each.name for each in scope.counters if each.extent == "n"]
        left = "r1[0:n]"
        if rows and self._often(0.6):
            row = self._one(*rows)
            left = f"r1[o[{row}]:o[{row} + 1]]"
        kind = self._one("intersect", "union")
        flags = f", (u{at}, v{at})" if kind == "union" else ""
        call = f"{kind}({left}, {self._one('r2[0:m]', 'r2[1:m]')})"
        self._add(depth, f"for {coordinate}, ({one}, {two}){flags} in {call}:")
        inside = scope.with_counters()
        inside.locals[coordinate] = INT32
        if kind == "intersect":
            inside = inside.with_counters(Counter(one, "n"), Counter(two, "m"))
            return self._inside(inside, depth + 1, inner)
        inside.locals.update({one: INT32, two: INT32, f"u{at}": BOOL, f"v{at}": BOOL})
        for name, extent, has in ((one, "n", f"u{at}"), (two, "m", f"v{at}")):
            if self._often(0.6):
                self._add(depth + 1, f"if {has}:")
                self._inside(inside.with_counters(Counter(name, extent)), depth + 2, 1)
        self._inside(inside, depth + 1, inner)

    def _inside(self, scope: Scope, depth: int, inner: int) -> None:
        """A body: statements, or loops between statements."""
        if inner <= 1:
            for _ in range(self._random.choice((1, 1, 2, 3))):
                self._statement(scope, depth)
            return
        is_sum = not self._plain and self._often(0.25)
        if is_sum:
            self._assign(self._one("f0", "f1", "p0"), scope, depth)
        elif self._often(0.3):
            self._statement(scope, depth)
        self._loop(scope, depth, inner - 1)
        if not self._plain and self._often(0.2):
            self._loop(scope, depth, 1)
        if is_sum or self._often(0.3):
            self._statement(scope, depth)

    # Statements

    def _statement(self, scope: Scope, depth: int) -> None:
        self._statements += 1
        kinds: list[Callable[[Scope, int], None]] = [self._store] * 3 + [self._augmented] * 2
        if not self._plain:
            kinds += [self._keep, self._keep, self._through, self._local, self._local, self._local]
            kinds += [self._best, self._compact, self._place_store, self._swap]
        if depth < _MOST_DEPTH and self._statements < _MOST_STATEMENTS:
            kinds += [self._choice] * (1 if self._plain else 3)
        self._random.choice(kinds)(scope, depth)

    def _target(self) -> Declared:
        return self._random.choice(self._written)

    def _where(self, array: Declared, scope: Scope) -> str:
        is_near = self._often(0.95 if self._plain else 0.65)
        return (self._make.near if is_near else self._make.element)(array, scope)

    def _store(self, scope: Scope, depth: int) -> None:
        array = self._target()
        self._add(depth, f"{self._where(array, scope)} = {self._make.value(array.type, scope, 3)}")

    def _augmented(self, scope: Scope, depth: int) -> None:
        array = self._target()
        value = self._make.value(array.type, scope)
        if array.type == FLOAT32:
            operators = ["+", "+", "-", *(["*", "/"] if not self._exact else [])]
        else:
            operators = ["+", "+", "-", "*", "<<", ">>"]
            operators += ["//", "%"] if self._make.divides else []
        operator = self._one(*operators)
        if operator in ("<<", ">>"):
            value = str(self._random.randrange(array.type.bits))
        elif operator in ("//", "%"):
            value = self._one("2", "3", f"max({value}, 1)")
        self._add(depth, f"{self._where(array, scope)} {operator}= {value}")

    def _keep(self, scope: Scope, depth: int) -> None:
        """A local has an element from before it is written."""
        array = self._target()
        fitting = [each for each in self._written if each.type == array.type]
        other = self._random.choice(fitting)
        name = self._kept(array.type)
        if name is None:
            return self._store(scope, depth)
        here = self._where(array, scope)
        self._add(depth, f"{name} = {here}")
        scope.locals[name] = array.type
        if self._often(0.7):
            here = self._where(array, scope)
        self._add(depth, f"{here} {self._one('=', '+=')} {self._make.value(array.type, scope)}")
        self._add(depth, f"{self._where(other, scope)} {self._one('=', '+=')} {name}")

    def _kept(self, type: ScalarType) -> str | None:
        names = [name for name in self._locals if _LOCALS[name] == type]
        return self._one(*names) if names else None

    def _swap(self, scope: Scope, depth: int) -> None:
        """Two elements of one array are exchanged, if they are in a certain order."""
        array = self._target()
        name = self._kept(array.type)
        if name is None:
            return self._store(scope, depth)
        one, other = self._where(array, scope), self._where(array, scope)
        if self._often(0.5):
            self._add(depth, f"if {one} > {other}:")
            depth, scope = depth + 1, scope.with_counters()
        scope.locals[name] = array.type
        self._add(depth, f"{name} = {one}", f"{one} = {other}", f"{other} = {name}")

    def _through(self, scope: Scope, depth: int) -> None:
        """One array has what another one, of whatever type, has had."""
        one, other = self._target(), self._random.choice(self.arrays)
        value = self._where(other, scope)
        if not one.type.holds(other.type):
            if other.type == FLOAT32 or (one.type == FLOAT32 and self._exact):
                return self._store(scope, depth)
            value = f"{one.type}({value})"
        self._add(depth, f"{self._where(one, scope)} {self._one('=', '+=')} {value}")
        self._store(scope, depth)

    def _local(self, scope: Scope, depth: int) -> None:
        self._assign(self._one(*self._locals), scope, depth)

    def _assign(self, name: str, scope: Scope, depth: int) -> None:
        type = _LOCALS[name]
        value = self._make.typed(type, scope)
        if name in scope.locals and type != BOOL and self._often(0.4):
            operator = self._one("+", "-") if type == FLOAT32 else self._one("+", "-", "*")
            self._add(depth, f"{name} = {self._cast(type, f'{name} {operator} {value}')}")
        else:
            self._add(depth, f"{name} = {value}")
        scope.locals[name] = type

    def _cast(self, type: ScalarType, value: str) -> str:
        return value if type in (FLOAT32, INT32) else f"{type}({value})"

    def _best(self, scope: Scope, depth: int) -> None:
        """The least or largest value so far, and where it was."""
        if "f0" not in scope.locals or "p0" not in scope.locals:
            return self._local(scope, depth)
        value = self._make.value(FLOAT32, scope, 1)
        self._add(depth, f"if {value} {self._one('<', '>', '<=', '!=')} f0:")
        where = self._one("p0 + 1", *(each.name for each in scope.counters))
        self._add(depth + 1, f"f0 = {value}", f"p0 = {where}")

    def _compact(self, scope: Scope, depth: int) -> None:
        """What a condition holds for goes into the next place."""
        if "p1" not in scope.locals:
            return self._local(scope, depth)
        array = self._target()
        dimensions = ", ".join(
            f"min(max(p1, 0), {LONGEST[each]} + 3)" if at == 0 else self._make.index(each, scope)
            for at, each in enumerate(array.dimensions)
        )
        self._add(depth, f"if {self._make.condition(scope)}:")
        value = self._make.value(array.type, scope, 1)
        self._add(depth + 1, f"{array.name}[{dimensions}] = {value}", "p1 = p1 + 1")

    def _place_store(self, scope: Scope, depth: int) -> None:
        """What indices and bounds are loaded from changes."""
        name, dimension = self._one("i n", "h n", "j m", "l n").split()
        where = self._make.index(dimension, scope)
        value = self._make.index(dimension, scope)
        if name == "l":
            value = f"min(max({self._make.value(INT32, scope, 1)}, 0), min(n, 3))"
        self._add(depth, f"{name}[{where}] = {value}")

    def _choice(self, scope: Scope, depth: int) -> None:
        counters = [each for each in scope.counters if each.least == 0]
        if counters and self._often(0.2):
            counter = self._random.choice(counters)
            self._add(depth, f"if {counter.name} > 0:")
            inside = scope.with_counters(Counter(counter.name, counter.extent, 1))
            return self._branch(inside, depth + 1)
        self._add(depth, f"if {self._make.condition(scope)}:")
        self._branch(scope, depth + 1)
        if self._often(0.4):
            self._add(depth, "else:")
            self._branch(scope, depth + 1)

    def _branch(self, scope: Scope, depth: int) -> None:
        inside = scope.with_counters()
        for _ in range(self._random.choice((1, 1, 2))):
            self._statement(inside, depth)
        if depth < _MOST_DEPTH and not self._plain and self._often(0.08):
            self._loop(inside, depth, 1)
