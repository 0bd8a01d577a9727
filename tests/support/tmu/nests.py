"""Random loop nests of float32 and int32, as text, whose indices are right; and values for them."""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_HEAD = """\
n, m = sizes('n', 'm')


@nest
def random_nest(
    x: float32[n, m], y: float32[m], i: int32[n], j: int32[m], o: int32[n + 1],
    u: float32[n, m], v: float32[m], w: float32[n], c: int32[n],
):
    s = 0.0
    t = 0
"""


class RandomTmuNest:
    """``nest()`` gives one with loops in loops, bounds from arrays, indices from arrays, choices,
    and variables that iterations leave to others."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._loops = 0
        self._lines: list[str] = []

    def nest(self) -> Nest:
        for _ in range(self._random.randint(1, 3)):
            self._loop([], [], 1)
        # So that all results are.
        self._lines += ["    for r in range(n):", "        c[r] += t", "        w[r] += s"]
        return read_source(_HEAD + "\n".join(self._lines) + "\n", "random.py")

    def _add(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _loop(self, rows: list[str], columns: list[str], depth: int) -> None:
        """``rows``, ``columns``: variables below n and m."""
        self._loops += 1
        name = f"k{self._loops}"
        kind = self._random.choice(["rows", "columns", "columns", "fiber", "fiber", "part"])
        if kind == "fiber" and not rows:
            kind = "rows"
        if kind == "rows":
            self._add(depth, f"for {name} in range(n):")
            rows = [*rows, name]
        else:
            row = self._row(rows) if rows else ""
            bounds = {"columns": "m", "fiber": f"o[{row}], o[{row} + 1]", "part": "1, m"}[kind]
            step = ", 2" if kind == "part" and self._random.random() < 0.5 else ""
            self._add(depth, f"for {name} in range({bounds}{step}):")
            columns = [*columns, name]
        self._body(rows, columns, depth + 1)

    def _body(self, rows: list[str], columns: list[str], depth: int) -> None:
        for _ in range(self._random.randint(1, 3)):
            kinds = [self._store, self._store, self._sum, self._count]
            if depth < 4:
                kinds += [self._loop, self._loop]
            if depth < 5:
                kinds += [self._if]
            self._random.choice(kinds)(rows, columns, depth)

    def _row(self, rows: list[str]) -> str:
        found = self._random.choice(rows) if rows else "0"
        return f"i[{found}]" if self._random.random() < 0.3 else found

    def _column(self, columns: list[str]) -> str:
        found = self._random.choice(columns) if columns else "0"
        return f"j[{found}]" if self._random.random() < 0.2 else found

    def _place(self, rows: list[str], columns: list[str]) -> str:
        row, column = self._row(rows), self._column(columns)
        return self._random.choice([f"u[{row}, {column}]", f"v[{column}]", f"w[{row}]"])

    def _store(self, rows: list[str], columns: list[str], depth: int) -> None:
        operator = self._random.choice(["=", "+=", "+=", "*="])
        place = self._place(rows, columns)
        self._add(depth, f"{place} {operator} {self._value(rows, columns)}")

    def _sum(self, rows: list[str], columns: list[str], depth: int) -> None:
        self._add(depth, f"s = {self._random.choice(['s + ', ''])}{self._value(rows, columns)}")

    def _count(self, rows: list[str], columns: list[str], depth: int) -> None:
        more = self._random.choice([self._row(rows), self._column(columns), "1", "t"])
        self._add(depth, f"t = {self._random.choice(['t + ', '3 * ', ''])}{more}")

    def _if(self, rows: list[str], columns: list[str], depth: int) -> None:
        self._add(depth, f"if {self._condition(rows, columns)}:")
        self._body(rows, columns, depth + 1)
        if self._random.random() < 0.4:
            self._add(depth, "else:")
            self._body(rows, columns, depth + 1)

    def _condition(self, rows: list[str], columns: list[str]) -> str:
        operator = self._random.choice(["<", "<=", ">", ">=", "==", "!="])
        if self._random.random() < 0.5:
            return f"{self._row(rows)} {operator} {self._random.choice(['t', '2', 'n - 2'])}"
        return f"{self._value(rows, columns, 1)} {operator} {self._value(rows, columns, 1)}"

    def _value(self, rows: list[str], columns: list[str], depth: int = 2) -> str:
        row, column = self._row(rows), self._column(columns)
        if depth == 0 or self._random.random() < 0.3:
            return self._random.choice(
                [
                    f"x[{row}, {column}]",
                    f"x[{row}, {column}]",
                    f"y[{column}]",
                    self._place(rows, columns),
                    "s",
                    "0.5",
                    f"float32({self._random.choice([row, 't'])})",
                ]
            )
        left, right = (self._value(rows, columns, depth - 1) for _ in range(2))
        operator = self._random.choice(["+", "-", "*", "max", "abs", "if", "-x"])
        if operator == "max":
            return f"max({left}, {right})"
        if operator == "abs":
            return f"abs({left})"
        if operator == "-x":
            return f"-({left})"
        if operator == "if":
            return f"({left} if {self._condition(rows, columns)} else {right})"
        return f"({left} {operator} {right})"


def random_values(random: Random) -> dict[str, np.ndarray]:
    """Values of all parameters; results are given half of the time, and zeros otherwise."""
    n, m = random.randint(1, 6), random.choice((1, 2, 3, 7, 8, 9, 16, 21, 40))
    rng = np.random.default_rng(random.getrandbits(32))
    values = {
        "x": rng.standard_normal((n, m)).astype(np.float32),
        "y": rng.standard_normal(m).astype(np.float32),
        "i": rng.integers(0, n, n).astype(np.int32),
        "j": rng.integers(0, m, m).astype(np.int32),
        "o": np.sort(rng.integers(0, m + 1, n + 1)).astype(np.int32),
    }
    results = {
        "u": rng.standard_normal((n, m)).astype(np.float32),
        "v": rng.standard_normal(m).astype(np.float32),
        "w": rng.standard_normal(n).astype(np.float32),
        "c": rng.integers(-4, 5, n).astype(np.int32),
    }
    given = random.random() < 0.5
    return values | {name: array if given else 0 * array for name, array in results.items()}
