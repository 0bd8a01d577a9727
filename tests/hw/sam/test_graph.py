"""What a graph knows of its streams."""

from __future__ import annotations

import json

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.sam.graph import Graph
from tests.hw.sam.graphs import DOUBLE, graph

MATRIX = graph(
    {
        "root": "root",
        "i": ("fiberlookup", {"index": "i"}),
        "j": ("fiberlookup", {"index": "j"}),
        "nameless": "fiberlookup",
        "hold": "crdhold",
        "vals": "arrayvals",
        "write": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "root.out_ref -> nameless.ref",
        "i.out_ref -> j.ref",
        "i.out_crd -> hold.outer",
        "j.out_crd -> hold.inner",
        "j.out_ref -> vals.ref",
        "vals.out_val -> write.val",
    ],
)


def test_the_index_of_a_stream_is_its_block_s_or_that_of_what_the_block_reads():
    outputs = {
        ("i", "out_crd"): "i",
        ("j", "out_ref"): "j",
        ("hold", "out_outer"): "i",
        ("hold", "out_inner"): "j",
        ("root", "out_ref"): "",
        ("nameless", "out_crd"): "",
    }
    assert {output: MATRIX.index_of(*output) for output in outputs} == outputs


def test_kinds_of_streams():
    outputs = {
        ("root", "out_ref"): "ref",
        ("i", "out_crd"): "crd",
        ("hold", "out_outer"): "crd",
        ("vals", "out_val"): "val",
    }
    assert {output: MATRIX.kind_of_stream(*output) for output in outputs} == outputs


def test_edges_join_the_blocks_of_their_streams():
    edges = {
        (*ends, data["output"], data["input"]) for *ends, data in MATRIX.networkx().edges.data()
    }
    assert edges == {
        ("root", "i", "out_ref", "ref"),
        ("root", "nameless", "out_ref", "ref"),
        ("i", "j", "out_ref", "ref"),
        ("i", "hold", "out_crd", "outer"),
        ("j", "hold", "out_crd", "inner"),
        ("j", "vals", "out_ref", "ref"),
        ("vals", "write", "out_val", "val"),
    }


def test_depths_are_in_json_where_they_are_given():
    plain = DOUBLE.to_dict()
    assert plain["edges"][3:] == [["vals.out_val", "add.val1"], ["add.out_val", "write.val"]]
    assert Graph.from_dict(json.loads(json.dumps(plain))) == DOUBLE
    deep = DOUBLE.with_depths({("add", "val1"): 1 << 16, ("nobody", "val"): 7})
    entry = deep.to_dict()
    assert entry["edges"][3:] == [["vals.out_val", "add.val1", 65536], plain["edges"][4]]
    assert entry["edges"][:3] == plain["edges"][:3]
    assert Graph.from_dict(json.loads(json.dumps(entry))) == deep
    assert deep != DOUBLE
    assert deep.with_depths({("write", "val"): 2}).drivers["add", "val1"].depth == 1 << 16


@pytest.mark.parametrize("depth, text", [(1, "1"), (65537, "65537"), (True, "True"), ("9", "'9'")])
def test_depths_that_no_queue_has(depth, text):
    entry = DOUBLE.to_dict()
    entry["edges"][3].append(depth)
    with pytest.raises(ConfigError) as caught:
        Graph.from_dict(entry)
    assert str(caught.value) == (
        f"edge vals.out_val -> add.val1: depth = {text}: must be a whole number from 2 to 65536"
    )
