"""Arrays that are written in part: what is loaded, and which margins are left."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from tests.support.sram_compute.lowered_memory import SMALL, require_golden
from tests.support.sram_compute.tensor_graphs import nest_of

Margins = tuple[tuple[int, ...], tuple[int, ...]]

ROOMY = replace(SMALL, arrays=64, memory_bytes=1 << 18)

NONE: Margins = ((0, 0, 0), (0, 0, 0))


def integers(*shape: int, dtype: Any = np.int32) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-100, 100, shape, dtype)


def transfers(parameters: str, body: str, values: dict[str, Any]) -> tuple[int, list[Margins]]:
    """How many arrays are loaded; margins of each store. Results are the golden model's."""
    lowered = require_golden(nest_of(parameters, body), values)
    commands = [command for _, command in disassemble(lowered.units)]
    stores = [
        (tuple(each.fields["before"]), tuple(each.fields["after"]))
        for each in commands
        if each.opcode == Opcode.STORE
    ]
    return sum(each.opcode == Opcode.LOAD for each in commands), stores


INNER_BOX = """
for h in range(1, k):
    for i in range(2, n - 1):
        for j in range(1, m - 3):
            b[h, i, j] = a[h, i - 2, j] * 3
"""


@pytest.mark.parametrize(
    "parameters, body, values, loads, stores",
    [
        pytest.param(
            "a: int32[n], b: int32[n]",
            "for i in range(2, n - 5): b[i] = a[i] + 1",
            {"a": integers(70), "b": integers(70)},
            1,
            [((2, 0, 0), (80 - 65, 0, 0))],
            id="rows are padded to whole lines",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            "for i in range(3, n): b[i] = a[i] + 1",
            {"a": integers(70), "b": integers(70)},
            1,
            [((3, 0, 0), (0, 0, 0))],
            id="up to the end",
        ),
        pytest.param(
            "a: int32[k, n, m], b: int32[k, n, m]",
            INNER_BOX,
            {"a": integers(3, 5, 16), "b": integers(3, 5, 16)},
            1,
            [((1, 2, 1), (3, 1, 0))],
            id="three dimensions",
        ),
        pytest.param(
            "a: int32[k, n, m], b: int32[k, n, m]",
            INNER_BOX,
            {"a": integers(4, 4, 16), "b": integers(4, 4, 16)},
            1,
            [((1, 2, 1), (3, 1, 0))],
            id="planes whose tiles follow each other",
        ),
        pytest.param(
            "a: int8[n], b: int8[n]",
            "for i in range(4, n - 8): b[i] = a[i] + 1",
            {"a": integers(64, dtype=np.int8), "b": integers(64, dtype=np.int8)},
            1,
            [((1, 0, 0), (2, 0, 0))],
            id="margins of bytes that are whole words",
        ),
        pytest.param(
            "a: int8[n], b: int8[n]",
            "for i in range(1, n - 8): b[i] = a[i] + 1",
            {"a": integers(64, dtype=np.int8), "b": integers(64, dtype=np.int8)},
            2,
            [NONE],
            id="margins of bytes that are no words",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n]",
            """
for i in range(1, n): b[i] = a[i] - a[i - 1]
for i in range(2, n): c[i] = b[i] - b[i - 1]
""",
            {"a": integers(70), "b": integers(70), "c": integers(70)},
            1,
            [((1, 0, 0), (0, 0, 0)), ((2, 0, 0), (0, 0, 0))],
            id="what was written is read",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n], d: int32[m]",
            """
for k in range(m):
    for i in range(1, n): b[i] = a[i] - a[i - 1]
    for i in range(2, n): c[i] = b[i] - b[i - 1]
""",
            {
                "a": integers(70),
                "b": integers(70),
                "c": integers(70),
                "d": integers(1),
            },
            2,
            [NONE, ((2, 0, 0), (0, 0, 0))],
            id="in a loop in order what was written is read as a whole",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n]",
            """
for i in range(1, n): b[i] = a[i] - a[i - 1]
for i in range(1, n): c[i] = b[i] - b[i - 1]
""",
            {"a": integers(70), "b": integers(70), "c": integers(70)},
            2,
            [NONE, ((1, 0, 0), (0, 0, 0))],
            id="what was not written is read",
        ),
        pytest.param(
            "a: int32[n, m], b: int32[n, m]",
            """
for j in range(m): b[0, j] = a[0, j] * 3
for j in range(m): b[n - 1, j] = a[n - 1, j] * 5
""",
            {"a": integers(9, 16), "b": integers(9, 16)},
            1,
            [((0, 0, 0), (0, 8, 0)), ((0, 8, 0), (0, 0, 0))],
            id="two parts",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n]",
            """
for i in range(n): c[i] = a[i] * 3
for i in range(1, n): b[i] = c[i]
for i in range(5, n): c[i] = a[i] * 7
""",
            {"a": integers(70), "b": integers(70)},
            2,
            [NONE, NONE],
            id="a part that changes afterwards in the array that it is from",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            "for i in range(n): b[i] = b[i] + 1\nfor i in range(2, n): b[i] = a[i] * 3",
            {"a": integers(70), "b": integers(70)},
            2,
            [NONE],
            id="the rest changes before",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n]",
            "for i in range(n): b[i] = c[i]\nfor i in range(2, n): b[i] = a[i] * 3",
            {"a": integers(70), "b": integers(70), "c": integers(70) + 1},
            2,
            [NONE],
            id="the rest becomes another array's before",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            "for i in range(1, n): b[i] = a[i]\nfor i in range(n): a[i] = 7",
            {"a": integers(70), "b": integers(70)},
            2,
            [NONE, NONE],
            id="a part of an array that is written, too",
        ),
    ],
)
def test_only_what_is_needed_is_loaded(
    parameters: str, body: str, values: dict[str, Any], loads: int, stores: list[Margins]
):
    assert transfers(parameters, body, values) == (loads, stores)


