"""Random nests whose iterations depend on each other, as text, and values for them.

They read what they have written: at shifted, reversed, constant, loaded, scaled and transposed
indices, in other arrays, in locals, in iterations before of any loop, as indices and as loops'
bounds. All accesses are inside of arrays, and no bounds decrease.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_HEAD = """\
n, m = sizes('n', 'm')


@nest
def dependent_nest(
    a: float32[n + 4], b: float32[n + 4], c: float32[n + 4, m + 4], d: float32[m + 4, n + 4],
    e: float32[2 * n + 4], g: float32[n + 4, n + 4], x: float32[n + 4], y: float32[n + 4, m + 4],
    z: float32[m + 4], i: int32[n + 4], j: int32[m + 4], h: int32[n + 4], w: int32[n + 4],
    l: int32[n + 4], o: int32[n + 4], q: int32[n + 4], s: float32, t: int32,
):
    u = s
    v = 0.5
    k0 = t
"""

PADDING = 4
"""Elements of each dimension behind those that loops count through."""

_WRITTEN = {"a": "n", "b": "n", "c": "nm", "d": "mn", "e": "2", "g": "nn"}
"""Arrays of floats and their dimensions; ``2``: 2 n."""

_READ = {"x": "n", "y": "nm", "z": "m"}
_INDICES = {"n": "ih", "m": "j"}
"""Arrays of places in a dimension."""


@dataclass(frozen=True)
class _Counter:
    """A loop's variable, from ``least`` to below the size ``extent``."""

    name: str
    extent: str
    least: int


