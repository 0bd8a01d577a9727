from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.cone import (
    AWAY,
    EMPTY,
    LEAF,
    NOT_READY,
    OPERATION,
    expand,
    inner_uses,
    is_first,
    level_of,
    neighbours,
    position,
)
from gnarl.sw.compiler.dpu.state import (
    NONE,
    Graph,
    Locations,
    Values,
    graph,
    new_scratch,
    new_values,
)
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import dags
from tests.sw.compiler.dpu.passes import binary_dag

ADD, MUL = PeOp.ADD, PeOp.MUL
CYCLE = 10

SHARED = binary_dag(2, [(ADD, 0, 1), (MUL, 2, 0), (MUL, 2, 1), (ADD, 3, 4)], [5])
"""s = a + b, then s a + s b: operation 0 has two users below the root 3."""


def fresh(binary: BinaryDag) -> tuple[Graph, Values]:
    found = graph(binary)
    return found, new_values(found, 8, 8)


def in_register(binary: BinaryDag, values: Values, value: int, location: int) -> None:
    values.done[value - binary.leaves] = True
    values.location[value] = location


def laid_out(
    binary: BinaryDag, values: Values, root: int, depth: int
) -> tuple[int, list[tuple[int, int, int]]]:
    """What ``expand`` returns, and ``(place, kind, node)`` of the places that are not empty."""
    cone = new_scratch(depth, 8)
    cone.kind[:], cone.node[:] = 7, 7
    levels = expand(graph(binary), values, cone, CYCLE, root, depth)
    places = np.flatnonzero(cone.kind != EMPTY)
    return levels, [(int(p), int(cone.kind[p]), int(cone.node[p])) for p in places]


def by_definition(
    binary: BinaryDag, values: Values, root: int, depth: int
) -> tuple[int, list[tuple[int, int, int]] | None]:
    """The same, place by place; no layout where the cone cannot run."""
    places: list[tuple[int, int, int]] = []
    away = False

    def visit(value: int, place: int, level: int) -> int:
        """Levels below the root that this part needs; NOT_READY if it cannot run."""
        nonlocal away
        operation = value - binary.leaves
        if operation < 0 or values.done[operation]:
            if operation >= 0 and values.location[value] == NONE:
                if values.row[value] == NONE:
                    return NOT_READY
                away = True
            elif operation >= 0 and values.ready[value] > CYCLE:
                return NOT_READY
            places.append((place, LEAF, value))
            return level
        if level == depth:
            return NOT_READY
        places.append((place, OPERATION, operation))
        sides = (int(binary.left[operation]), int(binary.right[operation]))
        found = [visit(side, 2 * place + k, level + 1) for k, side in enumerate(sides)]
        return NOT_READY if NOT_READY in found else max(found)

    levels = visit(binary.leaves + root, 1, 0)
    if levels != NOT_READY and away:
        return AWAY, None
    return levels, None if levels == NOT_READY else sorted(places)


