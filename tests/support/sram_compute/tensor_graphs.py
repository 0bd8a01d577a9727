"""Loop nests for tests of tDFGs, and what golden model and interpreter make of them."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, plan
from gnarl.sw.compiler.sram_compute.tdfg.run import run
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source


def nest_of(parameters: str, body: str) -> Nest:
    """A function of the Python notation; ``body``: its lines."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return read_source(f"def f({parameters}):\n{lines}\n", "f.py")


def planned(parameters: str, body: str, **options: Any) -> tuple[Nest, tuple[Step, ...]]:
    nest = nest_of(parameters, body)
    return nest, plan(nest, **options)


def require_golden(nest: Nest, steps: tuple[Step, ...], values: dict[str, Any]) -> None:
    """The tDFGs of a nest give the golden model's bits."""
    binding = bind(nest, values)
    found = run(nest, steps, binding)
    wanted = GoldenLoops(nest).run(binding)
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].tobytes() == wanted[name].tobytes()


class RandomRegions:
    """Statements on three int16 arrays [n, m], with moves, broadcasts and choices."""

    parameters = "a: int16[n, m], b: int16[n, m], c: int16[n, m]"

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def body(self) -> str:
        lines = [self._statement() for _ in range(self._chance.randint(1, 3))]
        if self._chance.random() < 0.3:
            inner = "\n".join(lines).replace("\n", "\n ")
            return f"for k in range(2):\n {inner}"
        return "\n".join(lines)

    def _statement(self) -> str:
        row, column = (self._chance.randint(-1, 1) for _ in range(2))
        target = f"{self._chance.choice('abc')}[i + {row}, j + {column}]"
        value = self._expression(self._chance.randint(1, 3))
        stored = f"{target} {self._chance.choice(['=', '+='])} {value}"
        return f"for i in range(1, n - 1):\n for j in range(2, m - 2): {stored}"

    def _expression(self, depth: int) -> str:
        chance, kind = self._chance, self._chance.random()
        array = chance.choice("abc")
        if depth == 0 or kind < 0.3:
            if chance.random() < 0.15:
                return str(chance.randint(-5, 5))
            row = chance.choice([f"i + {chance.randint(-1, 1)}", str(chance.randint(0, 4))])
            column = chance.choice([f"j + {chance.randint(-2, 2)}", str(chance.randint(0, 6))])
            return f"{array}[{row}, {column}]"
        left, right = self._expression(depth - 1), self._expression(depth - 1)
        if left.lstrip("-").isdigit():  # of two numbers the sum would be int32
            left = f"{array}[i, j]"
        if kind < 0.75:
            return f"({left} {chance.choice('+-*')} {right})"
        if kind < 0.9:
            return f"{chance.choice(['min', 'max'])}({left}, {right})"
        element = f"{array}[i, j]"
        return f"({left} if {element} < {chance.randint(-20, 20)} else {element})"