class RandomDependentNest:
    """``nest()`` gives one, of which ``text`` is the source.

    exact
        whether sums and products are of small whole numbers, which have no rounding.
    owns
        whether most iterations write elements of their own, as all do that stream engines run.
    """

    def __init__(self, random: Random, *, exact: bool = False, owns: bool = False) -> None:
        self._random = random
        self._exact = exact
        self._owns = owns
        self._written = random.sample(list(_WRITTEN), random.randint(1, 3))
        self._is_plain = random.random() < 0.6
        self._loops = 0
        self._has_offsets = False
        self._lines: list[str] = []

    def nest(self) -> Nest:
        for _ in range(self._random.choice((1, 1, 1, 2))):
            if self._random.random() < 0.25:
                self._offsets()
            self._loop((), 1, self._random.choice((1, 2, 2, 3)))
        used = {name for line in self._lines for name in ("u", "v", "k0") if f"{name} = " in line}
        results = (("u", "a"), ("v", "b"), ("k0", "w"))
        self._lines += [f"    {array}[1] += {name}" for name, array in results if name in used]
        return read_source(self.text, "random.py")

    @property
    def text(self) -> str:
        return _HEAD + "\n".join(self._lines) + "\n"

    def _add(self, depth: int, *lines: str) -> None:
        self._lines += ["    " * depth + line for line in lines]

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _offsets(self) -> None:
        """Lengths become offsets; or these are copied."""
        self._loops += 1
        name = f"k{self._loops}"
        value = self._one(f"q[{name}] + l[{name}]", f"o[{name} + 1]")
        self._add(1, f"for {name} in range(n):", f"    q[{name} + 1] = {value}")
        self._has_offsets = True

    def _loop(self, scope: tuple[_Counter, ...], depth: int, inner: int) -> None:
        random = self._random
        self._loops += 1
        name, extent, least = f"k{self._loops}", random.choice("nnm"), 0
        same = [each for each in scope if each.extent == extent]
        rows = [each.name for each in scope if each.extent == "n"]
        kind = random.random()
        if kind < 0.15 and same:
            around = random.choice(same)
            is_behind = random.random() < 0.5
            least = around.least if is_behind else 0
            bounds = f"{around.name}, {extent}" if is_behind else around.name
        elif kind < 0.35 and rows:
            row, extent = random.choice(rows), "n"
            offsets = "oq" if self._has_offsets else "o"
            array = random.choice(offsets)
            bounds = self._one(f"{array}[{row}], {array}[{row} + 1]", f"l[{row}]")
        elif kind < 0.45:
            bounds, extent = "t", random.choice("nm")
        elif kind < 0.55:
            least = random.randint(1, 2)
            bounds = f"{least}, {extent}"
        elif kind < 0.6:
            bounds = f"{random.choice(('t', '0', '1'))}, {extent}, 2"
        else:
            bounds = extent
        self._add(depth, f"for {name} in range({bounds}):")
        scope = (*scope, _Counter(name, extent, least))
        self._body(scope, depth + 1, inner)

    def _body(self, scope: tuple[_Counter, ...], depth: int, inner: int) -> None:
        random = self._random
        if inner <= 1:
            for _ in range(random.choice((1, 1, 1, 2))):
                self._statement(scope, depth)
            return
        if random.random() < 0.3:
            self._statement(scope, depth)
        self._loop(scope, depth, inner - 1)
        if random.random() < 0.15:
            self._loop(scope, depth, 1)
        if random.random() < 0.3:
            self._statement(scope, depth)

    def _statement(self, scope: tuple[_Counter, ...], depth: int) -> None:
        if self._owns and self._random.random() < 0.9:
            return self._own(scope, depth)
        kinds: list[Callable[[tuple[_Counter, ...], int], None]] = [self._store] * 6
        kinds += [self._carried, self._through, self._local, self._number]
        if depth < 5:
            kinds += [self._choice]
        self._random.choice(kinds)(scope, depth)

    def _store(self, scope: tuple[_Counter, ...], depth: int) -> None:
        array = self._one(*self._written)
        place = (self._near if self._is_plain else self._place)(array, scope)
        operator = self._one("=", "=", "+=", "-=", *(["*="] if not self._exact else []))
        self._add(depth, f"{place} {operator} {self._value(scope)}")

    def _own(self, scope: tuple[_Counter, ...], depth: int) -> None:
        extents = "".join(each.extent for each in scope)
        fitting = {"n": "ab", "nm": "cd", "mn": "cd", "nn": "g"}.get(extents, "".join(_WRITTEN))
        operator = self._one("=", "=", "+=")
        place, value = self._near(self._one(*fitting), scope), self._value(scope)
        if self._random.random() < 0.2:
            self._add(depth, f"if {self._condition(scope)}:")
            depth += 1
        self._add(depth, f"{place} {operator} {value}")

    def _carried(self, scope: tuple[_Counter, ...], depth: int) -> None:
        """From an iteration before to this one, or to one behind it, of any loop; or of two."""
        array = self._one(*self._written)
        more = [self._near(array, scope) for _ in range(self._random.randint(1, 2))]
        value = " + ".join([*more, self._read(scope)])
        self._add(depth, f"{self._near(array, scope)} = {value}")

    def _through(self, scope: tuple[_Counter, ...], depth: int) -> None:
        """Two arrays, each of which has what the other one has had."""
        one, other = self._random.sample(("a", "b", "e"), 2)
        there, here = self._near(one, scope), self._near(other, scope)
        self._add(depth, f"{there} = {here} + {self._read(scope)}")
        there, here = self._near(one, scope), self._near(other, scope)
        self._add(depth, f"{here} {self._one('=', '+=')} {there}")

    def _local(self, scope: tuple[_Counter, ...], depth: int) -> None:
        value = self._value(scope)
        before = self._one("u + ", "v + ", "", *(["u * 0.5 - "] if not self._exact else []))
        if self._random.random() < 0.25:
            self._add(depth, f"{self._near('a', scope)} = u", "u = v", f"v = {value}")
        else:
            self._add(depth, f"{self._one('u', 'v')} = {before}{value}")
        if self._random.random() < 0.5:
            place = self._place(self._one(*self._written), scope)
            self._add(depth, f"{place} {self._one('=', '+=')} {self._one('u', 'v', 'u + v')}")

    def _number(self, scope: tuple[_Counter, ...], depth: int) -> None:
        """Integers: counts, and places, which stay inside of arrays."""
        index = self._index("n", scope)
        where = self._index("n", scope)
        array = self._one("w", "w", "h")
        if array == "h":
            value = self._one(f"i[{index}]", f"h[{index}]", "1", "t")
            self._add(depth, f"h[{where}] = {value}")
        elif self._random.random() < 0.5:
            operator = self._one("=", "+=")
            self._add(depth, f"w[{where}] {operator} {self._one('w', 'l')}[{index}] + 1")
        else:
            self._add(depth, f"k0 = {self._one('k0 + ', '')}w[{index}]", f"w[{where}] -= k0")

    def _choice(self, scope: tuple[_Counter, ...], depth: int) -> None:
        self._add(depth, f"if {self._condition(scope)}:")
        self._statement(scope, depth + 1)
        if self._random.random() < 0.3:
            self._add(depth, "else:")
            self._statement(scope, depth + 1)

    def _condition(self, scope: tuple[_Counter, ...]) -> str:
        operator = self._one("<", "<=", ">", ">=", "==", "!=")
        if self._random.random() < 0.4:
            name = self._random.choice(scope).name
            other = self._one("0", "1", "t", "n - 2", f"w[{self._index('n', scope)}]")
            return f"{name} {operator} {other}"
        return f"{self._read(scope)} {operator} {self._element(scope)}"

    def _value(self, scope: tuple[_Counter, ...], depth: int = 2) -> str:
        kind = self._random.random()
        if depth == 0 or kind < 0.15:
            return self._one(*(self._read(scope), self._element(scope)) * 3, "u", "s", "1.0")
        if kind < 0.25:
            twice = self._element(scope)
            return f"({twice} {self._one('+', '-') if self._exact else '*'} {twice})"
        left, right = (self._value(scope, depth - 1) for _ in range(2))
        if kind < 0.3:
            return f"({left} if {self._condition(scope)} else {right})"
        if kind < 0.4:
            return f"{self._one('min', 'max')}({left}, {right})"
        if kind < 0.45:
            return self._one(f"abs({left})", f"-({left})")
        if kind < 0.55 and not self._exact:
            return f"({left} * {right})"
        return f"({left} {self._one('+', '+', '-')} {right})"

    def _read(self, scope: tuple[_Counter, ...]) -> str:
        """A read of an array that is not written, where the innermost loop counts through
        neighbours."""
        if not self._is_plain or self._random.random() < 0.1:
            return self._place(self._one(*_READ), scope)
        counter = scope[-1]
        if counter.extent == "n":
            return f"x[{counter.name}]"
        rows = [each.name for each in scope if each.extent == "n"]
        return f"y[{rows[-1]}, {counter.name}]" if rows else f"z[{counter.name}]"

    def _element(self, scope: tuple[_Counter, ...]) -> str:
        array = self._one(*self._written)
        if self._is_plain and self._random.random() < 0.8:
            return self._near(array, scope)
        return self._place(array, scope)

    def _place(self, array: str, scope: tuple[_Counter, ...]) -> str:
        extents = (_WRITTEN | _READ)[array]
        return f"{array}[{', '.join(self._index(each, scope) for each in extents)}]"

    def _near(self, array: str, scope: tuple[_Counter, ...]) -> str:
        """At a place that the innermost loops count, and shift."""
        found = []
        used: list[_Counter] = []
        for extent in _WRITTEN[array]:
            wanted = "n" if extent == "2" else extent
            fitting = [each for each in scope if each.extent == wanted]
            fresh = [each for each in fitting if each not in used] or fitting
            if not fresh:
                found.append(str(self._random.randint(0, 1)))
                continue
            counter = fresh[-1]
            used.append(counter)
            found.append(self._shifted(counter, self._random.randint(-counter.least, 2)))
        if array == "g" and self._random.random() < 0.3:
            found.reverse()
        return f"{array}[{', '.join(found)}]"

    def _index(self, extent: str, scope: tuple[_Counter, ...], depth: int = 0) -> str:
        random = self._random
        if extent == "2":
            return self._scaled(scope)
        fitting = [each for each in scope if each.extent == extent]
        kind = random.random()
        if not fitting or kind < 0.08:
            gone = [f"{each.name} - {each.name} + 1" for each in fitting]
            return self._one("0", "1", str(PADDING - 1), "t", *gone)
        counter = random.choice(fitting)
        if kind < 0.6:
            by = random.randint(-counter.least, PADDING)
            return self._shifted(counter, random.choice((0, 0, by)))
        if kind < 0.72:
            return f"{extent} {random.choice(('- 1', f'+ {PADDING - 1}'))} - {counter.name}"
        if kind < 0.8:
            return f"{counter.name} + {self._one('t', f'{counter.name} - {counter.name}')}"
        if depth < 2:
            return f"{random.choice(_INDICES[extent])}[{self._index(extent, scope, depth + 1)}]"
        return counter.name

    def _scaled(self, scope: tuple[_Counter, ...]) -> str:
        rows = [each.name for each in scope if each.extent == "n"]
        more = self._random.randint(0, 3)
        if not rows:
            return str(more)
        one, other = (self._random.choice(rows) for _ in range(2))
        return f"{self._one(f'2 * {one}', one, f'{one} + {other}')} + {more}"

    def _shifted(self, counter: _Counter, by: int) -> str:
        if by == 0:
            return counter.name
        return f"{counter.name} {'+' if by > 0 else '-'} {abs(by)}"


