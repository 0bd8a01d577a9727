"""Loops dealt to several copies of what lies inside."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.support.sam.models import CONFIG, compiled, run
from tests.sw.compiler.sam.test_lower import DENSITIES, check_random

KERNELS = (
    "mat_elemadd",
    "mat_elemmul",
    "mat_residual",
    "mat_sddmm",
    "mat_sddmm_sparse",
    "mat_vecmul_ij",
    "matmul_ijk",
    "matmul_ikj",
    "tensor3_ttv",
)


@pytest.mark.parametrize("name", KERNELS)
def test_lanes_compute_the_same(name: str) -> None:
    for seed, density in enumerate(DENSITIES):
        for lanes in (2, 3):
            check_random(f"{SUITE[name]} -s=parallelize(i,{lanes})", density, seed, most=6)


def test_loops_inside_others_have_lanes() -> None:
    text = f"{SUITE['tensor3_ttm']} -s=parallelize(j,2)"
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed)


def test_each_lane_has_all_that_lies_inside() -> None:
    graph = lower(parse(f"{SUITE['mat_sddmm']} -s=parallelize(i,4)"))
    found = Counter(block.type for block in graph.blocks)
    assert (found["alu"], found["reduce"], found["arrayvals"]) == (8, 4, 12)
    # References of B, C and D are dealt; each lane has writers of its own.
    assert (found["parallelizer"], found["serializer"]) == (3, 0)
    assert (found["fiberwrite"], found["valwrite"]) == (1 + 4, 4)
    verify(graph)


WRITTEN = [
    "X(i,j)=B(i,k)*C(k,j) -f=X:d{0} -f=B:ds -f=C:{1}{0} -s=reorder(i,k,j)".format(*levels)
    for levels in ("sd", "ss", "dd", "bd")
] + [
    f"X(i,j,k)=B(i,j,k) -f=X:{levels} -f=B:{levels}"
    for levels in ("sss", "dss", "dds", "dsd", "bbb", "dbs", "sds", "ddd")
]


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("index", "ij")
def test_lanes_have_writers(text: str, index: str) -> None:
    """Of levels further in than what is dealt, whatever is empty."""
    if index == "j" and "reorder" in text:
        return
    for lanes in (2, 3):
        dealt = f"{text} -s=parallelize({index},{lanes})"
        assert sum(block.type == "valwrite" for block in lower(parse(dealt)).blocks) == lanes
        for seed, density in enumerate(DENSITIES):
            check_random(dealt, density, seed, most=6)


def test_one_writer_has_what_coordinates_are_dropped_of() -> None:
    dropped = f"{SUITE['mat_elemmul']} -s=parallelize(i,2)"
    shared = parallelize(lower(parse(WRITTEN[0])), "i", 2, with_writers=False)
    for graph in (lower(parse(dropped)), shared):
        verify(graph)
        assert sum(block.type == "valwrite" for block in graph.blocks) == 1


def test_lanes_of_lanes_share_writers() -> None:
    """What lanes of an inner loop make is put together for the writers of an outer one's lane."""
    text = "X(i,j,k)=B(i,j,k) -f=X:dss -f=B:dss -s=parallelize(i,2) -s=parallelize(j,3)"
    found = Counter(block.type for block in lower(parse(text)).blocks)
    assert (found["valwrite"], found["serializer"]) == (2, 4)
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed, most=6)


@pytest.mark.parametrize("loops", [(("i", 2), ("j", 3)), (("j", 2), ("i", 2))])
def test_lanes_of_two_loops(loops: tuple[tuple[str, int], ...]) -> None:
    lanes = " ".join(f"-s=parallelize({index},{count})" for index, count in loops)
    for name in ("mat_sddmm", "mat_sddmm_sparse", "matmul_ijk"):
        for seed, density in enumerate(DENSITIES):
            check_random(f"{SUITE[name]} {lanes}", density, seed, most=6)


@pytest.mark.parametrize(("queue_depth", "depth"), [(2, 10), (9, 10), (32, None)])
def test_what_waits_for_lanes_has_room_for_a_turn(queue_depth: int, depth: int | None) -> None:
    """Of four units, each with a stop: a lane sees the end of one by the next one it is dealt."""
    dealt = parallelize(lower(parse(SUITE["mat_vecmul_ij"])), "i", 4, queue_depth)
    found = {(edge.target, edge.input): edge.depth for edge in dealt.edges}
    merge = next(block.name for block in dealt.blocks if block.type == "valserializer")
    assert found[merge, "crd"] == found["write_x_i", "crd"] == depth


