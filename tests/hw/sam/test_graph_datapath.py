from __future__ import annotations

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.graph_datapath import check_graph, hint_of
from gnarl.hw.sam.memory_map import memory_map, settings_rows
from gnarl.hw.sam.top import build
from gnarl.hw.sam.unit import settings_of
from tests.hw.sam.graphs import DENSE, DOUBLE, INTERSECTION, graph, small


def test_the_hint_is_that_of_the_lane():
    assert hint_of(INTERSECTION["b"], INTERSECTION) == ("both", "hint0")
    assert hint_of(INTERSECTION["c"], INTERSECTION) == ("both", "hint1")


def replaced(graph: Graph, *edges: str) -> Graph:
    """With these edges in place of those into the same inputs."""
    entry = graph.to_dict()
    new = [edge.split(" -> ") for edge in edges]
    targets = [target for _, target in new]
    entry["edges"] = [edge for edge in entry["edges"] if edge[1] not in targets] + new
    return Graph.from_dict(entry)


@pytest.mark.parametrize(
    "edges",
    [
        ["b.out_crd -> write.crd"],
        ["b.out_crd -> both.crd1", "c.out_crd -> both.crd0"],
        ["b.out_ref -> cvals.ref"],
        ["c.out_crd -> both.crd0", "c.out_ref -> both.ref0"],
    ],
    ids=["other reader", "crossed", "ref elsewhere", "no reader"],
)
def test_a_lookup_skips_only_what_one_intersection_alone_reads(edges):
    wrong = replaced(INTERSECTION, *edges)
    with pytest.raises(ConfigError) as caught:
        build(small(wrong))
    assert str(caught.value) == (
        "block b: skip = True: its out_crd and out_ref must go to one lane of an intersect, "
        "and nowhere else"
    )
    check_graph(small(wrong, skip=False))


def test_graphs_that_never_start_or_end():
    nothing = graph({"root": "root", "i": DENSE}, ["root.out_ref -> i.ref"])
    with pytest.raises(ConfigError) as caught:
        check_graph(small(nothing))
    assert str(caught.value) == "graph: no fiberwrite and no valwrite: nothing would end"
    loop = graph(
        {"add": "alu", "write": "valwrite"},
        ["add.out_val -> add.val0", "add.out_val -> add.val1", "add.out_val -> write.val"],
    )
    with pytest.raises(ConfigError) as caught:
        check_graph(small(loop))
    assert str(caught.value) == "graph: no root: nothing would start"


def test_a_configuration_without_a_graph_is_no_machine():
    with pytest.raises(ConfigError) as caught:
        build(SamConfig())
    assert (
        str(caught.value)
        == "graph: missing, and no fabric: must have one of them, or an expression"
    )


def test_bitvectors_need_wide_references():
    bitvector = graph(
        {"root": "root", "i": "bitvectorlookup", "e": "bitvectorexpand", "w": "fiberwrite"},
        [
            "root.out_ref -> i.ref",
            "i.out_bv -> e.bv",
            "i.out_ref -> e.ref",
            "e.out_crd -> w.crd",
        ],
    )
    with pytest.raises(ConfigError) as caught:
        build(small(bitvector))
    assert str(caught.value) == (
        "block i: index_bits = 8: must be 32 for a bitvector level, whose rows hold its words"
    )


def test_functions_need_floats():
    with pytest.raises(ConfigError) as caught:
        build(small(None, fabric={"root": 1, "valwrite": 1, "function_exp": 1}))
    assert str(caught.value) == ("block function_exp: format = 'fixed8.0': exp is not supported")


def test_windows_and_counters():
    found = memory_map(small(INTERSECTION, format="float16", index_bits=12))
    assert [(each.name, each.rows, each.words, each.word_bits) for each in found.windows] == [
        ("settings", 1, 1, 12),
        ("b_seg", 32, 2, 12),
        ("b_crd", 32, 1, 12),
        ("c_seg", 32, 2, 12),
        ("c_crd", 32, 1, 12),
        ("bvals_vals", 32, 1, 16),
        ("cvals_vals", 32, 1, 16),
        ("write_seg", 32, 2, 12),
        ("write_crd", 32, 1, 12),
        ("vals_vals", 32, 1, 16),
    ]
    assert found.counters[:3] == ("tokens_root_out_ref", "tokens_b_out_crd", "tokens_b_out_ref")
    assert [name for name in found.counters if name.startswith("reads_")] == [
        "reads_b_seg",
        "reads_b_crd",
        "reads_c_seg",
        "reads_c_crd",
        "reads_bvals_vals",
        "reads_cvals_vals",
    ]
    assert "stalls_mul" in found.counters
    assert found.counters[-3:] == ("write_fibers", "write_entries", "vals_entries")


def test_outputs_that_nobody_reads_have_no_counter():
    assert "tokens_i_out_crd" not in memory_map(small(DOUBLE)).counters


def test_settings_are_in_the_graph_s_order():
    assert settings_of(DOUBLE.blocks) == [("i", "size")]
    assert settings_rows(small(DOUBLE)) == [("i", "size")]