def random_values(random: Random, *, exact: bool = False) -> dict[str, np.ndarray]:
    """Values of all parameters; for what the nest writes, zeros half of the time."""
    rng = np.random.default_rng(random.getrandbits(32))
    n, m = random.choice((0, 1, 2, 3, 5, 7, 9, 11)), random.choice((0, 1, 3, 4, 7, 8, 11))
    extents = {"n": n + PADDING, "m": m + PADDING, "2": 2 * n + PADDING}

    def floats(*shape: int) -> np.ndarray:
        found = rng.integers(-2, 3, shape) if exact else rng.standard_normal(shape)
        return found.astype(np.float32)

    lengths = rng.multinomial(rng.integers(n + 1), np.full(n, 1 / n)) if n else np.zeros(0)
    values = {name: floats(*map(extents.get, dims)) for name, dims in (_WRITTEN | _READ).items()}  # type: ignore[arg-type]
    values |= {
        "i": rng.integers(0, n + PADDING, n + PADDING),
        "j": rng.integers(0, m + PADDING, m + PADDING),
        "h": rng.integers(0, n + PADDING, n + PADDING),
        "w": rng.integers(-4, 5, n + PADDING),
        "l": np.concatenate([lengths, np.zeros(PADDING)]),
        "o": np.sort(rng.integers(0, n + 1, n + PADDING)),
        "q": np.zeros(n + PADDING),
        "t": np.array(min(n, m, random.choice((0, 1, 2, 2, 2)))),
        "s": floats(),
    }
    for name in "ijhwloqt":
        values[name] = values[name].astype(np.int32)
    if random.random() < 0.5:
        values |= {name: 0 * values[name] for name in (*_WRITTEN, "h", "w")}
    return values