@pytest.mark.parametrize(
    "lanes", [(("m", 18), ("l", 2)), (("l", 2), ("m", 18)), (("l", 4), ("m", 5))]
)
@pytest.mark.parametrize("queue_depth", [2, 32])
def test_a_turn_inside_a_lane_is_as_many_of_its_turns(
    lanes: tuple[tuple[str, int], ...], queue_depth: int
) -> None:
    """Rows of few units: a lane of m ends a row once 18 units more are dealt, of as many rows."""
    text = "t(l)=max[m](max[k](A(l,m,k))) -f=A:dss -f=t:d"
    rng = np.random.default_rng(5)
    tensors = {"A": rng.random((150, 3, 4)) * (rng.random((150, 3, 4)) < 0.5)}
    config = replace(CONFIG, queue_depth=queue_depth)
    program = compiled(text, tensors, [Region(("t",), lanes=lanes)], config=config)
    done = run(program, tensors, is_timed=True)
    np.testing.assert_array_equal(done.got["t"], done.meant["t"])


@pytest.mark.parametrize("order", ["i,k", "k,i"])
def test_lanes_of_a_loop_in_lanes_around_an_accumulator(order: str) -> None:
    """Lanes of the inner loop are put together inside of a lane of the outer one."""
    lanes = " ".join(f"-s=parallelize({index},2)" for index in order.split(","))
    text = f"{SUITE['matmul_ikj']} {lanes}"
    verify(lower(parse(text)))
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed, most=6)


def test_lanes_have_the_depths_of_what_they_are_copies_of() -> None:
    graph = lower(parse(SUITE["mat_vecmul_ij"]))
    depths = {(edge.target, edge.input): 8 + place for place, edge in enumerate(graph.edges)}
    dealt = parallelize(graph.with_depths(depths), "i", 2)
    found = {(edge.target.removesuffix("_lane1"), edge.input): edge.depth for edge in dealt.edges}
    assert {key: depth for key, depth in found.items() if key in depths}.items() <= depths.items()
    assert {depth for depth in found.values() if depth is not None} == set(depths.values())
    assert {key[0].split("_")[0] for key, depth in found.items() if depth is None} <= {
        "deal",
        "merge",
    }


def test_each_lane_has_the_sums_over_all_that_lies_inside() -> None:
    graph = lower(parse(f"{SUITE['mat_vecmul_ij']} -s=parallelize(i,2)"))
    found = Counter(block.type for block in graph.blocks)
    assert (found["reduce"], found["valserializer"], found["serializer"]) == (2, 1, 0)
    # The coordinates that say whose turn it is are those that are dealt.
    merge = next(block.name for block in graph.blocks if block.type == "valserializer")
    crd = graph.drivers[merge, "crd"]
    readers = {graph[edge.target].type for edge in graph.readers[crd.source, crd.output]}
    assert {"valserializer", "parallelizer"} <= readers
    verify(graph)


@pytest.mark.parametrize("name", ["mat_sddmm", "mat_sddmm_sparse", "matmul_ijk", "tensor3_ttv"])
def test_sums_of_loops_inside_others(name: str) -> None:
    for seed, density in enumerate(DENSITIES):
        for lanes in (2, 3):
            check_random(f"{SUITE[name]} -s=parallelize(j,{lanes})", density, seed, most=6)


def test_results_deeper_inside_cannot_be_put_together() -> None:
    with refused(
        "parallelize(i,2): drop_j_k.out_inner -> write_X_k.crd lies 2 loops inside the loop over "
        "i; only streams one loop inside can be put together again, take an index further inside"
    ):
        lower(parse(f"{SUITE['tensor3_elemmul']} -s=parallelize(i,2)"))


def test_something_must_lie_inside() -> None:
    graph = lower(parse(SUITE["vec_identity"]))
    with refused("parallelize(i,2): no block lies inside the loop over i"):
        parallelize(graph, "i", 2)


def test_what_an_accumulator_takes_is_dealt_and_what_it_gives_is_not() -> None:
    text = "X(l,k)=B(l,k)+C(i,l,k) -f=C:sss -f=B:ss -s=reorder(i,l,k) -s=parallelize(l,2)"
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed)
