"""Nests in which an iteration needs what another one has written, by name; and values for them."""

from __future__ import annotations

from textwrap import indent

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_HEAD = """\
n, m = sizes('n', 'm')


@nest
def f(
    x: float32[n], y: float32[m], t: float32[n, m], i: int32[n], j: int32[m], o: int32[n + 1],
    a: float32[n], b: float32[n], v: float32[m], u: float32[n, m], w: float32[m, m],
    c: int32[n + 1], d: float32[n, n, m],
):
"""

_ROW = "for k in range({bounds}):\n    {body}"
_TABLE = "for k in range({rows}):\n    for e in range({columns}):\n        {body}"


def _rows(bounds: str, *body: str) -> str:
    return _ROW.format(bounds=bounds, body="\n    ".join(body))


def _table(rows: str, columns: str, *body: str) -> str:
    return _TABLE.format(rows=rows, columns=columns, body="\n        ".join(body))


def _shift(name: str, by: int) -> str:
    return f"{name} {'+' if by > 0 else '-'} {abs(by)}" if by else name


_INNER = "2, n - 2"

BODIES: dict[str, str] = {
    # Of one loop: distances, constants, reversed, strided, loaded.
    **{
        f"reads {by:+d}": _rows(_INNER, f"a[k] = a[{_shift('k', by)}] + x[k]")
        for by in (-2, -1, 0, 1, 2)
    },
    **{
        f"writes {by:+d}": _rows(_INNER, f"a[{_shift('k', by)}] = a[k] + x[k]")
        for by in (-2, -1, 1, 2)
    },
    "writes at 5 what it reads at 1": _rows("n - 5", "a[k + 5] = a[k + 1] + x[k]"),
    "as far as lanes": _rows("n - 4", "a[k + 4] = a[k] + x[k]"),
    "less far than lanes": _rows("n - 3", "a[k + 3] = a[k] + x[k]"),
    "reads the first": _rows("n", "a[k] = a[0] + x[k]"),
    "reads the first, from the second on": _rows("1, n", "a[k] = a[0] + x[k]"),
    "reads one in the middle": _rows("n", "a[k] = a[3] + x[k]"),
    "reads the last": _rows("n", "a[k] = a[n - 1] + x[k]"),
    "reads the last, up to it": _rows("n - 1", "a[k] = a[n - 1] + x[k]"),
    "writes the first": _rows("n", "a[0] = a[k] + x[k]"),
    "adds to the first": _rows("n", "a[0] += x[k]"),
    "multiplies the first": _rows("n", "a[0] = a[0] * x[k] + x[k]"),
    "adds to the first what all add to": _rows("n", "a[0] += a[k] + x[k]"),
    "reads backwards": _rows("n", "a[k] = a[n - 1 - k] + x[k]"),
    "writes backwards": _rows("n", "a[n - 1 - k] = a[k] + x[k]"),
    "reads in steps of 2": _rows("6", "a[k] = a[2 * k] + x[k]"),
    "writes in steps of 2": _rows("6", "a[2 * k] = a[k] + x[k]"),
    "even and odd": _rows("6", "a[2 * k] = a[2 * k + 1] + x[k]"),
    "in a loop of steps of 2": _rows("0, n - 2, 2", "a[k + 2] = a[k] + x[k]"),
    "reads at loaded places": _rows("n", "a[k] = a[i[k]] + x[k]"),
    "writes at loaded places": _rows("n", "a[i[k]] = a[k] + x[k]"),
    "adds at loaded places": _rows("n", "a[i[k]] += x[k]"),
    "reads and writes at loaded places": _rows("n", "a[i[k]] = a[i[n - 1 - k]] + x[k]"),
    "overwrites at loaded places": _rows("n", "a[i[k]] = x[k]"),
    # Of order two, and by several statements.
    "order two": _rows("2, n", "a[k] = a[k - 1] + a[k - 2] + x[k]"),
    "order two, of nothing else": _rows("2, n", "a[k] = a[k - 1] + a[k - 2]"),
    "order two, weighted": _rows("2, n", "a[k] = 0.5 * a[k - 2] + x[k] * a[k - 1]"),
    "order two, ahead": _rows("n - 2", "a[k] = a[k + 1] + a[k + 2] + x[k]"),
    "both sides": _rows("1, n - 1", "a[k] = a[k - 1] + a[k + 1] + x[k]"),
    "two arrays, one behind the other": _rows("n - 1", "a[k] = b[k] + x[k]", "b[k + 1] = a[k]"),
    "two arrays, at once": _rows("n - 1", "a[k + 1] = b[k] + x[k]", "b[k + 1] = a[k] + x[k]"),
    "two arrays, ahead": _rows("n - 1", "a[k] = b[k + 1] + x[k]", "b[k] = a[k + 1]"),
    "two arrays, in order": _rows("n", "a[k] = b[k] + x[k]", "b[k] = a[k] * x[k]"),
    "a store, then a load ahead": _rows("n - 1", "a[k] = x[k]", "b[k] = a[k + 1]"),
    "a store, then a load behind": _rows("1, n", "a[k] = x[k]", "b[k] = a[k - 1]"),
    "a load ahead, then a store": _rows("n - 1", "b[k] = a[k + 1]", "a[k] = x[k]"),
    "a load behind, then a store": _rows("1, n", "b[k] = a[k - 1]", "a[k] = x[k]"),
    "two stores, ahead first": _rows("n - 1", "a[k + 1] = x[k]", "a[k] = 2.0 * x[k + 1]"),
    "two stores, behind first": _rows("n - 1", "a[k] = 2.0 * x[k + 1]", "a[k + 1] = x[k]"),
    "two stores, at one place": _rows("n", "a[k] = 2.0 * x[k]", "a[k] = x[k] + a[k]"),
    "a store, read and stored again": _rows(
        "1, n", "a[k] = x[k]", "b[k] = a[k - 1]", "a[k - 1] = 3.0 * x[k]"
    ),
    # With variables, choices, whole numbers and loops of the execute unit.
    "by a variable": _rows("n - 1", "s = a[k] + x[k]", "a[k + 1] = s"),
    "by a variable of the loop": "s = 1.0\n" + _rows("n", "a[k] = s", "s = a[k] + x[k]"),
    "a sum that is stored": "s = 0.0\n" + _rows("n", "s += x[k]", "a[k] = s"),
    "a sum stored, and then overwritten": "s = 0.0\n"
    + _rows("n", "s += x[k]", "a[k] = s", "a[k] = 2.0 * x[k]"),
    "a sum of what is stored": "s = 0.0\n"
    + _rows("n - 1", "s += a[k]", "a[k + 1] = x[k]")
    + "\nb[0] = s",
    "where it is positive": _rows("n - 1", "if x[k] > 0.0:", "    a[k + 1] = a[k] + x[k]"),
    "either of two": _rows(
        "n - 1", "if x[k] > 0.0:", "    a[k + 1] = a[k]", "else:", "    a[k + 1] = x[k]"
    ),
    "either of two places": _rows(
        "1, n - 1", "if x[k] > 0.0:", "    a[k + 1] = x[k]", "else:", "    a[k - 1] = a[k]"
    ),
    "chosen": _rows("n - 1", "a[k + 1] = a[k] if x[k] > 0.0 else x[k]"),
    "lengths to offsets": _rows("n", "c[k + 1] = c[k] + i[k]"),
    "offsets of a later loop": "c[0] = 0\n"
    + _rows("n", "c[k + 1] = c[k] + (1 if x[k] > 0.0 else 0)")
    + "\n"
    + _rows("n", "for p in range(c[k], c[k + 1]):", "    a[k] += x[p]"),
    "offsets of the same loop": "c[0] = 0\n"
    + _rows(
        "n",
        "c[k + 1] = c[k] + (1 if x[k] > 0.0 else 0)",
        "for p in range(c[k], c[k + 1]):",
        "    a[k] += x[p]",
    ),
    "a loop of constant bounds inside": _rows(
        "n - 1", "for e in range(2, m - 2):", "    v[e + 1] = v[e] + y[e] * x[k]"
    ),
    # Carried by the outer loop, the inner one, both, or neither.
    **{
        f"reads row {row:+d}, column {column:+d}": _table(
            "2, n - 2",
            "2, m - 2",
            f"u[k, e] = u[{_shift('k', row)}, {_shift('e', column)}] + t[k, e]",
        )
        for row in (-1, 0, 1)
        for column in (-1, 0, 1, 2)
    },
    **{
        f"writes row {row:+d}, column {column:+d}": _table(
            "2, n - 2",
            "2, m - 2",
            f"u[{_shift('k', row)}, {_shift('e', column)}] = u[k, e] + t[k, e]",
        )
        for row in (-1, 0, 1)
        for column in (-2, 1)
    },
    "transposed": _table("m", "m", "w[k, e] = w[e, k] + y[e]"),
    "transposed, below the diagonal": _table("m", "k", "w[k, e] = w[e, k] + y[e]"),
    "transposed, above it": _table("m", "k + 1, m", "w[e, k] = w[k, e] + y[e]"),
    "one row": _table("n", "m", "u[0, e] = u[k, e] + t[k, e]"),
    "one column": _table("n", "m", "u[k, 0] = u[k, e] + t[k, e]"),
    "from one column": _table("n", "m", "u[k, e] = u[k, 0] + t[k, e]"),
    "from the column before": _table("n", "1, m", "u[k, e] = u[k, e - 1] * y[e] + t[k, e]"),
    "from the row before, backwards": _table("1, n", "m", "u[k, e] = u[k - 1, m - 1 - e] + y[e]"),
    "rows backwards": _table("n", "m", "u[k, e] = u[n - 1 - k, e] + t[k, e]"),
    "rows at loaded places": _table("n", "m", "u[i[k], e] = u[k, e] + t[k, e]"),
    "from rows at loaded places": _table("n", "m", "u[k, e] = u[i[k], e] + t[k, e]"),
    "columns at loaded places": _table("n", "m", "u[k, j[e]] = u[k, e] + t[k, e]"),
    "from columns at loaded places": _table("n", "m", "u[k, e] = u[k, j[e]] + t[k, e]"),
    "sums of columns": _table("n", "m", "v[e] += t[k, e]"),
    "sums of rows": _table("n", "m", "a[k] += t[k, e]"),
    "sums of columns, shifted": _table("n", "m - 1", "v[e + 1] += v[e] * t[k, e]"),
    "sums of rows, shifted": _table("n - 1", "m", "a[k + 1] += a[k] * t[k, e]"),
    "a row of its own result": _table("n", "m", "u[k, e] = a[k] + t[k, e]", "a[k] = u[k, e]"),
    "a triangle": "for k in range(n):\n    s = x[k]\n    for e in range(k):\n"
    "        s -= d[0, k, 0] * a[e]\n    a[k] = s",
    "a triangle, by the array": _table("n", "k", "a[k] = a[k] - x[e] * a[e]"),
    "three loops": "for k in range(n):\n    for l in range(1, n):\n        for e in range(m - 1):\n"
    "            d[k, l, e + 1] = d[k, l - 1, e] + t[l, e]",
    "three loops, the middle one": "for k in range(n):\n    for l in range(1, n):\n"
    "        for e in range(m):\n            d[k, l, e] = d[k, l - 1, e] + t[l, e]",
    "three loops, the outer one": "for k in range(1, n):\n    for l in range(n):\n"
    "        for e in range(m):\n            d[k, l, e] = d[k - 1, l, e] + t[l, e]",
    "fibers": _table("n", "o[k], o[k + 1]", "a[k] += y[e]", "v[e] = a[k]"),
    "fibers, shifted": _table("n", "o[k], o[k + 1] - 1", "v[e + 1] = v[e] + y[e]"),
    "fibers of rows": "for k in range(n):\n    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]",
    "fibers of rows, shifted": "for k in range(n):\n    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m - 1):\n            u[k, e + 1] += u[k, e] * t[i[k], e]",
    # One loop behind another.
    "written before it is added to": _table("n", "m", "u[k, e] = t[k, e]")
    + "\n"
    + _table("n", "m", "u[k, e] += 2.0 * t[k, e]"),
    "set by rows before sums": _table("n", "m", "u[k, e] = 1.0")
    + "\nfor k in range(n):\n    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]",
    "sums of a row that a variable names": "r = 0\n" + "for k in range(n):\n"
    "    for p in range(o[k], o[k + 1]):\n        r = r + 1 if r < 4 else 0\n"
    "        for e in range(m):\n            u[r, e] += t[i[k], e] * y[p]",
    "sums that are set before, row by row": "for k in range(n):\n    for e in range(m):\n"
    "        u[k, e] = 1.0\n    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]",
    "sums that the row before has begun": "for k in range(n - 1):\n"
    "    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]\n"
    "    for e in range(m):\n        u[k + 1, e] = u[k, e]",
    "sums that are changed behind": "for k in range(n):\n"
    "    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]\n"
    "    for e in range(m):\n        u[k, e] = 0.5 * u[k, e]",
    "a variable called counter": "counter = 0\nfor k in range(n):\n    for e in range(8):\n"
    "        u[k, e] = t[k, e] * y[e]\n    counter = counter + i[k]\n    c[k] = counter",
    "locals called as passes might": "counter = 0\nbegun = 1\nkept = 2\nahead = 3\nlate = 4\n"
    "for k in range(n):\n    for e in range(8):\n        u[k, e] = t[k, e] * y[e]\n"
    "    counter = counter + i[k]\n    begun = begun + 1 if k == 0 else begun + counter\n"
    "    kept = kept + begun\n    ahead = ahead + kept\n    late = late + ahead\n"
    "    c[k] = counter + 3 * begun + 5 * kept + 7 * ahead + 9 * late",
    "sums, then shifted": "for k in range(n):\n    for p in range(o[k], o[k + 1]):\n"
    "        for e in range(m):\n            u[k, e] += t[i[k], e] * y[p]\n"
    + _table("n", "m - 1", "u[k, e] = u[k, e + 1]"),
    "sums of what the row before has": "for k in range(1, n):\n"
    "    for p in range(o[k], o[k + 1]):\n        for e in range(m):\n"
    "            u[k, e] += u[k - 1, e] * y[p]",
}
"""Of nests, by what is particular to them."""


def dependent_nest(name: str) -> Nest:
    return read_source(_HEAD + indent(BODIES[name], "    ") + "\n", "dependent.py")


def dependent_values(seed: int, n: int = 13, m: int = 11) -> dict[str, np.ndarray]:
    """Values of all parameters, results as well."""
    rng = np.random.default_rng(seed)

    def real(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "x": real(n),
        "y": real(m),
        "t": real(n, m),
        "i": rng.integers(0, n, n).astype(np.int32),
        "j": rng.integers(0, m, m).astype(np.int32),
        "o": np.sort(rng.integers(0, m + 1, n + 1)).astype(np.int32),
        "a": real(n),
        "b": real(n),
        "v": real(m),
        "u": real(n, m),
        "w": real(m, m),
        "c": np.zeros(n + 1, np.int32),
        "d": real(n, n, m),
    }
