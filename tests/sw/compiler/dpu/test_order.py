from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.order import depth_first, height, users
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import dags
from tests.sw.compiler.dpu.passes import binary_dag, configs

ADD = PeOp.ADD


def group_levels(binary: BinaryDag) -> np.ndarray:
    """Levels of the tree that each group is, at its root's number."""
    levels = np.ones(binary.operations, np.int64)
    for k in range(binary.operations):
        for operand in (int(binary.left[k]), int(binary.right[k])):
            inner = operand - binary.leaves
            if inner >= 0 and binary.group[inner] == binary.group[k]:
                levels[k] = max(levels[k], levels[inner] + 1)
    return levels


@settings(max_examples=25, deadline=None)
@given(dags(max_nodes=500))
def test_users_of_every_value_each_once(dag: Dag):
    binary = binarise(dag, DpuConfig())
    offsets, found = users(binary)
    expected: list[list[int]] = [[] for _ in range(binary.leaves + binary.operations)]
    for k in range(binary.operations):
        for value in dict.fromkeys((int(binary.left[k]), int(binary.right[k]))):
            expected[value].append(k)
    parts = np.split(found, offsets[1:-1])
    assert [sorted(part.tolist()) for part in parts] == expected


@settings(max_examples=25, deadline=None)
@given(dags(max_nodes=300), configs())
def test_height_is_the_longest_path_of_instructions(dag: Dag, config: DpuConfig):
    binary = binarise(dag, config)
    latency = [config.layer_latency(int(level)) for level in group_levels(binary)]
    graph = nx.DiGraph()
    for k in range(binary.operations):
        root = int(binary.group[k])
        graph.add_edge(root, "end", cycles=latency[root])
        for operand in (int(binary.left[k]), int(binary.right[k])):
            below = operand - binary.leaves
            if below >= 0 and binary.group[below] != root:
                graph.add_edge(below, root, cycles=latency[below])
    longest: dict[int | str, int] = {}
    for node in reversed(list(nx.topological_sort(graph))):
        longest[node] = max(
            (edge["cycles"] + longest[user] for user, edge in graph[node].items()), default=0
        )
    expected = [longest[int(root)] for root in binary.group]
    assert height(binary, config).tolist() == expected


def test_height_of_a_chain_of_two_groups():
    # ((a + b) + c) is a group of two levels, then two that stand alone.
    binary = binary_dag(3, [(ADD, 0, 1), (ADD, 3, 2), (ADD, 4, 2), (ADD, 5, 5)], [6], [1, 1, 2, 3])
    config = DpuConfig(depth=2, banks=8, pe_stages=3)
    assert height(binary, config).tolist() == [7 + 4 + 4, 7 + 4 + 4, 4 + 4, 4]


@settings(max_examples=25, deadline=None)
@given(dags(max_nodes=500))
def test_a_depth_first_walk_meets_all_operations_and_operands_first(dag: Dag):
    binary = binarise(dag, DpuConfig())
    place = depth_first(binary)
    assert sorted(place.tolist()) == list(range(binary.operations))
    for side in (binary.left, binary.right):
        computed = side >= binary.leaves
        assert (place[side[computed] - binary.leaves] < place[computed]).all()


def test_a_depth_first_walk_goes_to_the_larger_part_first():
    # Operations 1, 2 and 3 are a chain, 0 stands alone, 4 joins them.
    operations = [(ADD, 0, 1), (ADD, 0, 0), (ADD, 3, 1), (ADD, 4, 1), (ADD, 2, 5), (ADD, 2, 0)]
    binary = binary_dag(2, operations, [6, 7])
    assert depth_first(binary).tolist() == [3, 0, 1, 2, 4, 5]