@settings(max_examples=50, deadline=None)
@given(dags(max_nodes=200), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_cones_are_laid_out_as_the_tree_is(dag: Dag, depth: int, seed: int):
    binary = binarise(dag, DpuConfig(depth=depth, banks=16))
    _, values = fresh(binary)
    random = np.random.default_rng(seed)
    # Some operations are done; of their values some are gone, some in memory, some on the way.
    done = int(random.integers(binary.operations + 1))
    for value in range(binary.leaves, binary.leaves + done):
        in_register(binary, values, value, int(random.integers(50)))
        values.ready[value] = random.choice([0, CYCLE, CYCLE + 1], p=[0.8, 0.15, 0.05])
        if random.random() < 0.1:
            values.location[value] = NONE
            values.row[value] = random.choice([0, NONE])
    for root in range(done, min(binary.operations, done + 50)):
        levels, places = laid_out(binary, values, root, depth)
        expected_levels, expected_places = by_definition(binary, values, root, depth)
        assert levels == expected_levels
        if expected_places is not None:
            assert places == expected_places


def test_a_shared_operation_stands_at_two_places():
    _, values = fresh(SHARED)
    levels, places = laid_out(SHARED, values, 3, 3)
    assert levels == 3
    assert places == [
        (1, OPERATION, 3),
        (2, OPERATION, 1),
        (3, OPERATION, 2),
        (4, OPERATION, 0),
        (5, LEAF, 0),
        (6, OPERATION, 0),
        (7, LEAF, 1),
        (8, LEAF, 0),
        (9, LEAF, 1),
        (12, LEAF, 0),
        (13, LEAF, 1),
    ]


def test_a_cone_deeper_than_the_tree_cannot_run():
    _, values = fresh(SHARED)
    assert laid_out(SHARED, values, 3, 2)[0] == NOT_READY
    in_register(SHARED, values, 2, 0)
    assert laid_out(SHARED, values, 3, 2)[0] == 2


def test_a_value_on_its_way_cannot_be_read_yet():
    _, values = fresh(SHARED)
    in_register(SHARED, values, 2, 0)
    values.ready[2] = CYCLE + 1
    assert laid_out(SHARED, values, 1, 2)[0] == NOT_READY
    values.ready[2] = CYCLE
    assert laid_out(SHARED, values, 1, 2)[0] == 1


def test_a_value_in_memory_is_away_unless_something_else_is_missing_too():
    binary = binary_dag(2, [(ADD, 0, 1), (MUL, 0, 1), (ADD, 2, 3)], [4])
    _, values = fresh(binary)
    values.done[:2] = True
    values.row[2] = 5
    assert laid_out(binary, values, 2, 2)[0] == NOT_READY
    in_register(binary, values, 3, 0)
    assert laid_out(binary, values, 2, 2)[0] == AWAY


@pytest.mark.parametrize(
    ("place", "level"), [(1, 0), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (31, 4)]
)
def test_level_of(place: int, level: int):
    assert level_of(place) == level


@pytest.mark.parametrize(
    ("place", "levels", "expected"),
    [(1, 1, (1, 0)), (2, 1, (0, 0)), (3, 1, (0, 1)), (3, 3, (2, 4)), (13, 3, (0, 5))],
)
def test_position(place: int, levels: int, expected: tuple[int, int]):
    assert position(place, levels) == expected


def test_inner_uses_count_different_operations():
    found, values = fresh(SHARED)
    cone = new_scratch(3, 8)
    expand(found, values, cone, CYCLE, 3, 3)
    assert [inner_uses(found, cone, 16, operation) for operation in range(4)] == [2, 1, 1, 0]
    firsts = [place for place in range(1, 16) if cone.kind[place] and is_first(cone, place)]
    # Operation 0 at 4, not at 6; input 0 at 5, input 1 at 7.
    assert firsts == [1, 2, 3, 4, 5, 7]


def test_both_operands_the_same_are_one_inner_use():
    binary = binary_dag(2, [(ADD, 0, 1), (MUL, 2, 2)], [3])
    found, values = fresh(binary)
    cone = new_scratch(2, 8)
    assert expand(found, values, cone, CYCLE, 1, 2) == 2
    assert inner_uses(found, cone, 8, 0) == 1


def weights(binary: BinaryDag, values: Values, value: int) -> dict[int, int]:
    """Banks that hold what is read together with ``value``; location ``l`` stands in bank l."""
    banks = 8
    locations = Locations(np.zeros(banks, np.int32), np.arange(banks, dtype=np.uint8))
    weight = np.zeros(banks, np.int64)
    neighbours(graph(binary), values, locations, new_scratch(1, banks), value, weight)
    return {bank: int(weight[bank]) for bank in np.flatnonzero(weight)}


def test_neighbours_are_what_the_same_groups_read():
    # Values 2, 3, 4 are computed; (2 * 3) + 4 is one group, 2 + 3 another.
    operations = [(ADD, 0, 1), (MUL, 0, 1), (MUL, 0, 0), (MUL, 2, 3), (ADD, 5, 4), (ADD, 2, 3)]
    binary = binary_dag(2, operations, [6, 7], [0, 1, 2, 4, 4, 5])
    _, values = fresh(binary)
    for value, bank in ((2, 5), (3, 6), (4, 7)):
        in_register(binary, values, value, bank)
    assert weights(binary, values, 2) == {6: 2, 7: 1}
    assert weights(binary, values, 4) == {5: 1, 6: 1}
    values.done[5] = True
    assert weights(binary, values, 2) == {6: 1, 7: 1}
    values.done[3:5] = True
    assert weights(binary, values, 2) == {}


def test_neighbours_of_four_users_are_enough():
    operations = [(ADD, 0, 1)] + [(MUL, 0, 1)] * 6 + [(ADD, 2, 3 + k) for k in range(6)]
    binary = binary_dag(2, operations, list(range(9, 15)))
    _, values = fresh(binary)
    in_register(binary, values, 2, 7)
    for k in range(6):
        in_register(binary, values, 3 + k, k)
    assert weights(binary, values, 2) == {0: 1, 1: 1, 2: 1, 3: 1}
