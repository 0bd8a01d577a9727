from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, ConfigError, ProgramError
from gnarl.hw.sam.block_types import BLOCK_TYPES, MAX_LANES, SUM_LANES
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import UNIT_TYPES, decode, encode, fields, pool
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import memory_map, settings_rows
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.parser import parse
from tests.hw.sam.graphs import DOUBLE, INTERSECTION, STUCK, SUMMED_BY_CRD, graph, small

SMALL = {"root": 1, "fiberlookup": 2, "intersect": 1, "arrayvals": 2, "alu": 1} | {
    "fiberwrite": 1,
    "valwrite": 1,
}
ENOUGH = {name: 8 for name, kind in UNIT_TYPES.items() if "lanes" not in kind.blocks[0].parameters}


def fabric(units: dict[str, int] | None = None) -> SamConfig:
    return small(None, fabric=units or SMALL)


def shape(graph: Graph, names: dict[str, str]) -> tuple[dict, set]:
    """Types and operations by name, and edges, with ``names`` for blocks."""
    blocks = {}
    for block in graph.blocks:
        kept = ["format", "op", "order", "full0", "lanes"]
        if block.parameters.get("format") != "dense":
            kept.append("keep_empty")
        values = {key: value for key, value in block.parameters.items() if key in kept}
        blocks[names[block.name]] = (block.type, values)
    edges = {
        (names[edge.source], edge.output, names[edge.target], edge.input) for edge in graph.edges
    }
    return blocks, edges


BY_HAND = {
    "double": DOUBLE,
    "intersection": INTERSECTION,
    "stuck": STUCK,
    "summed by crd": SUMMED_BY_CRD,
}


@pytest.mark.parametrize("kernel", [*SUITE, *BY_HAND])
def test_a_configuration_says_what_the_graph_says(kernel):
    graph = BY_HAND[kernel] if kernel in BY_HAND else lower(parse(SUITE[kernel]))
    config = fabric(ENOUGH | {"crdparallelizer_2": 1, "crdparallelizer_4": 1})
    encoded = encode(graph, config)
    decoded = decode(encoded.words, config)
    own = {block.name: block.name for block in decoded.blocks}
    assert shape(decoded, own) == shape(graph, encoded.units)
    assert shape(encoded.graph, own) == shape(graph, encoded.units)


def test_blocks_become_the_first_units_of_their_type():
    encoded = encode(INTERSECTION, fabric())
    assert encoded.units == {
        "root": "root_0",
        "b": "fiberlookup_0",
        "c": "fiberlookup_1",
        "both": "intersect_0",
        "bvals": "arrayvals_0",
        "cvals": "arrayvals_1",
        "mul": "alu_0",
        "write": "fiberwrite_0",
        "vals": "valwrite_0",
    }


def test_a_graph_that_needs_more_says_of_what():
    with pytest.raises(CapacityError) as caught:
        encode(STUCK, fabric(SMALL | {"alu": 0}))
    assert str(caught.value) == (
        "graph: needs 1 of repsiggen, the fabric has 0; 1 of repeat_values, the fabric has 0; "
        "1 of alu, the fabric has 0; 1 of reduce_add, the fabric has 0"
    )


def units_of(graph: Graph, **units: int) -> dict[str, str]:
    return encode(graph, fabric(SMALL | {"reduce_add": 1, "repsiggen": 1} | units)).units


def test_values_go_through_units_that_carry_them():
    """``STUCK`` repeats a value."""
    assert units_of(STUCK, repeat=1, repeat_values=1)["sums"] == "repeat_values_0"
    with pytest.raises(CapacityError, match="needs 1 of repeat_values, the fabric has 0"):
        units_of(STUCK, repeat=1)


def test_units_that_carry_values_carry_references_too():
    assert units_of(INTERSECTION, intersect_values=1)["both"] == "intersect_0"
    assert units_of(INTERSECTION, intersect=0, intersect_values=1)["both"] == "intersect_values_0"


