"""Float32 numbers of all kinds, NaNs with payloads among them, and expressions of them in C."""

from __future__ import annotations

from random import Random

import numpy as np

SPECIAL = np.array(
    [
        *(0x00000000, 0x3F800000, 0x00000001, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000),
        *(0x7FC00000, 0x7FC12345, 0x7FFFFFFF, 0x7F800001, 0x7FBFFFFF),
    ],
    np.uint32,
)
SPECIAL = np.concatenate([SPECIAL, SPECIAL | np.uint32(1 << 31)]).view(np.float32)
"""Zero, one, the least and the largest subnormal, the largest number, infinity, quiet and
signalling NaNs; the same with the other sign."""

SIGNS = {
    "negated": "-a[i]",
    "magnitude": "fabsf(a[i])",
    "less": "-fabsf(a[i])",
    "more": "fabsf(-a[i])",
    "twice": "-(-a[i])",
    "difference": "-(a[i] - b[i])",
    "sum": "a[i] + -b[i]",
    "taken": "a[i] - -b[i]",
    "product": "-a[i] * -b[i]",
    "scaled": "a[i] * -1.0f",
    "from_zero": "0.0f - a[i]",
    "least": "fminimumf(-a[i], b[i])",
    "largest": "fmaximumf(a[i], -b[i])",
    "number": "fmaxf(-a[i], fabsf(b[i]))",
    "chosen": "a[i] > b[i] ? -a[i] : fabsf(b[i])",
    "above": "fmaximumf(-a[i], 0.0f)",
}
"""Expressions of ``a[i]`` and ``b[i]``, by name."""


def crossed() -> dict[str, np.ndarray]:
    """All pairs of special numbers, as arrays ``a`` and ``b``."""
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return {"a": a.ravel(), "b": b.ravel()}


def kernel(expression: str) -> str:
    """A function in C: ``out[i]`` is the expression."""
    return (
        "void f(int n, float a[n], float b[n], float out[n]) {\n"
        f"  for (int i = 0; i < n; i++) out[i] = {expression};\n}}\n"
    )


def random_expression(random: Random, depth: int = 3) -> str:
    """A random expression of ``a[i]`` and ``b[i]``."""
    if not depth or random.random() < 0.1:
        return random.choice(("a[i]", "b[i]", "a[i]", "b[i]", "0.0f", "-1.5f"))

    def part() -> str:
        return random_expression(random, depth - 1)

    match random.randrange(9):
        case 0 | 1:
            return f"-({part()})"
        case 2 | 3:
            return f"fabsf({part()})"
        case 4 | 5:
            return f"({part()} {random.choice('+-*/')} {part()})"
        case 6:
            return f"{random.choice(('fminimumf', 'fmaximumf', 'fminf'))}({part()}, {part()})"
        case 7:
            order = random.choice(("<", "<=", "==", "!="))
            return f"({part()} {order} {part()} ? {part()} : {part()})"
        case _:
            return "(a[i] < b[i] && b[i] != a[i] ? -a[i] : b[i])"
