"""Levels of results, from rows that writers record: which are fibers, and which only stops."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.passes import mark_empty_fibers
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.sam.written import written_tensor
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, BitvectorLevel, CompressedLevel
from tests.support.sam.graphs import drops, without

Lists = list[list[int]]


def written(
    levels: str, *rows: Lists, gone: tuple[str, ...] | None = None
) -> list[tuple[list[int], list[int]]]:
    """Segments and coordinates of each compressed or bitvector level, without the drops called
    ``gone``, all by default; ``rows``: the fibers that each of their writers records."""
    indices = ",".join("ijkl"[: len(levels)])
    text = f"X({indices})=B({indices})*C({indices})"
    compressed = "s" * len(levels)
    graph = lower(parse(f"{text} -f=X:{compressed} -f=B:{compressed} -f=C:{compressed}"))
    names = frozenset(drops(graph) if gone is None else gone)
    graph = mark_empty_fibers(stored_as(levels, without(graph, names)))
    memory = {"write_X_vals_vals": as_rows([])}
    stored = [at for at, letter in enumerate(levels) if letter != "d"]
    for at, fibers in zip(stored, rows, strict=True):
        memory |= recorded(f"write_X_{'ijkl'[at]}", levels[at], fibers)
    format = parse(f"{text} -f=X:{levels}").formats["X"]
    found, _ = written_tensor(graph, "X", format, (4,) * len(levels), memory)
    return [shown(level) for level in found if _is_stored(level)]


def stored_as(levels: str, graph: Graph) -> Graph:
    """With a result of these levels; of one that is dense, writers record nothing."""
    blocks = []
    for block in graph.blocks:
        parameters = dict(block.parameters)
        if block.type == "fiberwrite":
            parameters["format"] = LEVEL_FORMATS[levels[block["level"]]]
        blocks.append(Block(block.name, block.type, parameters))
    return Graph(tuple(blocks), graph.edges)


def _is_stored(level: object) -> bool:
    return isinstance(level, CompressedLevel | BitvectorLevel)


def recorded(writer: str, letter: str, fibers: Lists) -> dict[str, Rows]:
    if letter == "b":
        # How many ones there are before a word, nobody asks.
        return {f"{writer}_bv": as_rows([[sum(1 << crd for crd in fiber), 0] for fiber in fibers])}
    ends = np.cumsum([len(fiber) for fiber in fibers]).astype(np.int64)
    return {
        f"{writer}_seg": as_rows(np.stack([np.append(0, ends)[:-1], ends], axis=1)),
        f"{writer}_crd": as_rows([[crd] for fiber in fibers for crd in fiber]),
    }


def as_rows(words: object) -> Rows:
    array = np.array(words, np.uint32)
    return Rows(np.arange(len(array)), array)


def shown(level: object) -> tuple[list[int], list[int]]:
    if isinstance(level, CompressedLevel):
        return level.segments.tolist(), level.coordinates.tolist()
    assert isinstance(level, BitvectorLevel)
    return [], level.words.tolist()


def test_a_stop_below_an_empty_fiber_is_no_fiber() -> None:
    # i 0 and 2; none of j below the first, 1 and 3 below the second; k 0 below the latter.
    found = written("sss", [[0, 2]], [[], [1, 3]], [[], [], [0]])
    assert found == [([0, 2], [0, 2]), ([0, 0, 2], [1, 3]), ([0, 0, 1], [0])]


def test_four_levels() -> None:
    found = written("ssss", [[0, 1]], [[], [2]], [[], [0, 3]], [[], [], [1]])
    assert found[2:] == [([0, 2], [0, 3]), ([0, 0, 1], [1])]


def test_bitvectors() -> None:
    found = written("sbb", [[0, 2]], [[], [1, 3]], [[], [], [0]])
    assert found[1:] == [([], [0, 0b1010]), ([], [0, 1])]


def test_dense_levels_between() -> None:
    found = written("sds", [[1]], [[], [0], [], []])
    assert found == [([0, 1], [1]), ([0, 0, 1, 1, 1], [0])]
    found = written("ssds", [[0, 1]], [[], [2]], [[], [], [3], [], []])
    assert found == [([0, 2], [0, 1]), ([0, 0, 1], [2]), ([0, 0, 1, 1, 1], [3])]


def test_empty_results() -> None:
    assert written("sss", [[]], [[]], [[]]) == [([0, 0], []), ([0], []), ([0], [])]
    assert written("ssds", [[]], [[]], [[]])[2] == ([0], [])
    assert written("dss", [[], [], [], []], [[], [], [], []])[1] == ([0], [])
    nothing_dropped: tuple[str, ...] = ()
    assert written("sss", [[]], [], [], gone=nothing_dropped)[1:] == [([0], []), ([0], [])]


def test_fibers_whose_coordinates_are_dropped() -> None:
    # k recorded the fiber of a j that is gone, and what stands for it in l.
    found = written(
        "ssss", [[0]], [[1]], [[], [2, 3]], [[], [], [0]], gone=("drop_k_l", "drop_i_j")
    )
    assert found[2:] == [([0, 2], [2, 3]), ([0, 0, 1], [0])]


@pytest.mark.parametrize("rows", [[[0, 2]], [[0, 2], [], [1]]])
def test_fibers_that_are_not_those_of_the_level_around(rows: Lists) -> None:
    with pytest.raises(ProgramError, match=r"^write_X_j: wrote \d fibers in \d rows: must be 2, "):
        written("ss", [[0, 1]], rows)


def test_graphs_that_are_compiled_record_what_they_did() -> None:
    graph = lower(parse("X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss"))
    assert mark_empty_fibers(graph) == graph
