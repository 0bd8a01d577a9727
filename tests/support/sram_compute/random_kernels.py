"""Random kernels in C for in-SRAM computing: expressions of mixed types over one to three loops.

Elementwise, conditional, shifted, reversed, gathered, scattered, repeated and in two dimensions,
transposed where these are alike; sums of all, of rows and of columns; scans, triangles, and bounds
that are loaded. Sizes from 0; elements are small, at the edges of their types, or special floats.
"""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.nest import Array
from gnarl.sw.workloads.loops.workload import LoopWorkload

_TYPES = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "float")
_CHOICES = (
    _TYPES,
    ("int8_t", "int16_t"),
    ("float", "int32_t"),
    ("float", "int32_t"),
    ("float",),
    ("int32_t",),
)
_NUMBERS = ("0", "1", "2", "3", "7", "-1", "100", "1.5f", "0.0f")
_DIVISORS = ("3", "4", "-2", "7", "2.0f", "a[i]", "s")
_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
_VECTORS = "abcd"
SHAPES = {
    **dict.fromkeys(_VECTORS, "[n]"),
    "r": "[1]",
    "x": "[n]",
    "l": "[n]",
    "e": "[n][m]",
    "f": "[n][m]",
    "g": "[1][m]",
    "h": "[n][1]",
}
_FLOATS = (0.0, -0.0, 1, -1, 1.5, 7, 1e30, -3e38, 1e-40, np.inf, -np.inf, np.nan)


def random_kernel(seed: int) -> LoopWorkload:
    """Raises ``WorkloadError`` where C has a text that no nest is, such as a shift of a float."""
    return Kernel(Random(seed)).workload()


