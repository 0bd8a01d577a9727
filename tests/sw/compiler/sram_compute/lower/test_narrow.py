"""Values in few rows are the same values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.sram_compute.lower.narrow import narrowed
from gnarl.sw.compiler.sram_compute.optimise.costs import graph_cost
from gnarl.sw.compiler.sram_compute.tdfg.graph import Compute, Graph, Reduce, only_used
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, regions
from gnarl.sw.workloads.loops.ir.scalar_type import ELEMENT_TYPES, ScalarType
from tests.support.sram_compute.tensor_graphs import nest_of
from tests.sw.compiler.sram_compute.lower.test_lower import require_golden

INTEGERS = {each.name: each for each in ELEMENT_TYPES if each.is_integer}

SOURCES = [f"{name}_a: {name}[n]" for name in INTEGERS]
SOURCES += [f"{name}_s: {name}" for name in INTEGERS]

CELLS = 40


def numbers(type: ScalarType, chance: np.random.Generator) -> np.ndarray:
    """Corners, and anything."""
    corners = [type.least, type.most, 0, 1, type.most - 1, type.least + 1, type.most >> 1]
    found = chance.integers(type.least, type.most, CELLS, type.dtype, endpoint=True)
    found[: len(corners)] = corners
    return chance.permutation(found)


@st.composite
def expressions(draw: st.DrawFn, name: str, depth: int = 4) -> str:
    """Expressions of an integer type."""
    type = INTEGERS[name]
    names = st.sampled_from([*INTEGERS])

    def inner(of: str = name) -> str:
        return draw(expressions(of, depth - 1))

    kind = draw(st.sampled_from(["load", "sum", "cast", "extremum", "number", "choice", "unary"]))
    if depth == 0 or kind == "load":
        return f"{name}({draw(names)}{draw(st.sampled_from(['_a[i]', '_s']))})"
    match kind:
        case "cast":
            return f"{name}({inner(draw(names))})"
        case "sum":
            return f"({inner()} {draw(st.sampled_from('+-*'))} {inner()})"
        case "extremum":
            return f"{draw(st.sampled_from(['min', 'max']))}({inner()}, {inner()})"
        case "number":
            least = max(type.least, -9)
            divisor = draw(st.integers(least, 9).filter(bool))
            places = draw(st.integers(0, min(type.bits - 1, 9)))
            right = draw(
                st.sampled_from([f"// {divisor}", f"% {divisor}", f"<< {places}", f">> {places}"])
            )
            return f"({inner()} {right})"
        case "choice":
            other = draw(names)
            sign = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
            return f"({inner()} if {inner(other)} {sign} {inner(other)} else {inner()})"
    return draw(st.sampled_from(["abs({})", "(-{})"])).format(inner())


@given(
    texts=st.lists(
        st.sampled_from([*INTEGERS]).flatmap(lambda to: expressions(to).map(lambda e: (to, e))),
        min_size=3,
        max_size=3,
    ),
    seed=st.integers(0, 9),
)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_results_are_the_same(texts: list[tuple[str, str]], seed: int):
    lines = [f"for i in range(n): to{at}[i] = {text}" for at, (_, text) in enumerate(texts)]
    targets = [f"to{at}: {to}[n]" for at, (to, _) in enumerate(texts)]
    nest = nest_of(", ".join(SOURCES + targets), "\n".join(lines))
    chance = np.random.default_rng(seed)
    values = {f"{each}_a": numbers(type, chance) for each, type in INTEGERS.items()}
    scalars = {f"{each}_s": numbers(type, chance)[0] for each, type in INTEGERS.items()}
    require_golden(nest, values | scalars)


@pytest.mark.parametrize("between", INTEGERS)
@pytest.mark.parametrize("given", INTEGERS)
def test_low_bits_of_a_scalar_are_not_the_scalar(given: str, between: str):
    """A scalar that fits no type on the way is what each of the types makes of it."""
    targets = [f"{to}_d: int32[n]" for to in INTEGERS]
    lines = [f"{to}_d[i] = int32({to}({between}(s)))" for to in INTEGERS]
    nest = nest_of(
        ", ".join([f"s: {given}", *targets]),
        "\n".join(f"for i in range(n): {each}" for each in lines),
    )
    type = INTEGERS[given]
    for value in (type.least, -3 if type.least < 0 else 3, type.most):
        targets_now = {f"{to}_d": np.zeros(5, np.int32) for to in INTEGERS}
        require_golden(nest, {"s": value, **targets_now})


ALONG = """
for i in range(n):
    for j in range(m):
        total[i, 0] += int32(a[i, j]) * int32(b[0, j])
