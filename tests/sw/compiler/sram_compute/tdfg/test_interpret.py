"""What nodes mean: corners that no nest is compiled to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, interval
from gnarl.sw.compiler.sram_compute.tdfg.graph import Const, Graph, Node, Reduce, Shrink, Tensor
from gnarl.sw.compiler.sram_compute.tdfg.interpret import Values, evaluate
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32


def number(value: int) -> Affine:
    return Affine(value)


def evaluated(nodes: Sequence[Node], values: np.ndarray) -> Values:
    """The last node's values; ``values``: of array ``a``."""
    size = (number(len(values)),)
    graph = Graph(tuple(nodes), (), size, (("a", size),), ())
    return evaluate(graph, {"a": values}, {}, {})[-1]


def whole(values: np.ndarray) -> Tensor:
    return Tensor("a", (interval(Affine(), number(len(values))),), FLOAT32)


def by_halves(line: Sequence[np.float32]) -> np.float32:
    """The upper half is added to the lower one at the distance of a power of two."""
    line = list(line)
    distance = 64
    while distance:
        for place in range(len(line) - distance):
            line[place] = np.float32(line[place] + line[place + distance])
        line = line[:distance]
        distance //= 2
    return line[0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 65])
def test_sums_are_added_up_by_halves(count: int):
    values = np.random.default_rng(count).standard_normal(count, np.float32)
    found = evaluated([whole(values), Reduce("+", 0, 0, FLOAT32)], values)
    assert found.cells == ((0, 1),)
    assert found.values.tobytes() == by_halves(values).tobytes()


@pytest.mark.parametrize("function, nothing", [("+", -0.0), ("min", np.inf), ("max", -np.inf)])
def test_lines_without_cells_have_what_changes_nothing(function: str, nothing: float):
    values = np.arange(3, dtype=np.float32)
    empty = Shrink(0, 0, interval(number(2), number(2)), FLOAT32)
    found = evaluated([whole(values), empty, Reduce(function, 1, 0, FLOAT32)], values)
    assert found.values.tobytes() == np.float32(nothing).tobytes()


@pytest.mark.parametrize(
    "node, message",
    [
        (Shrink(0, 0, interval(number(0), number(1)), FLOAT32), "no box to shrink"),
        (Reduce("+", 0, 0, FLOAT32), "no line to sum up"),
    ],
)
def test_constants_have_no_cells(node: Node, message: str):
    with pytest.raises(ValueError, match=f"a constant has {message}"):
        evaluated([Const(1.0, FLOAT32), node], np.zeros(2, np.float32))
