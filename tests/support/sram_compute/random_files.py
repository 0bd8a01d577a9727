"""Random C files as people write them: macros, helpers, tables, loops that go down, local arrays.

Beside the expressions of ``random_kernels`` there are bits of integers. Hard on purpose: loops that
go down over elements that others read, shifted and in place; one local for several sums; arrays
that are read and written at different places of one statement.
"""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.nest import Array, Nest
from tests.support.sram_compute.random_kernels import SHAPES, Kernel

_HEAD = """\
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#define SQUARE(x) ((x) * (x))
#define AT(v, i, d) v[(i) + (d)]
#define DOWN(i, n) for (int i = (n) - 1; i >= 0; i--)
typedef int word;
enum { LOW = -2, HIGH = LOW + 5 };
static const int TABLE[4] = {3, -1, 4, HIGH};
static inline word clip(word v, word lo, word hi) {
  if (v < lo) return lo;
  word r = v;
  if (r > hi) r = hi;
  return r;
}
static float mixed(float x, int k) { float y = x; if (k & 1) y = -y; return y + k; }
"""


class File(Kernel):
    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._n, self._m = random.choice((0, 1, 2, 3, 7, 12)), random.choice((1, 2, 5, 12))

    def text(self, name: str) -> str:
        body = "\n  ".join(self._statement() for _ in range(self._random.choice((1, 1, 2, 3))))
        return f"{self._signature(name)} {{\n  {body}\n}}\n"

    def given(self, nest: Nest) -> dict[str, np.ndarray]:
        found = {}
        for each in nest.parameters:
            if each.name not in nest.temporaries:
                shape = self._shape(each.name) if isinstance(each, Array) else ()
                found[each.name] = self._values(each.name, shape, each.type.dtype)
        return found

    def _signature(self, name: str) -> str:
        parameters = ["int n", "int m", f"{self._type['s']} s", f"{self._type['u']} u"]
        parameters += [f"{self._type[each]} {each}{shape}" for each, shape in SHAPES.items()]
        return f"void {name}({', '.join(parameters)})"

    def _statement(self) -> str:
        random = self._random
        to, other = random.sample("bcd", 2)
        depth = random.randint(0, 2)
        value, small = self._expression(depth), self._expression(1, 0)
        down = f"for (int i = n - {random.choice('12')}; i > {random.choice('01')}; i--)"
        rows, columns = "for (int i = 0; i < n; i++)", "for (int j = 0; j < m; j++)"
        kind = random.choice(("int", "int", "float"))
        match random.randrange(18):
            case 0:
                return f"{down} {to}[i] = {value};"
            case 1:
                shift = random.choice((-1, 0, 1))
                return f"{down} {to}[i] = AT({to}, i, {shift}) {random.choice('+-')} {small};"
            case 2:
                return f"{down} {{ {to}[i] = {other}[i - 1]; {other}[i] = {small}; }}"
            case 3:
                return f"DOWN(i, n) DOWN(j, m) e[i][j] = f[i][j] {random.choice('+-*')} {small};"
            case 4:
                inner = "for (int k = 0; k < n; k++)"
                sums = f"t += {random.choice(('f[i][j]', 'a[k]', 'a[k] * f[k][j]', 'f[k][j]'))}"
                end = random.choice(("e[i][j] = t;", "e[i][j] = t * 2;", "e[i][j] = t + e[i][j];"))
                start = random.choice(("0", "1", "s"))
                return f"{rows} {columns} {{ {kind} t = {start}; {inner} {sums}; {end} }}"
            case 5:
                inner = "for (int k = 0; k < n; k++)"
                term = random.choice(("a[k] * f[k][j]", "f[k][j]", "e[k][j]", "a[i]"))
                start = random.choice(("0", "e[i][j]", "f[i][j]", "u"))
                return f"{rows} {columns} {{ e[i][j] = {start}; {inner} e[i][j] += {term}; }}"
            case 6:
                first = f"{rows} t[i] = {value};".replace("i + 1", "i").replace("i - 1", "i")
                return f"{{ {kind} t[n]; {first} {down} {to}[i] = t[i] + t[i - 1]; }}"
            case 7:
                return f"{rows} {{ {kind} t[3]; t[0] = {small}; t[2] = t[0]; {to}[i] = t[2]; }}"
            case 8:
                sums = "for (int k = 0; k < 4; k++) t += TABLE[k] * a[i];"
                return f"{rows} {{ {kind} t = 0; {sums} {to}[i] = t; }}"
            case 9:
                return f"{rows} {to}[i] = TABLE[i & 3] + {small};"
            case 10:
                return f"{rows} {to}[i] = clip({small}, LOW, HIGH);"
            case 11:
                return f"{rows} {to}[i] = mixed({small}, TABLE[1]) * SQUARE(a[i]);"
            case 12:
                chosen = random.choice(("a[i] < r[0] ? a[i] : r[0]", "r[0] >= a[i] ? r[0] : a[i]"))
                return f"{rows} r[0] = {chosen};"
            case 13:
                return f"{rows} {to}[i] = {other}[i] = {small};"
            case 14:
                return f"{rows} {to}[i] {random.choice('&|^')}= {small};"
            case 15:
                return f"for (size_t i = 0; i < n; i++) {to}[n - 1 - i] = {other}[i];"
            case 16:
                return (
                    f"{rows} {{ int t = a[i]; {to}[i] = t; }} {rows} {{ float t = s; d[i] = t; }}"
                )
            case _:
                steps = random.choice(("i -= 2", "i -= 3"))
                return f"for (int i = n - 1; i >= 0; {steps}) {to}[i] = {small};"

    def _expression(self, depth: int, reach: int = 1) -> str:
        random = self._random
        if depth > 0 and random.random() < 0.2:
            parts = [self._expression(depth - 1, reach) for _ in range(2)]
            if random.random() < 0.3:
                return f"(~{parts[0]})"
            return f"({parts[0]} {random.choice('&|^')} {parts[1]})"
        return super()._expression(depth, reach)


def random_file(seed: int) -> tuple[File, str]:
    """What draws values for it, and a function ``f`` with the seed behind it, without the head."""
    drawn = File(Random(seed))
    return drawn, drawn.text(f"f{seed}")


def with_head(functions: str) -> str:
    return _HEAD + functions


def nest_of(seed: int, function: str) -> Nest:
    """Raises ``WorkloadError`` where C has a text that no nest is."""
    return read_source(with_head(function), "f.c", f"f{seed}")
