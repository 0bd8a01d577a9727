"""Random nests of dense loops, whose accesses depend on each other in many ways, as text."""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_HEAD = """\
n, m, p = sizes('n', 'm', 'p')


@nest
def dense_nest(
    a: float32[n, m], b: float32[m, p], c: float32[n, p], d: float32[n + m], e: float32[p],
    g: float32[n, m, p], q: int32[p],
):
    s = 0.5
"""

_DIMENSIONS = {"a": "nm", "b": "mp", "c": "np", "d": "+", "e": "p", "g": "nmp"}
"""Extents of arrays of floats; ``+``: n + m."""


def random_values(random: Random) -> dict[str, np.ndarray]:
    """Values of all arrays. Sums of the numbers differ by their order."""
    rng = np.random.default_rng(random.randrange(1 << 30))
    extents = {name: random.choice((1, 2, 3, 5, 8, 9)) for name in "nmp"}
    extents["+"] = extents["n"] + extents["m"]
    values = {
        name: rng.standard_normal([extents[each] for each in dims]) * 10.0 ** rng.integers(-2, 3)
        for name, dims in _DIMENSIONS.items()
    }
    found = {name: value.astype(np.float32) for name, value in values.items()}
    return found | {"q": rng.integers(-9, 9, extents["p"]).astype(np.int32)}


class RandomDenseNest:
    """``nest()`` gives one with loops in loops, between statements or right inside of one another,
    in any order; sums, products and copies in place, of elements and variables, of which some
    iterations have their own."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._loops = 0
        self._has_total = False
        self._lines: list[str] = []

    def nest(self) -> Nest:
        for _ in range(self._random.randint(1, 2)):
            self._loop([], 1, self._random.randint(1, 4))
        self._lines += ["    for r in range(p):", "        e[r] += s"]
        return read_source(_HEAD + "\n".join(self._lines) + "\n", "random.py")

    def _add(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _loop(self, scope: list[tuple[str, str, int]], depth: int, inner: int) -> None:
        """``scope``: variables, the extents that they are below, and their least values."""
        random = self._random
        self._loops += 1
        name, extent = f"k{self._loops}", random.choice("nmp")
        begin = random.choice((0, 0, 0, 1))
        step = ", 2" if random.random() < 0.1 else ""
        bounds = f"{begin}, {extent}{step}" if begin or step else extent
        self._add(depth, f"for {name} in range({bounds}):")
        scope = [*scope, (name, extent, begin)]
        before = self._has_total
        if inner == 2 and random.random() < 0.4:
            self._add(depth + 1, "t = 0.0")
            self._has_total = True
        if inner <= 1 or random.random() < 0.1:
            self._statement(scope, depth + 1)
        if inner > 1:
            self._loop(scope, depth + 1, inner - 1)
            if random.random() < 0.1:
                self._loop(scope, depth + 1, 1)
            if random.random() < 0.15:
                self._statement(scope, depth + 1)
        self._has_total = before

    def _statement(self, scope: list[tuple[str, str, int]], depth: int) -> None:
        random = self._random
        kind = random.random()
        if self._has_total and kind < 0.5:
            self._add(depth, f"t {random.choice(('+=', '+=', '='))} {self._value(scope)}")
            if random.random() < 0.5:
                self._add(depth, f"{self._element(scope)} {random.choice(('=', '+='))} t")
        elif kind < 0.15:
            self._add(depth, f"s = {self._term(scope)} + {random.choice(('s * 0.5', '0.25'))}")
        elif kind < 0.25:
            self._add(depth, f"q[{self._index('p', scope)}] += 3")
        else:
            operator = random.choice(("+=", "+=", "+=", "+=", "=", "-=", "*="))
            self._add(depth, f"{self._element(scope)} {operator} {self._value(scope)}")

    def _value(self, scope: list[tuple[str, str, int]]) -> str:
        form = self._random.choice(("{} * {}", "{} * {}", "{}", "{} + {} * {}", "max({}, {})"))
        return form.format(*(self._term(scope) for _ in range(form.count("{"))))

    def _term(self, scope: list[tuple[str, str, int]]) -> str:
        return "s" if self._random.random() < 0.1 else self._element(scope)

    def _element(self, scope: list[tuple[str, str, int]]) -> str:
        """Rather one that has the loops around it in its place than one that has not."""
        extents = {extent for _, extent, _ in scope}
        names = self._random.choices(list(_DIMENSIONS), k=2)
        name = max(names, key=lambda each: len(extents & set(_DIMENSIONS[each].replace("+", "nm"))))
        indices = [self._index(extent, scope) for extent in _DIMENSIONS[name]]
        return f"{name}[{', '.join(indices)}]"

    def _index(self, extent: str, scope: list[tuple[str, str, int]]) -> str:
        random = self._random
        if extent == "+":
            one, other = self._index("n", scope), self._index("m", scope)
            return random.choice((f"{one} + {other}", f"{one} + {other}", one))
        fitting = [each for each in scope if each[1] == extent]
        if not fitting or random.random() < 0.05:
            return "0"
        name, _, least = random.choice(fitting)
        return f"{name} - 1" if least and random.random() < 0.5 else name
