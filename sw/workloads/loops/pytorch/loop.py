"""Loops of a graph's nest, before what is in them is known."""

from __future__ import annotations

from gnarl.sw.workloads.loops.ir.nest import Expression, For, Statement, Variable


class Loop:
    """``variable`` in the loop that ``around`` makes."""

    def __init__(self, variable: Variable, lower: Expression, upper: Expression) -> None:
        self.variable, self._lower, self._upper = variable, lower, upper

    def around(self, *body: Statement) -> For:
        return For(self.variable.name, self._lower, self._upper, 1, body, self.variable.place)


def nested(loops: list[Loop], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The first loop outermost."""
    for loop in reversed(loops):
        body = (loop.around(*body),)
    return body