for i in range(n):
    for j in range(m):
        most[0, j] = max(most[0, j], abs(int32(a[i, j])) - 3)
for i in range(1, n):
    for j in range(m - 2):
        sums[i, j] = int32(a[i - 1, j]) + int32(a[i, j + 2]) + 5 * int32(b[0, j]) + total[i, 0]
        real[i, j] = float32(int32(a[i, j]) * int32(a[i - 1, j])) * 0.5
for i in range(n):
    for j in range(m):
        low[i, j] = int8(sums[i, 3] * int32(b[0, j]) >> 2)
for i in range(n):
    for j in range(m):
        wide[i, j] = max(min(sums[i, j], 127), -128) * int32(a[i, j])
"""


def test_moved_and_summed_up():
    """A reduction's result may be an operand, which moves, and becomes a float."""
    parameters = (
        "a: int8[n, m], b: uint8[1, m], total: int32[n, 1], most: int32[1, m], sums: int32[n, m], "
        "real: float32[n, m], low: int8[n, m], wide: int32[n, m]"
    )
    nest, chance = nest_of(parameters, ALONG), np.random.default_rng(3)
    a = numbers(INTEGERS["int8"], chance).reshape(5, 8)
    require_golden(nest, {"a": a, "b": numbers(INTEGERS["uint8"], chance)[None, :8]})


def functions(graph: Graph) -> list[str]:
    """Computations and their types, with those of operands."""
    return [
        f"{each.function} {' '.join(graph.nodes[at].type.name for at in each.operands)} "
        f"→ {each.type.name}"
        for each in graph.nodes
        if isinstance(each, Compute)
    ]


@pytest.mark.parametrize(
    "parameters, value, wanted",
    [
        # All bits of a product of narrow numbers; none of the operands is converted.
        (
            "a: int8[n], b: int8[n], d: int32[n]",
            "d[i] + int32(a[i]) * int32(b[i])",
            ["* int8 int8 → int16", "cast int16 → int32", "+ int32 int32 → int32"],
        ),
        (
            "a: int16[n], b: int8[n], d: int16[n]",
            "max(min(a[i], 127), -128) * int16(b[i])",
            ["min int16 int16 → int16", "max int16 int16 → int16", "cast int16 → int8"]
            + ["* int8 int8 → int16"],
        ),
        # The low bits of what is stored in few.
        (
            "a: int32[n], b: int8[n], d: int8[n]",
            "int8(a[i] * int32(b[i]))",
            ["* int32 int8 → int8"],
        ),
        # A shift's places are fewer than the rows in which it is computed.
        (
            "a: int32[n], d: int8[n]",
            "int8(a[i] << 9)",
            ["<< int32 int32 → int10", "cast int10 → int8"],
        ),
        # What a comparison needs.
        (
            "a: uint8[n], b: int8[n], d: int32[n]",
            "d[i] if int32(a[i]) < int32(b[i]) else 0",
            ["cast uint8 → int9", "cast int8 → int9", "< int9 int9 → bool"]
            + ["select bool int32 int32 → int32"],
        ),
        # Numbers that are as wide as their types stay so.
        (
            "a: int32[n], b: int32[n], d: int32[n]",
            "a[i] * b[i]",
            ["* int32 int32 → int32"],
        ),
    ],
)
def test_as_few_rows_as_values_need(parameters: str, value: str, wanted: list[str]):
    (region,) = regions(plan(nest_of(parameters, f"for i in range(n): d[i] = {value}")))
    found = narrowed(region.graph)
    assert functions(found) == wanted
    assert graph_cost(found) <= graph_cost(region.graph)


def test_an_extremum_of_a_line_is_not_that_of_low_bits():
    """No more than a few bits are of use, but the products that it is of keep all of theirs."""
    nest = nest_of(
        "a: int8[n, m], b: int8[n, m], d: int32[n, 1]",
        "for i in range(n):\n"
        "    for j in range(m): d[i, 0] = max(d[i, 0], int32(a[i, j]) * int32(b[i, j]))",
    )
    (region,) = regions(plan(nest))
    nodes, (output,) = region.graph.nodes, region.graph.outputs
    (number,) = (at for at, each in enumerate(nodes) if isinstance(each, Reduce))
    graph = replace(
        region.graph,
        nodes=(*nodes, Compute("cast", (number,), INTEGERS["int8"])),
        outputs=(replace(output, node=len(nodes)),),
    )
    wanted = ["* int8 int8 → int16", "cast int16 → int8"]
    assert functions(narrowed(only_used(graph))) == wanted
