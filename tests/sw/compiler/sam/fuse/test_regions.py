"""Regions that are made of layers, and cut where they have no graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions, regions_of
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.errors import refused

CHAIN = parse_program("a(i)=x(i)*3; t(i,j)=a(i)*2; y(i)=sum[j](t(i,j)); z(i)=y(i)*2")
REFUSAL = (
    "index j of t(i,j) is in no tensor that the region takes or writes: cut the region behind t"
)


@pytest.mark.parametrize(
    ("fusion", "regions"),
    [
        ("full", [("a", "b", "c", "d")]),
        ("layer", [("a", "b"), ("c", "d")]),
        ("none", [("a",), ("b",), ("c",), ("d",)]),
    ],
)
def test_statements_of_a_layer_share_a_region(fusion: str, regions: list[tuple[str]]) -> None:
    program = parse_program("a(i)=exp(x(i)); b(i)=exp(a(i)); c(i)=exp(b(i)); d(i)=exp(c(i))")
    layers = {"a": "one", "b": "one", "c": "two", "d": "two"}
    statements = tuple(replace(each, layer=layers[each.name]) for each in program.statements)
    found = regions_of(replace(program, statements=statements), fusion)
    assert [each.statements for each in found] == regions


def test_a_region_is_cut_behind_the_longest_beginning_that_has_a_graph() -> None:
    (region,) = regions_of(CHAIN, "full")
    first, second = lower_regions(Fusion(CHAIN, (region,), may_cut=True))
    assert [first.region.statements, second.region.statements] == [("a", "t"), ("y", "z")]
    assert first.remarks == (f"cut behind t: {REFUSAL}",)
    assert second.remarks == ()


@pytest.mark.parametrize("place", ["", "s.toml: region 1: "])
def test_a_region_that_may_not_be_cut_is_refused(place: str) -> None:
    region = Region(("a", "t", "y", "z"), place=place)
    with refused(f"{place}{REFUSAL}"):
        lower_regions(Fusion(CHAIN, (region,)))


def test_a_region_may_be_cut_into_single_statements() -> None:
    program = parse_program("t(i,j)=a(i)*2; y(i)=sum[j](t(i,j))")
    lowered = lower_regions(Fusion(program, (Region(("t", "y")),), may_cut=True))
    assert [each.region.statements for each in lowered] == [("t",), ("y",)]
    program = parse_program("y(j,k,l)=sum[i](A(i,j,k,l)) -f=A:ssss")
    with pytest.raises(WorkloadError, match="a sparse accumulator holds at most 2 indices"):
        lower_regions(Fusion(program, (Region(("y",)),), may_cut=True))
