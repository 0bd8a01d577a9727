"""Random kernels in C for in-SRAM computing: expressions of mixed types over one to three loops.

Elementwise, conditional, shifted, reversed, gathered, scattered, repeated, every second one, and in
two and three dimensions, transposed where these are alike; arrays of the function's own; iterations
that read what others in the same or another loop wrote; sums of all, of rows and of columns; scans,
triangles, bounds that are loaded, and places that only bounds or conditions keep inside. Sizes from
0; elements are small, at the edges of their types, or special floats.
"""

from __future__ import annotations

from itertools import count
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
    "o": "[n][2][m]",
    "p": "[n][2][m]",
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
        self._numbers = count()

    def workload(self) -> LoopWorkload:
        parameters = ["int n", "int m", f"{self._type['s']} s", f"{self._type['u']} u"]
        parameters += [f"{self._type[name]} {name}{shape}" for name, shape in SHAPES.items()]
        body = "\n  ".join(self._statement() for _ in range(self._random.choice((1, 1, 1, 2, 3))))
        head = "#include <math.h>\n#include <stdint.h>\n"
        text = f"{head}void kernel({', '.join(parameters)}) {{\n  {body}\n}}\n"
        nest = read_source(text, "kernel.c")
        values = {}
        for each in nest.parameters:
            if each.name not in nest.temporaries:
                shape = self._shape(each.name) if isinstance(each, Array) else ()
                values[each.name] = self._values(each.name, shape, each.type.dtype)
        return LoopWorkload("kernel", nest, values)

    def _shape(self, name: str) -> tuple[int, ...]:
        sizes = {"n": self._n, "m": self._m, "1": 1, "2": 2}
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
        match random.randrange(30):
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
            case 17:
                bound = random.choice(("j < l[i]", "j < i"))
                return f"{rows} for (int j = 0; {bound}; j++) d[i] += a[j];"
            case 18 | 19 | 20:
                return self._through_own_array()
            case 21 | 22 | 23:
                return self._in_order()
            case 24 | 25:
                return self._in_three_dimensions()
            case 26 | 27:
                return self._kept_inside()
            case 28:
                return f"{inner} *r {random.choice(('=', '+='))} {self._expression(depth)};"
            case _:
                half = "for (int i = 0; i < n / 2; i++)"
                loaded = random.choice(("a[2 * i]", "a[2 * i + 1]", "a[i + n / 2]"))
                stored = random.choice((f"{to}[i]", f"{to}[2 * i]", f"{to}[n - 1 - 2 * i]"))
                return f"{half} {stored} = {loaded} {operator} {self._expression(1, 0)};"

    def _through_own_array(self) -> str:
        """An array of the function is filled whole, and read at other places."""
        random = self._random
        name, type = f"w{next(self._numbers)}", random.choice(_TYPES)
        to, operator = random.choice("bcd"), random.choice("+-*")
        value = self._expression(random.randint(0, 2), 0)
        every = "for (int i = 0; i < n; i++)"
        inner = "for (int i = 1; i < n - 1; i++)"
        if random.random() < 0.5:
            place = random.choice(("i", "i - 1", "i + 1", "n - 1 - i", "x[i]"))
            again = random.choice(("", "", f"{inner} {name}[i] += {name}[i + 1];"))
            filled = f"{type} {name}[n]; {every} {name}[i] = {value};"
            return f"{filled} {again} {inner} {to}[i] = {name}[{place}] {operator} {self._leaf(1)};"
        columns = "for (int j = 0; j < m; j++)"
        place = random.choice(("[i][j]", "[i - 1][j]", "[i + 1][j]"))
        filled = (
            f"{type} {name}[n][m]; {every} {columns} {name}[i][j] = f[i][j] {operator} {value};"
        )
        used = random.choice(("e[i][j] =", "e[i][j] +=", f"{to}[i] +=", "r[0] +="))
        return f"{filled} {inner} {columns} {used} {name}{place};"

    def _in_order(self) -> str:
        """Iterations read what those before wrote, in the same loop or the one around."""
        random = self._random
        operator, small = random.choice("+-*"), self._expression(1, 0)
        rows = random.choice(("for (int i = 1; i < n; i++)", "for (int i = n - 1; i > 0; i--)"))
        columns = random.choice(
            ("for (int j = 1; j < m - 1; j++)", "for (int j = m - 2; j > 0; j--)")
        )
        if random.random() < 0.3:
            name, type = f"t{next(self._numbers)}", random.choice(_TYPES)
            to, best = random.choice("bcd"), f"a[i] > {name} ? a[i] : {name}"
            step = random.choice((f"{name} {operator} {small}", f"{best} {operator} {small}"))
            return f"{type} {name} = s; {rows} {{ {name} = {step}; {to}[i] = {name}; }}"
        loaded = [
            f"e[i{random.choice(('', ' - 1'))}][j{random.choice(('', ' - 1', ' + 1'))}]"
            for _ in range(random.choice((1, 1, 2)))
        ]
        loops = random.sample((rows, columns), 2)
        return f"{' '.join(loops)} e[i][j] = {f' {operator} '.join((*loaded, small))};"

    def _in_three_dimensions(self) -> str:
        random = self._random
        loops = ["for (int i = 0; i < n; i++)", "for (int k = 0; k < 2; k++)"]
        loops.append("for (int j = 0; j < m; j++)")
        stored = random.choice(("o[i][k][j]", "o[i][k][j]", "o[i][1 - k][j]", "e[i][j]", "h[i][0]"))
        loaded = random.choice(("p[i][k][j]", "p[i][1 - k][j]", "o[i][k][j]", "p[i][k][0]"))
        store = random.choice(("=", "+=")) if stored[0] == "o" else "+="
        value = f"{loaded} {random.choice('+-*')} {random.choice(('f[i][j]', 'g[0][j]', 's', 'k'))}"
        return f"{' '.join(random.sample(loops, 3))} {stored} {store} {value};"

    def _kept_inside(self) -> str:
        """Places that only bounds or conditions keep inside the array."""
        random = self._random
        to, operator, small = random.choice("bcd"), random.choice("+-*"), self._expression(1, 0)
        every = "for (int i = 0; i < n; i++)"
        match random.randrange(4):
            case 0:
                return f"{every} for (int j = 0; j < i; j++) {to}[i] += a[i - j - 1] {operator} s;"
            case 1:
                condition = random.choice(("i > 1", "i >= 2 && a[i - 2] > s", "s > 0 && i > 2"))
                return f"{every} if ({condition}) {to}[i] = a[i - 2] {operator} {small};"
            case 2:
                return f"{every} {to}[i] = (i + 3 < n ? a[i + 3] : {small}) {operator} {small};"
            case _:
                bound = random.choice(("l[i]", "x[i]"))
                return (
                    f"{every} for (int j = 0; j < {bound}; j++) {to}[i] += a[j] {operator} {small};"
                )

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

        match random.randrange(22):
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
                return f"{random.choice(('fabsf', 'sqrtf', 'abs', 'expf'))}({part()})"
            case 19:
                return f"__builtin_popcount({part()})"
            case 20:
                exponent = random.choice(("2.0f", "0.5f", "-1.0f", part()))
                return f"powf({part()}, {exponent})"
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
