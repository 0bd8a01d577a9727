"""Arrays that are written in part: what is loaded, and which margins are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from tests.support.sram_compute.lowered_memory import require_golden
from tests.support.sram_compute.tensor_graphs import nest_of

Margins = tuple[tuple[int, ...], tuple[int, ...]]

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
