"""Loops dealt to several copies of what lies inside."""

from __future__ import annotations

from collections import Counter

import pytest

from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
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
    # References of B, C and D are dealt; coordinates and values of the result come back.
    assert (found["parallelizer"], found["serializer"]) == (3, 2)
    assert found["fiberwrite"] + found["valwrite"] == 3
    verify(graph)


def test_lanes_have_the_depths_of_what_they_are_copies_of() -> None:
    graph = lower(parse(SUITE["mat_vecmul_ij"]))
    depths = {(edge.target, edge.input): 2 + place for place, edge in enumerate(graph.edges)}
    dealt = parallelize(graph.with_depths(depths), "i", 2)
    found = {(edge.target.removesuffix("_lane1"), edge.input): edge.depth for edge in dealt.edges}
    assert {key: depth for key, depth in found.items() if key in depths}.items() <= depths.items()
    assert {depth for depth in found.values() if depth is not None} == set(depths.values())
    assert {key[0].split("_")[0] for key, depth in found.items() if depth is None} <= {
        "deal",
        "merge",
    }


def test_a_sum_over_all_that_is_inside_stays_outside() -> None:
    graph = lower(parse(f"{SUITE['mat_vecmul_ij']} -s=parallelize(i,2)"))
    assert [block.name for block in graph.blocks if block.type == "reduce"] == ["reduce_j"]


def test_results_deeper_inside_cannot_be_put_together() -> None:
    with refused(
        "parallelize(i,2): lookup_B_k.out_crd -> write_X_k.crd lies 2 loops inside the loop over "
        "i; only streams one loop inside can be put together again, take an index further inside"
    ):
        lower(parse(f"{SUITE['tensor3_identity']} -s=parallelize(i,2)"))


def test_something_must_lie_inside() -> None:
    graph = lower(parse(SUITE["vec_identity"]))
    with refused("parallelize(i,2): no block lies inside the loop over i"):
        parallelize(graph, "i", 2)


def test_what_an_accumulator_takes_is_dealt_and_what_it_gives_is_not() -> None:
    text = "X(l,k)=B(l,k)+C(i,l,k) -f=C:sss -f=B:ss -s=reorder(i,l,k) -s=parallelize(l,2)"
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed)