def hollow_loads(code: MemoryCode) -> list[Margins]:
    """Margins of the loads that leave some lines out, in order."""
    return [
        (tuple(each.fields["before"]), tuple(each.fields["after"]))
        for _, each in disassemble(code.units)
        if each.opcode == Opcode.LOAD and each.fields["hollow"]
    ]


THERE_AND_BACK = """
for k in range(m):
    for i in range({first}, n - {behind}): b[i] = a[i - 1] + a[i + 1]
    for i in range(1, n - 1): a[i] = b[i - 1] - b[i + 1]
"""


@pytest.mark.parametrize(
    "parameters, body, values, hollow",
    [
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[m]",
            THERE_AND_BACK.format(first=1, behind=1),
            {"a": integers(70), "b": integers(70), "c": integers(3)},
            [((16, 0, 0), (16, 0, 0))],
            id="lines with margins are loaded",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[m]",
            THERE_AND_BACK.format(first=16, behind=22),
            {"a": integers(70), "b": integers(70), "c": integers(3)},
            [((16, 0, 0), (32, 0, 0))],
            id="margins of whole lines",
        ),
        pytest.param(
            "a: int16[n], b: int16[n], c: int32[m]",
            THERE_AND_BACK.format(first=33, behind=1),
            {
                "a": integers(130, dtype=np.int16),
                "b": integers(130, dtype=np.int16),
                "c": integers(3),
            },
            [((32, 0, 0), (16, 0, 0))],
            id="lines of smaller elements",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[m]",
            THERE_AND_BACK.format(first=3, behind=12),
            {"a": integers(30), "b": integers(30), "c": integers(2)},
            [],
            id="no line is overwritten whole",
        ),
        pytest.param(
            "a: int32[n, m], b: int32[n, m], c: int32[k]",
            """
for t in range(k):
    for i in range(1, n - 1):
        for j in range(1, m - 1): b[i, j] = a[i - 1, j] + a[i, j + 1]
    for i in range(1, n - 1):
        for j in range(1, m - 1): a[i, j] = b[i + 1, j] - b[i, j - 1]
""",
            {"a": integers(6, 50), "b": integers(6, 50), "c": integers(2)},
            [((16, 1, 0), (16, 1, 0))],
            id="a frame",
        ),
        pytest.param(
            "a: int32[n], b: int32[n], c: int32[n]",
            """
for i in range(n): c[i] = b[i] + 1
for i in range(1, n): b[i] = a[i] - a[i - 1]
for i in range(n): a[i] = b[i] * 3
""",
            {"a": integers(70), "b": integers(70)},
            [],
            id="it is read before",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            """
for i in range(1, n): b[i] = a[i] + 1
for i in range(n): a[i] = b[i] * 3
""",
            {"a": integers(70), "b": integers(70)},
            [((16, 0, 0), (0, 0, 0))],
            id="up to the end, padding included",
        ),
        pytest.param(
            "a: int32[n], b: int32[n]",
            """
for i in range(1, n): b[i] = b[i] + a[i]
for i in range(n): a[i] = b[i] * 3
""",
            {"a": integers(70), "b": integers(70)},
            [],
            id="it is an operand of what overwrites it",
        ),
    ],
)
def test_what_is_overwritten_first_is_not_loaded(
    parameters: str, body: str, values: dict[str, Any], hollow: list[Margins]
):
    assert hollow_loads(require_golden(nest_of(parameters, body), values)) == hollow


def random_parts(chance: Random, rank: int) -> str:
    """Statements, in a loop in order or not, that write a box of an array each, from elements of
    arrays some places away: their own ones, too."""
    names, inner = "ij"[:rank], []
    for _ in range(chance.randint(2, 4)):
        target, *sources = (chance.choice("abc") for _ in range(3))
        lines, indent = list[str](), ""
        for name, extent in zip(names, "nm", strict=False):
            low, high = (chance.choice([2, 2, 3, 16, 17]) for _ in range(2))
            lines.append(f"{indent}for {name} in range({low}, {extent} - {high}):")
            indent += "    "
        places = [", ".join(_shifted(chance, name) for name in names) for _ in sources]
        first, second = (
            f"{source}[{place}]" for source, place in zip(sources, places, strict=True)
        )
        lines.append(f"{indent}{target}[{', '.join(names)}] = {first} - {second}")
        inner += lines
    if chance.random() < 0.5:
        return "\n".join(inner)
    return "\n".join(["for t in range(k):", *(f"    {line}" for line in inner)])


def _shifted(chance: Random, name: str) -> str:
    return f"{name}{chance.choice(['', '', ' - 1', ' + 1', ' - 2', ' + 2'])}"


@pytest.mark.parametrize("rank", [1, 2])
def test_random_parts_are_the_golden_models(rank: int):
    hollow = 0
    for seed in range(60):
        chance = Random(seed)
        shape = (chance.choice([40, 64, 70, 130]),) if rank == 1 else (40, chance.choice([38, 80]))
        dtype = chance.choice(["int32", "int16", "int8"])
        arrays = ", ".join(f"{name}: {dtype}[{'n, m'[: 3 * rank - 2]}]" for name in "abc")
        body = random_parts(chance, rank)
        values = {name: integers(*shape, dtype=dtype) for name in "abc"}
        values["d"] = integers(chance.randint(1, 3))
        try:
            lowered = require_golden(nest_of(f"{arrays}, d: int32[k]", body), values, ROOMY)
        except WorkloadError:
            continue  # a loop that memory does not compute
        hollow += bool(hollow_loads(lowered))
    assert hollow > 5
