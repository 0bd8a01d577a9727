"""Tests which parts of a nest run in memory: neighbours together, and what shares locals."""

from __future__ import annotations

import pytest

from gnarl.sw.compiler.sram_compute.placement import placed, planned
from tests.support.sram_compute.tensor_graphs import nest_of

IN_MEMORY = "for i in range(n):\n t = a[i] * 2\n b[i] = t\n"
IN_ORDER = "for i in range(1, n):\n {0} = c[i - 1]\n c[i] += {0}\n"
"""Of a local."""


def places(body: str) -> list[tuple[bool, int]]:
    """For each part, whether it runs in memory, and how many statements it has."""
    nest = nest_of("a: int32[n], b: int32[n], c: int32[n]", body)
    parts = placed(nest, planned(nest, reassociate=True))
    return [(part.refusal is None, len(part.nest.body)) for part in parts]


def test_neighbours_in_the_same_place_are_one_part():
    found = places(IN_ORDER.format("u") + IN_ORDER.format("v") + 2 * IN_MEMORY)
    assert found == [(False, 2), (True, 2)]


@pytest.mark.parametrize(
    "body, statements", [(IN_ORDER.format("t") + IN_MEMORY, 2), (f"t = 1\n{IN_MEMORY}c[0] = t", 3)]
)
def test_locals_keep_statements_together(body: str, statements: int):
    """All of two parts, or three, is elsewhere."""
    assert places(body) == [(False, statements)]