def test_streams_that_need_deeper_queues_than_the_fabric_s():
    config = fabric()
    deep = DOUBLE.with_depths({("i", "ref"): 2, ("add", "val1"): config.queue_depth})
    assert encode(deep, config).graph == encode(DOUBLE, config).graph
    with pytest.raises(CapacityError) as caught:
        encode(deep.with_depths({("add", "val1"): 5}), config)
    assert str(caught.value) == (
        "graph: edge vals.out_val -> add.val1: depth = 5: must be at most 4, queue_depth of the "
        "fabric"
    )


def test_a_way_that_no_fabric_has():
    wrong = graph(
        {"root": "root", "i": "fiberlookup", "v": "arrayvals", "w": "valwrite"},
        ["root.out_ref -> i.ref", "i.out_crd -> v.ref", "v.out_val -> w.val"],
    )
    with pytest.raises(CapacityError) as caught:
        encode(wrong, fabric())
    assert str(caught.value) == "graph: edge i.out_crd -> v.ref: the fabric has no such connection"


@pytest.mark.parametrize(
    "units, text",
    [
        ({"lookup": 1}, "fabric: no unit 'lookup'; there are " + ", ".join(UNIT_TYPES)),
        (SMALL | {"alu": -1}, "fabric: alu = -1: must be a whole number from 0 to 255"),
        (SMALL | {"alu": 1.5}, "fabric: alu = 1.5: must be a whole number from 0 to 255"),
        (
            {"root": 1, "alu": 3},
            "fabric: it must have at least one root and one fiberwrite or valwrite",
        ),
    ],
)
def test_pools_that_are_none(units, text):
    with pytest.raises(ConfigError) as caught:
        memory_map(fabric(units))
    assert str(caught.value) == text


def test_words_that_mean_nothing():
    config = fabric()
    words = encode(DOUBLE, config).words
    with pytest.raises(ProgramError) as caught:
        decode(words[:-1], config)
    assert str(caught.value) == "configuration: 20 words, the fabric has 21"
    lookup = [field.unit for field in fields(pool(config))].index("fiberlookup_0")
    for offset, word, text in (
        (0, 3, "variant of fiberlookup_0: must be below 3"),
        (1, 99, "source of ref of fiberlookup_0: must be below 5"),
    ):
        wrong = words.copy()
        wrong[lookup + offset] = word
        with pytest.raises(ProgramError) as caught:
            decode(wrong, config)
        assert str(caught.value) == f"configuration: word {lookup + offset} = {word}: {text}"
    with pytest.raises(ProgramError) as caught:
        decode(np.where(words == words[lookup + 1], 0, words), config)
    assert str(caught.value).startswith("configuration: ")


def test_every_type_of_block_is_some_unit():
    assert {kind.block for kind in UNIT_TYPES.values()} == set(BLOCK_TYPES) - {"fold"}


@pytest.mark.parametrize(
    "type, expected",
    [
        ("parallelizer", range(2, MAX_LANES + 1)),
        ("serializer", range(2, MAX_LANES + 1)),
        ("valserializer", range(2, MAX_LANES + 1)),
        ("crdparallelizer", SUM_LANES),
    ],
)
def test_all_numbers_of_lanes_are_units(type, expected):
    lanes = [kind.blocks[0]["lanes"] for kind in UNIT_TYPES.values() if kind.block == type]
    assert lanes == list(expected)


def test_windows_are_those_of_units():
    found = memory_map(fabric())
    assert [window.name for window in found.windows] == [
        "settings",
        "configuration",
        "arrayvals_0_vals",
        "arrayvals_1_vals",
        "valwrite_0_vals",
        "fiberlookup_0_seg",
        "fiberlookup_0_crd",
        "fiberlookup_1_seg",
        "fiberlookup_1_crd",
        "fiberwrite_0_seg",
        "fiberwrite_0_crd",
    ]
    assert found.window("configuration").rows == 21
    assert settings_rows(fabric()) == [("fiberlookup_0", "size"), ("fiberlookup_1", "size")]