class Kernel:
    def __init__(self, random: Random) -> None:
        self._random = random
        types = random.choice(_CHOICES)
        self._type = {name: random.choice(types) for name in (*SHAPES, "s", "u")}
        self._type |= dict.fromkeys("xl", "int")
        self._n = random.choice((0, 1, 2, 3, 4, 7, 8, 16, 17, 24, 33, 48, 100, 300))
        self._m = random.choice((1, 2, 5, 16, 17, self._n))
        self._elements = random.choice(("small", "edges"))

    def workload(self) -> LoopWorkload:
        parameters = ["int n", "int m", f"{self._type['s']} s", f"{self._type['u']} u"]
        parameters += [f"{self._type[name]} {name}{shape}" for name, shape in SHAPES.items()]
        body = "\n  ".join(self._statement() for _ in range(self._random.choice((1, 1, 1, 2, 3))))
        head = "#include <math.h>\n#include <stdint.h>\n"
        text = f"{head}void kernel({', '.join(parameters)}) {{\n  {body}\n}}\n"
        nest = read_source(text, "kernel.c")
        values = {}
        for each in nest.parameters:
            shape = self._shape(each.name) if isinstance(each, Array) else ()
            values[each.name] = self._values(each.name, shape, each.type.dtype)
        return LoopWorkload("kernel", nest, values)

    def _shape(self, name: str) -> tuple[int, ...]:
        sizes = {"n": self._n, "m": self._m, "1": 1}
        return tuple(sizes[each] for each in SHAPES[name] if each in sizes)

    def _values(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        random = np.random.default_rng(self._random.getrandbits(32))
        if name in "xl":
            return random.integers(0, max(1, self._n) if name == "x" else 3, shape).astype(dtype)
        if dtype.kind == "f":
            if self._elements == "edges":
                return np.asarray(random.choice(np.array(_FLOATS, dtype), shape))
            return np.asarray(4 * random.standard_normal(shape), dtype)
        edges = np.iinfo(dtype)
        if self._elements == "edges":
            least, most = edges.min, edges.max
            found = np.array([least, least + 1, 0, 1, 3, most - 1, most], dtype)
            return np.asarray(random.choice(found, shape))
        return np.asarray(random.integers(max(edges.min, -9), 10, shape), dtype)

    def _statement(self) -> str:
        random = self._random
        inner = f"for (int i = 1; i < n - 1; {random.choice(('i++', 'i++', 'i += 2'))})"
        rows = "for (int i = 0; i < n; i++)"
        columns = "for (int j = 0; j < m; j++)"
        to, other = random.choice("bcd"), random.choice("bcd")
        depth = random.randint(0, 3)
        operator = random.choice("+-*")
        match random.randrange(18):
            case 0 | 1 | 2:
                return f"{inner} {to}[i] = {self._expression(depth)};"
            case 3 | 4:
                condition = self._condition()
                return f"{inner} if ({condition}) {to}[i] = {self._expression(depth)};"
            case 5:
                local = f"{random.choice(_TYPES)} t = {self._expression(depth)};"
                stores = f"{to}[i] = t; if (t > 2) {other}[i] = {self._expression(1)};"
                return f"{inner} {{ {local} {stores} }}"
            case 6:
                return f"{inner} r[0] += {self._expression(depth)};"
            case 7:
                operand = random.choice(("f[i][j]", "f[i][0]", "g[0][j]", "j"))
                value = f"{self._expression(1, 0)} {operator} {operand}"
                return f"{rows} {columns} e[i][j] {random.choice(('=', '+='))} {value};"
            case 8:
                return f"{rows} {columns} h[i][0] += f[i][j] {operator} {self._expression(1, 0)};"
            case 9:
                return f"{inner} d[i] = a[x[i]] {operator} {self._expression(1)};"
            case 10:
                steps = random.choice((0, 1, 2, 5))
                repeat = f"for (int t = 0; t < {steps}; t++)"
                return f"{repeat} {inner} d[i] += {self._expression(1)};"
            case 11:
                return f"{inner} {to}[i] {operator}= {self._expression(depth)};"
            case 12:
                value = random.choice(("e[i][j]", self._expression(1, 0)))
                return f"{columns} {rows} f[i][j] = {value};"
            case 13:
                return f"{columns} {rows} g[0][j] += f[i][j];"
            case 14:
                store = random.choice(("=", "+="))
                return f"{inner} d[x[i]] {store} {self._expression(1)};"
            case 15:
                stored = random.choice(("e[i][j]", "e[j][i]", "f[j][i]"))
                loaded = random.choice(("e[j][i]", "f[j][i]", "f[i][j] * f[j][i]"))
                return f"{rows} {columns} {stored} = {loaded} {operator} {self._expression(1, 0)};"
            case 16:
                return f"{inner} d[i] = d[i - 1] {operator} {self._expression(1)};"
            case _:
                bound = random.choice(("j < l[i]", "j < i"))
                return f"{rows} for (int j = 0; {bound}; j++) d[i] += a[j];"

    def _condition(self) -> str:
        comparison = self._random.choice(_COMPARISONS)
        return f"{self._expression(1)} {comparison} {self._expression(1)}"

    def _expression(self, depth: int, reach: int = 1) -> str:
        """``reach``: by how much its places are shifted at most."""
        random = self._random
        if depth <= 0:
            return self._leaf(reach)

        def part() -> str:
            return self._expression(depth - random.choice((1, 1, 2)), reach)

        match random.randrange(20):
            case 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8:
                return f"({part()} {random.choice('+-*')} {part()})"
            case 9:
                return f"({part()} / {random.choice(_DIVISORS)})"
            case 10:
                return f"({part()} % {random.choice(_DIVISORS)})"
            case 11:
                places = random.choice(("0", "1", "4", "7", "31", "a[i]"))
                return f"({part()} {random.choice(('<<', '>>'))} {places})"
            case 12 | 13:
                comparison = random.choice(_COMPARISONS)
                return f"({part()} {comparison} {part()} ? {part()} : {part()})"
            case 14:
                both = f"{part()} < {part()} {random.choice(('&&', '||'))} {part()} > {part()}"
                return f"({both} ? {part()} : {part()})"
            case 15:
                return f"(-{part()})"
            case 16 | 17:
                return f"(({random.choice(_TYPES)})({part()}))"
            case 18:
                return f"{random.choice(('fabsf', 'sqrtf', 'abs'))}({part()})"
            case _:
                return f"{random.choice(('fminf', 'fmaxf'))}({part()}, {part()})"

    def _leaf(self, reach: int) -> str:
        random = self._random
        match random.randrange(12):
            case 0 | 1 | 2 | 3 | 4 | 5:
                places = ("i", "i", "i + 1", "i - 1", "n - 1 - i", "x[i]") if reach else ("i",)
                return f"{random.choice(_VECTORS)}[{random.choice(places)}]"
            case 6 | 7:
                return random.choice("su")
            case 8:
                return random.choice(("e[i][0]", "a[0]", "i"))
            case _:
                return random.choice(_NUMBERS)
