"""Nests that use elements as they were before a statement stored them: corners by name, and random.

Locals, conditions and sums keep what they were computed from; all in int32 or another type of
integers, in which sums are the same in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_PARAMETERS = (
    "a: T[n], b: T[n], c: T[n], d: T[n, m], e: T[n, m], r: T[n, 1], g: T[n, 1], q: T[1, m], "
)
_PARAMETERS += "x: T[n], y: T[n, m], p: T[n], s: T"
_HEAD = "n, m = sizes('n', 'm')\n\n\n@nest\ndef f(" + _PARAMETERS + "):\n"

_WRITTEN = {"a": "n", "b": "n", "c": "n", "d": "nm", "e": "nm", "r": "n1", "g": "n1", "q": "1m"}
_READ = {"x": "n", "y": "nm"}


def _rows(*body: str, bounds: str = "1, n - 1") -> str:
    return "\n    ".join((f"for i in range({bounds}):", *body))


def _table(*body: str, before: Sequence[str] = (), behind: Sequence[str] = ()) -> str:
    inner = "\n        ".join(("for j in range(1, m - 1):", *body))
    return _rows(*before, inner, *behind)


BODIES: dict[str, str] = {
    # Locals.
    "swapped": _rows("t = a[i]", "a[i] = b[i]", "b[i] = t"),
    "kept": _rows("t = a[i]", "a[i] = x[i]", "b[i] = t"),
    "kept of ahead": _rows("t = a[i + 1]", "a[i] = x[i]", "b[i] = t"),
    "kept of ahead, which is stored": _rows("t = a[i + 1]", "a[i + 1] = x[i]", "b[i] = t"),
    "kept of behind": _rows("t = a[i - 1]", "a[i] = x[i]", "b[i] = t"),
    "kept, stored ahead": _rows("t = a[i]", "a[i + 1] = x[i]", "b[i] = t"),
    "kept, stored behind": _rows("t = a[i]", "a[i - 1] = x[i]", "b[i] = t"),
    "kept, and added to": _rows("t = a[i]", "a[i] += x[i]", "b[i] = t"),
    "kept, added to by what was kept": _rows("t = a[i]", "a[i] += t", "b[i] = t"),
    "kept, and restored": _rows("t = a[i]", "a[i] = x[i]", "b[i] = a[i]", "a[i] = t"),
    "kept through two": _rows("t = a[i]", "u = t + x[i]", "a[i] = x[i]", "b[i] = u"),
    "used before": _rows("t = a[i]", "b[i] = t", "a[i] = x[i]"),
    "used at once": _rows("t = a[i]", "a[i] = t + x[i]"),
    "of another array": _rows("t = c[i]", "a[i] = x[i]", "b[i] = t"),
    "of another row": _rows("t = a[0]", "a[i] = x[i]", "b[i] = t"),
    "stored, used behind": _rows("a[i] = x[i]", "b[i] = a[i - 1]"),
    "stored, used ahead": _rows("a[i - 1] = x[i]", "b[i] = a[i]"),
    "both old and new": _rows("t = a[i]", "a[i] = x[i]", "b[i] = t - a[i]"),
    # Conditions and choices.
    "a condition of what is stored": _rows("if a[i] > x[i]:", "    a[i] = x[i]", "    b[i] = x[i]"),
    "a condition of what is stored, else": _rows(
        "if a[i] > x[i]:", "    a[i] = x[i]", "else:", "    b[i] = x[i]"
    ),
    "a condition kept": _rows("t = a[i]", "a[i] = x[i]", "if t > b[i]:", "    b[i] = x[i]"),
    "old values of conditional stores": _rows(
        "t = a[i]", "if x[i] > b[i]:", "    a[i] = x[i]", "b[i] = t"
    ),
    "a choice kept": _rows("t = a[i] if a[i] > x[i] else b[i]", "a[i] = x[i]", "b[i] = t"),
    "chosen by what is stored": _rows(
        "t = x[i]", "if a[i] > x[i]:", "    t = b[i]", "a[i] = x[i]", "c[i] = t"
    ),
    "a condition around two": _rows(
        "if a[i] > b[i]:", "    b[i] = a[i]", "    a[i] = x[i]", "c[i] = b[i]"
    ),
    # Sums.
    "a sum of what is stored": _rows(
        "t = y[i, 0]",
        "for j in range(m):",
        "    t += d[i, j]",
        "    d[i, j] = y[i, j]",
        "r[i, 0] = t",
    ),
    "a sum, then stored": _rows(
        "t = y[i, 0]",
        "for j in range(m):",
        "    t += d[i, j]",
        "for j in range(m):",
        "    d[i, j] = y[i, j]",
        "r[i, 0] = t",
    ),
    "a sum, used, then stored": _rows(
        "t = y[i, 0]",
        "for j in range(m):",
        "    t += d[i, j]",
        "r[i, 0] = t",
        "for j in range(m):",
        "    d[i, j] = y[i, j]",
    ),
    "a sum from what is stored": _rows(
        "t = r[i, 0]",
        "for j in range(m):",
        "    t += y[i, j]",
        "    d[i, j] = r[i, 0]",
        "r[i, 0] = t",
    ),
    "part of a sum used": _table("r[i, 0] += y[i, j]", "d[i, j] = r[i, 0]"),
    "part of a sum used before": _table("d[i, j] = r[i, 0]", "r[i, 0] += y[i, j]"),
    "part of a sum summed up": _table("r[i, 0] += y[i, j]", "g[i, 0] += r[i, 0]"),
    "part of a sum summed up before": _table("g[i, 0] += r[i, 0]", "r[i, 0] += y[i, j]"),
    "part of a sum kept": _table("t = r[i, 0]", "r[i, 0] += y[i, j]", "d[i, j] = t"),
    "part of a sum chooses": _table(
        "r[i, 0] += y[i, j]", "d[i, j] = y[i, 0] if r[i, 0] > y[i, 0] else s"
    ),
    "a sum of all used by each": _rows("r[0, 0] += y[i, 0]", "g[i, 0] = r[0, 0]"),
    "a sum of all used before by each": _rows("g[i, 0] = r[0, 0]", "r[0, 0] += y[i, 0]"),
    "two sums of one": _table("r[i, 0] += y[i, j]", "r[i, 0] += d[i, j]"),
    "a sum and a maximum of one": _table("r[i, 0] += y[i, j]", "r[i, 0] = max(r[i, 0], d[i, j])"),
    "two sums of neighbours": _table("r[i, 0] += y[i, j]", "r[i + 1, 0] += d[i, j]"),
    "a sum used behind": _table("r[i, 0] += y[i, j]", behind=["g[i, 0] = r[i, 0]"]),
    "a sum kept before": _table("d[i, j] = t", "r[i, 0] += y[i, j]", before=["t = r[i, 0]"]),
    "a sum kept before, used behind": _table(
        "r[i, 0] += y[i, j]", "d[i, j] = t", before=["t = r[i, 0]"]
    ),
    "no sum, but the last one": _table("r[i, 0] = t + y[i, j]", before=["t = r[i, 0]"]),
    "no sum, since it begins again": _table(
        "t = r[i, 0]", "r[i, 0] = r[i, 0] + y[i, j]", "r[i, 0] = t + d[i, j]"
    ),
    "no maximum, but the last one": _table("r[i, 0] = max(t, y[i, j])", before=["t = r[i, 0]"]),
    "columns summed up, used": "\n".join(
        (
            "for j in range(1, m - 1):",
            "    for i in range(1, n - 1):",
            "        r[i, 0] += y[i, j]",
            "        g[i, 0] += r[i, 0]",
        )
    ),
    # Two loops.
    "kept around a loop": _table("d[i, j] = t", before=["t = r[i, 0]", "r[i, 0] = y[i, 0]"]),
    "kept around a loop that stores": _table(
        "d[i, j] = t", "e[i, j] = d[i, j]", before=["t = d[i, 1]"]
    ),
    "kept before a loop that stores, used behind": _table(
        "d[i, j] = y[i, j]", before=["t = d[i, 1]"], behind=["g[i, 0] = t"]
    ),
    "kept in an inner loop": _table("t = d[i, j]", "d[i, j] = y[i, j]", "e[i, j] = t"),
    "kept of a row ahead": _table("t = d[i + 1, j]", "d[i, j] = y[i, j]", "e[i, j] = t"),
    "kept of a row behind": _table("t = d[i - 1, j]", "d[i, j] = y[i, j]", "e[i, j] = t"),
    "kept of a column ahead": _table("t = d[i, j + 1]", "d[i, j + 1] = y[i, j]", "e[i, j] = t"),
    "kept, in loops one after the other": "t = a[1]\n"
    + _rows("a[i] = x[i]")
    + "\n"
    + _rows("b[i] = t"),
    "kept, used, in loops one after the other": "t = a[1]\n"
    + _rows("b[i] = t")
    + "\n"
    + _rows("a[i] = x[i]"),
    # Places.
    "a place kept": _rows("v = p[i]", "p[i] = 1", "b[i] = a[v]"),
    "a place kept, of a store": _rows("v = p[i]", "p[i] = 1", "b[v] = x[i]"),
    "of a place kept": _rows("t = a[p[i]]", "a[i] = x[i]", "b[i] = t"),
    "a place of the same array, around a loop": _table(
        "d[t, j] = p[i]", before=["d[i, 1] = 1", "t = d[i, 1]"]
    ),
    # Written out.
    "written out": _rows(
        "for k in range(2):", "    t = a[i + k]", "    a[i + k] = x[i]", "    b[i] = t"
    ),
    "written out, kept": _rows(
        "t = a[i]", "for k in range(2):", "    a[i + k] = x[i]", "    b[i] += t"
    ),
    "written out, kept of the one before": _rows(
        "t = a[i]", "for k in range(2):", "    b[i] = t", "    t = a[i + k]", "    a[i] = x[i + k]"
    ),
}


def nest_of(body: str, type: str = "int32") -> Nest:
    head = _HEAD.replace(": T", f": {type}")
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return read_source(f"{head}{lines}\n", "kept.py")


def values(random: Random, type: str = "int32", least: int = 3) -> dict[str, np.ndarray]:
    """Small values of all parameters; ``p`` has places in all dimensions."""
    rng = np.random.default_rng(random.getrandbits(32))
    shape = {"n": random.randint(least, 9), "m": random.randint(least, 9), "1": 1}
    found = {
        name: rng.integers(-3, 4, [shape[each] for each in dims]).astype(type)
        for name, dims in (_WRITTEN | _READ).items()
    }
    places = rng.integers(0, least, shape["n"]).astype(type)
    return found | {"p": places, "s": np.array(rng.integers(-3, 4)).astype(type)}


class RandomKept:
    """``body()`` gives one: loops of stores, conditions and sums with locals that are read behind
    stores, at shifted and fixed indices."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._lines: list[str] = []
        # Few arrays, so that they meet; and most of one rank, or memory takes none of it.
        family = random.choice(("abc", "deder", "dedeq", "derg", "abcdergq"))
        self._written = random.sample(family, random.choice((1, 2, 2, 3)))
        self._given = "x" if family == "abc" else random.choice(("y", "y", "xy"))
        self._is_flat = family == "abc"
        self._is_perfect = random.random() < 0.5
        self._is_shifted = random.random() < 0.5
        self._has_place = False
        self._stores = 0

    def body(self) -> str:
        random = self._random
        locals: list[str] = []
        if self._is_perfect:
            return self._perfect()
        if random.random() < 0.06:
            self._add(0, f"t = {self._element((), 'xy' if random.random() < 0.3 else '')}")
            locals = ["t"]
        for _ in range(random.choice((1, 1, 1, 2))):
            self._loop(0, (), locals, random.choice((1, 1, 2) if self._is_flat else (1, 2, 2, 2)))
        return "\n".join(self._lines)

    def _perfect(self) -> str:
        """Statements in the innermost loop, without sums in locals."""
        scope = ("i",) if self._is_flat else ("i", "j")
        for depth, counter in enumerate(scope):
            self._add(depth, f"for {counter} in range(1, {'nm'[depth]} - 1):")
        locals: list[str] = []
        depth = len(scope)
        self._local(depth, scope, locals)
        if self._is_flat and self._random.random() < 0.2:
            self._add(depth, f"v = p[{self._index('n', scope)}]")
            self._has_place = True
            if self._random.random() < 0.5:
                self._add(depth, f"p[{self._index('n', scope)}] = {self._random.choice('01')}")
        for _ in range(self._random.randint(1, 4)):
            kind = self._random.random()
            if kind < 0.2:
                self._local(depth, scope, locals)
            elif kind < 0.35:
                self._add(depth, f"if {self._condition(scope, locals)}:")
                for _ in range(self._random.randint(1, 2)):
                    self._store(depth + 1, scope, locals)
            elif kind < 0.45 and not self._is_flat:
                self._add_up(depth, scope, locals)
            else:
                self._store(depth, scope, locals)
        self._store(depth, scope, locals)
        return "\n".join(self._lines)

    def _add(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _loop(self, depth: int, scope: tuple[str, ...], locals: list[str], inner: int) -> None:
        random = self._random
        free = [each for each in "ij" if each not in scope]
        counter = "i" if not scope and random.random() < 0.8 else random.choice(free)
        size = {"i": "n", "j": "m"}[counter]
        first = random.choice(("0", "1")) if not self._is_shifted else "1"
        last = f"{size} - 1" if self._is_shifted or random.random() < 0.3 else size
        if scope and random.random() < 0.15:
            # Of so few iterations that they are written out, where they share an index.
            counter, first, last = "k", "0", str(random.randint(1, 2))
        self._add(depth, f"for {counter} in range({first}, {last}):")
        self._block(depth + 1, (*scope, counter), [*locals], inner)

    def _block(self, depth: int, scope: tuple[str, ...], locals: list[str], inner: int) -> None:
        random = self._random
        stores = self._stores
        for _ in range(random.randint(1, 3)):
            self._statement(depth, scope, locals, inner)
        if inner > 1 and random.random() < 0.8:
            self._loop(depth, scope, locals, inner - 1)
            for _ in range(random.choice((0, 1, 1))):
                self._statement(depth, scope, locals, inner)
        if self._stores == stores:
            self._store(depth, scope, locals)

    def _statement(self, depth: int, scope: tuple[str, ...], locals: list[str], inner: int) -> None:
        kind = self._random.random()
        if kind < 0.35:
            self._local(depth, scope, locals)
        elif kind < 0.75:
            self._store(depth, scope, locals)
        elif kind < 0.85:
            self._if(depth, scope, locals, inner)
        elif kind < 0.95 and len({*scope} & {*"ij"}) < 2:
            self._sum(depth, scope, locals)
        else:
            self._add_up(depth, scope, locals)

    def _local(self, depth: int, scope: tuple[str, ...], locals: list[str]) -> None:
        name = self._random.choice("tu")
        value = self._element(scope) if self._random.random() < 0.7 else self._value(scope, locals)
        self._add(depth, f"{name} = {value}")
        if name not in locals:
            locals.append(name)

    def _store(self, depth: int, scope: tuple[str, ...], locals: list[str]) -> None:
        place = self._place(self._own(scope), scope)
        operator = self._random.choice(("=", "=", "=", "+=", "-="))
        self._stores += 1
        self._add(depth, f"{place} {operator} {self._value(scope, locals)}")

    def _own(self, scope: tuple[str, ...]) -> str:
        """An array of which each iteration has an element of its own, mostly."""
        fitting = "abc" if self._is_flat else {("i",): "rgd", ("j",): "q"}.get(scope, "de")
        written = [each for each in self._written if each in fitting]
        return self._random.choice(written or fitting)

    def _add_up(self, depth: int, scope: tuple[str, ...], locals: list[str]) -> None:
        """An element that fewer loops count, as a sum or as a least or largest one; or only the
        like of it, with a local."""
        random = self._random
        array = random.choice(self._written)
        if len(scope) > 1 and not self._is_flat and random.random() < 0.6:
            array = random.choice("rrgq")
        place = self._place(array, scope[:-1] if random.random() < 0.8 else scope)
        value = self._value(scope, locals)
        old = random.choice((place, place, *locals))
        self._stores += 1
        kind = random.choice(("sum", "sum", "min", "max"))
        stored = f"{old} + {value}" if kind == "sum" else f"{kind}({old}, {value})"
        self._add(depth, f"{place} = {stored}")

    def _if(self, depth: int, scope: tuple[str, ...], locals: list[str], inner: int) -> None:
        random = self._random
        self._add(depth, f"if {self._condition(scope, locals)}:")
        self._branch(depth + 1, scope, locals, inner)
        if random.random() < 0.4:
            self._add(depth, "else:")
            self._branch(depth + 1, scope, locals, inner)

    def _branch(self, depth: int, scope: tuple[str, ...], locals: list[str], inner: int) -> None:
        # Locals that a branch assigns first are none behind it.
        inside = [*locals]
        for _ in range(self._random.choice((1, 1, 2))):
            self._statement(depth, scope, inside, 0)

    def _condition(self, scope: tuple[str, ...], locals: list[str]) -> str:
        operator = self._random.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"{self._value(scope, locals, 1)} {operator} {self._value(scope, locals, 0)}"

    def _sum(self, depth: int, scope: tuple[str, ...], locals: list[str]) -> None:
        """In a local; stores between, perhaps."""
        random = self._random
        name = random.choice("tu")
        self._add(depth, f"{name} = {self._value(scope, locals, 0)}")
        counter = "j" if "j" not in scope else "i"
        size = {"i": "n", "j": "m"}[counter]
        bounds = f"1, {size} - 1" if self._is_shifted else size
        self._add(depth, f"for {counter} in range({bounds}):")
        inside = (*scope, counter)
        before = [each for each in locals if each != name]
        if random.random() < 0.2:
            self._store(depth + 1, inside, before)
        term = self._value(inside, before, 1)
        kind = random.choice(("sum", "sum", "min", "max"))
        self._add(
            depth + 1,
            f"{name} += {term}" if kind == "sum" else f"{name} = {kind}({name}, {term})",
        )
        if random.random() < 0.3:
            self._store(depth + 1, inside, before)
        if name not in locals:
            locals.append(name)

    def _value(self, scope: tuple[str, ...], locals: list[str], depth: int = 1) -> str:
        random = self._random
        kind = random.random()
        if depth == 0 or kind < 0.4:
            if locals and random.random() < 0.5:
                return random.choice(locals)
            return self._element(scope, "" if random.random() < 0.6 else self._given)
        left, right = self._value(scope, locals, 0), self._value(scope, locals, depth - 1)
        if kind < 0.8:
            return f"({left} {random.choice('+-')} {right})"
        if kind < 0.9:
            return f"{random.choice(('min', 'max'))}({left}, {right})"
        return f"({left} if {self._condition(scope, locals)} else {right})"

    def _element(self, scope: tuple[str, ...], arrays: str = "") -> str:
        return self._place(self._random.choice(arrays or self._written), scope)

    def _place(self, array: str, scope: tuple[str, ...]) -> str:
        dims = (_WRITTEN | _READ)[array]
        return f"{array}[{', '.join(self._index(each, scope) for each in dims)}]"

    def _index(self, extent: str, scope: tuple[str, ...]) -> str:
        random = self._random
        if extent == "1":
            return "0"
        if self._has_place and random.random() < 0.2:
            return "v"
        counter = {"n": "i", "m": "j"}[extent]
        if counter not in scope or (random.random() < 0.03 and not self._is_perfect):
            if "k" in scope and random.random() < 0.5:
                return "k"
            return random.choice("012")
        if "k" in scope and self._is_shifted and random.random() < 0.3:
            return f"{counter} - k"
        if self._is_shifted and random.random() < 0.4:
            return f"{counter} {random.choice('+-')} 1"
        return counter
