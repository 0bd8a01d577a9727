"""Random nests, as text, of loops around loops that share locals: each reads what others, or
iterations before, have left in them, in elements, conditions and bounds, and so does what follows.
"""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_HEAD = """\
n, m = sizes('n', 'm')


@nest
def shared_locals(
    x: float32[n + 1], o: int32[n + 1], at: int32[m], y: float32[n + 1], z: float32[n + 1, m],
    v: float32[n + 1], w: float32[m], last: float32[m],
):
    s = 1.0
    t = 2.0
    k = n
"""
_LAST = """\
    for j in range(m):
        last[j] = x[at[j]]
"""
"""A loop that can always run ahead: what stands before is cut from it."""


class SharedLocals:
    """``nest()`` gives one, of which ``text`` is the source."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._is_plain = random.random() < 0.5  # most locals are of one loop alone
        self._loops = 0
        self._lines: list[str] = []

    def nest(self) -> Nest:
        for _ in range(self._random.choice((1, 1, 2))):
            self._loop("    ", self._random.choice((1, 1, 1, 2, 3)))
        for line in ("y[0] = s", "v[0] = t", "y[k] = 1.0"):
            if self._random.random() < (0.1 if self._is_plain else 0.4):
                self._lines.append(f"    {line}")
        self.text = _HEAD + "".join(f"{line}\n" for line in self._lines) + _LAST
        return read_source(self.text, "shared_locals.py")

    def _loop(self, indent: str, depth: int) -> None:
        """A loop around loops that a program would like to run ahead of, and what locals hold."""
        i = self._variable()
        bounds = self._random.choice(("n", "n", "k", "k", "min(k, 1), n", "0, n, 2"))
        self._lines.append(f"{indent}for {i} in range({bounds}):")
        inside = f"{indent}    "
        for _ in range(self._random.randint(2, 4)):
            match self._random.randrange(30 if self._is_plain else 8):
                case 0:
                    self._lines.append(f"{inside}{self._assignment(i, f'x[{i}]')}")
                case 1:
                    self._lines.append(f"{inside}if {self._float()} > x[{i}]:")
                    self._lines.append(f"{inside}    {self._assignment(i, f'x[{i}]')}")
                    if self._random.random() < 0.4:
                        self._lines.append(f"{inside}else:")
                        self._lines.append(f"{inside}    {self._assignment(i, f'x[{i}]')}")
                case 2 if depth > 1:
                    self._loop(inside, depth - 1)
                case _:
                    self._candidate(inside, i)

    def _candidate(self, indent: str, i: str) -> None:
        p = self._variable()
        begin, end, element, place = self._random.choice(
            (
                (f"o[{i}]", f"o[{i} + 1]", f"x[{p}]", f"y[{i}]"),
                (f"o[{i}]", f"o[{i} + 1]", f"x[{p}]", f"y[{p}]"),
                ("0", "m", f"x[at[{p}]]", f"z[{i}, {p}]"),
                ("0", "m", f"x[at[{p}]]", f"w[{p}]"),
                ("0", "k", f"x[{p}]", f"v[{p}]"),
                ("min(k, 1)", "k", f"x[{p}]", f"v[{p}]"),
                (f"o[{i}]", f"o[{i} + 1]", "x[k]", f"v[{p}]"),
            )
        )
        self._lines.append(f"{indent}for {p} in range({begin}, {end}):")
        inside = f"{indent}    "
        if self._random.random() < 0.3:
            own = f"u{self._loops}"
            self._lines.append(f"{inside}{own} = {element}")
            element = own
        if self._random.random() < (0.04 if self._is_plain else 0.2):
            self._lines.append(f"{inside}{self._assignment(i, element)}")
        if self._random.random() < (0.96 if self._is_plain else 0.8):
            value = self._random.choice((element, element, f"{element} * {self._float()}"))
            operator = self._random.choice(("=", "+=", "+="))
            self._lines.append(f"{inside}{place} {operator} {value}")
        else:
            self._lines.append(f"{inside}{self._assignment(i, element)}")

    def _assignment(self, i: str, element: str) -> str:
        name = self._random.choice("sstk")
        if name == "k":
            return f"k = {self._random.choice(('1', '0', i, f'min(k, {i} + 1)', 'n'))}"
        return f"{name} = " + self._random.choice(
            (element, f"{self._float()} * 0.5", f"{self._float()} + {element}", "s", "t", "3.0")
        )

    def _float(self) -> str:
        return self._random.choice("st")

    def _variable(self) -> str:
        self._loops += 1
        return f"i{self._loops}"


def random_values(random: Random) -> dict[str, np.ndarray]:
    """Small whole numbers, whose sums are exact."""
    n, m = random.choice((1, 2, 3, 5)), random.choice((0, 1, 3, 4))
    drawn = np.random.default_rng(random.getrandbits(32))
    ends = np.sort(drawn.integers(0, n + 1, n + 1)).astype(np.int32)
    return {
        "x": drawn.integers(-3, 4, n + 1).astype(np.float32),
        "o": ends,
        "at": drawn.integers(0, n + 1, m).astype(np.int32),
        "y": drawn.integers(-3, 4, n + 1).astype(np.float32),
        "z": drawn.integers(-3, 4, (n + 1, m)).astype(np.float32),
        "v": drawn.integers(-3, 4, n + 1).astype(np.float32),
        "w": drawn.integers(-3, 4, m).astype(np.float32),
        "last": np.zeros(m, np.float32),
    }
