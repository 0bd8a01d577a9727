"""Every type of block in the model, by example, among them those of the SAM tools."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.runtime.sam.model.streams import BLOCKS
from tests.support.sam.model_block import numbers, run, texts, values


def test_every_type_of_block_is_there():
    assert set(BLOCKS) == set(BLOCK_TYPES)


def test_root():
    assert texts(run("root", {})) == {"out_ref": "0 D"}


@pytest.mark.parametrize(
    "ref, crd, out_ref",
    [
        ("0 S0 S0 1 S1 D", "0 2 S1 S1 1 S2 D", "0 1 S1 S1 2 S2 D"),
        ("0 N 1 S0 D", "0 2 S0 S0 1 S1 D", "0 1 S0 S0 2 S1 D"),
        ("0 D", "0 2 S0 D", "0 1 S0 D"),
        ("S0 D", "S1 D", "S1 D"),
        ("N D", "S0 D", "S0 D"),
    ],
)
def test_compressed_lookup(ref, crd, out_ref):
    done = run("fiberlookup", {"ref": ref}, arrays={"seg": [[0, 2], [2, 3]], "crd": [0, 2, 1]})
    assert texts(done) == {"out_crd": crd, "out_ref": out_ref}


def test_compressed_lookup_of_empty_segments():
    arrays = {"seg": [[0, 2], [2, 2], [2, 3], [3, 3]], "crd": [0, 2, 1]}
    done = run("fiberlookup", {"ref": "0 1 2 3 S0 D"}, arrays=arrays)
    assert texts(done)["out_crd"] == "0 2 S0 S0 1 S0 S1 D"


def test_lookup_in_an_empty_level():
    done = run("fiberlookup", {"ref": "0 D"}, arrays={"seg": [[0, 0]], "crd": []})
    assert texts(done) == {"out_crd": "S0 D", "out_ref": "S0 D"}


def test_dense_lookup():
    dense = {"format": "dense"}
    done = run("fiberlookup", {"ref": "0 1 S0 D"}, dense, settings={"size": 2})
    assert texts(done) == {"out_crd": "0 1 S0 0 1 S1 D", "out_ref": "0 1 S0 2 3 S1 D"}
    done = run("fiberlookup", {"ref": "N 2 S0 S1 D"}, dense, settings={"size": 3})
    assert texts(done) == {"out_crd": "S0 0 1 2 S1 S2 D", "out_ref": "S0 6 7 8 S1 S2 D"}


def test_bitvector_lookup():
    rows = [[0b1011, 0], [0b0101, 3], [0, 5], [0b1000, 5]]
    done = run(
        "bitvectorlookup", {"ref": "1 2 S0 3 S1 D"}, arrays={"bv": rows}, settings={"words": 1}
    )
    assert texts(done) == {"out_bv": "5 S0 0 S1 8 S2 D", "out_ref": "3 S0 5 S1 5 S2 D"}
    done = run("bitvectorlookup", {"ref": "1 N D"}, arrays={"bv": rows}, settings={"words": 2})
    assert texts(done) == {"out_bv": "0 8 S0 S0 D", "out_ref": "5 5 S0 S0 D"}


def test_bitvector_expand():
    done = run("bitvectorexpand", {"bv": "5 2 S0 0 0 S1 S1 D", "ref": "3 5 S0 6 6 S1 S1 D"})
    assert texts(done) == {"out_crd": "0 2 33 S0 S1 S1 D", "out_ref": "3 4 5 S0 S1 S1 D"}


def test_bitvector_joins():
    inputs = {"bv0": "13 S0 D", "ref0": "1 S0 D", "bv1": "12 S0 D", "ref1": "3 S0 D"}
    assert texts(run("bitvectorintersect", inputs)) == {
        "out_crd": "2 3 S0 D",
        "out_ref0": "2 3 S0 D",
        "out_ref1": "3 4 S0 D",
    }
    assert texts(run("bitvectorunion", inputs)) == {
        "out_crd": "0 2 3 S0 D",
        "out_ref0": "1 2 3 S0 D",
        "out_ref1": "N 3 4 S0 D",
    }


def test_locate():
    done = run("locate", {"crd": "0 2 S0 1 S0 D", "ref": "1 1 S0 N S0 D"}, settings={"size": 3})
    assert texts(done) == {"out_ref": "3 5 S0 N S0 D"}


@pytest.mark.parametrize(
    "ref, repsig, expected",
    [
        ("5 6 7 S0 D", "0 0 S0 S0 0 S1 D", "5 5 S0 S0 7 S1 D"),
        ("5 S0 S0 6 S1 D", "0 0 S1 S1 0 S2 D", "5 5 S1 S1 6 S2 D"),
        ("0 D", "0 0 S0 D", "0 0 S0 D"),
        ("5 N S0 D", "0 S0 0 0 S1 D", "5 S0 N N S1 D"),
    ],
)
def test_repeat(ref, repsig, expected):
    assert texts(run("repeat", {"ref": ref, "repsig": repsig})) == {"out_ref": expected}


def test_repeat_signals():
    done = run("repsiggen", {"crd": "7 8 S0 N S0 S1 D"})
    assert texts(done) == {"out_repsig": "0 0 S0 0 S0 S1 D"}


def test_intersect_and_union():
    inputs = {
        "crd0": "0 2 4 S0 D",
        "ref0": "0 1 2 S0 D",
        "crd1": "2 3 S0 D",
        "ref1": "0 1 S0 D",
    }
    assert texts(run("intersect", inputs)) == {
        "out_crd": "2 S0 D",
        "out_ref0": "1 S0 D",
        "out_ref1": "0 S0 D",
    }
    assert texts(run("union", inputs)) == {
        "out_crd": "0 2 3 4 S0 D",
        "out_ref0": "0 1 N 2 S0 D",
        "out_ref1": "N 0 1 N S0 D",
    }


def test_values_array():
    vals = to_words(np.array([10.0, 11.0, 12.0]), "float32")
    done = run("arrayvals", {"ref": "0 N 2 S0 S1 D"}, arrays={"vals": vals})
    assert numbers(done) == "10 0 12 S0 S1 D"
    assert numbers(run("arrayvals", {"ref": "N S0 D"}, arrays={"vals": []})) == "0 S0 D"


@pytest.mark.parametrize(
    "op, expected",
    [
        ("add", "4 0.5 S0 -2 D"),
        ("sub", "-2 -0.5 S0 2 D"),
        ("mul", "3 0 S0 -0 D"),
        ("max", "3 0.5 S0 0 D"),
        ("min", "1 0 S0 -2 D"),
    ],
)
def test_alu(op, expected):
    inputs = {"val0": values("1 N S0 0 D"), "val1": values("3 0.5 S0 -2 D")}
    assert numbers(run("alu", inputs, {"op": op})) == expected


def test_function():
    assert numbers(run("function", {"val": values("-1 2 S0 N D")}, {"op": "relu"})) == "0 2 S0 0 D"
    assert numbers(run("function", {"val": values("1 N S1 D")}, {"op": "exp"})) == "2.71828 1 S1 D"


@pytest.mark.parametrize(
    "val, expected",
    [
        ("1 2 S0 S0 3 S1 4 S2 D", "3 0 3 S0 4 S1 D"),
        ("1 S1 S1 D", "1 S0 0 S0 D"),
        ("S0 D", "0 D"),
        ("1 N 5 S0 D", "6 D"),
    ],
)
def test_reduce(val, expected):
    assert numbers(run("reduce", {"val": values(val)})) == expected


@pytest.mark.parametrize(
    "val, crd, expected",
    [
        ("1 S1 S1 D", "4 S0 S0 D", "1 S0 S0 D"),
        ("1 S1 S1 D", "4 S0 5 S0 D", "1 S0 0 S0 D"),
        ("1 2 S0 S0 3 S1 4 S2 D", "0 1 2 S0 0 S1 D", "3 0 3 S0 4 S1 D"),
    ],
)
def test_reduce_knows_by_coordinates_what_it_owes(val, crd, expected):
    assert numbers(run("reduce", {"val": values(val), "crd": crd})) == expected


def test_reduce_to_the_greatest():
    done = run("reduce", {"val": values("-3 -1 -2 S0 S0 D")}, {"op": "max"})
    assert numbers(done) == "-1 0 D"


def test_sparse_accumulator_of_the_streams_of_comal():
    inputs = {
        "crd1": "0 2 S0 2 S1 D",
        "crd0": "0 2 3 S0 0 2 3 S1 0 2 3 S2 D",
        "val": values("50 5 10 S0 40 4 8 S1 -40 33 36 S2 D"),
    }
    done = run("spaccumulator", inputs, settings={"size0": 4})
    assert texts(done)["out_crd0"] == "0 2 3 S0 0 2 3 S1 D"
    assert numbers(done) == "90 9 18 S0 -40 33 36 S1 D"


def test_sparse_accumulator_of_order_two():
    inputs = {
        "crd2": "0 1 S0 D",
        "crd1": "0 1 S0 0 2 S1 D",
        "crd0": "3 S0 1 S1 3 S0 0 S2 D",
        "val": values("1 S0 2 S1 4 S0 8 S2 D"),
    }
    done = run("spaccumulator", inputs, {"order": 2}, settings={"size0": 4, "size1": 4})
    assert texts(done)["out_crd1"] == "0 1 2 S0 D"
    assert texts(done)["out_crd0"] == "3 S0 1 S0 0 S1 D"
    assert numbers(done) == "5 S0 2 S0 8 S1 D"
    full = {"order": 2, "full0": True, "full1": True}
    done = run("spaccumulator", inputs, full, settings={"size0": 4, "size1": 3})
    assert texts(done)["out_crd1"] == "0 1 2 S0 D"
    assert texts(done)["out_crd0"] == "0 1 2 3 S0 0 1 2 3 S0 0 1 2 3 S1 D"
    assert numbers(done) == "0 0 0 5 S0 0 2 0 0 S0 8 0 0 0 S1 D"
    half = {"order": 2, "full1": True}
    done = run("spaccumulator", inputs, half, settings={"size0": 4, "size1": 4})
    assert texts(done)["out_crd1"] == "0 1 2 3 S0 D"
    assert texts(done)["out_crd0"] == "3 S0 1 S0 0 S0 S1 D"


def test_sparse_accumulator_of_nothing():
    inputs = {"crd2": "S1 D", "crd1": "S2 D", "crd0": "S3 D", "val": "S3 D"}
    done = run("spaccumulator", inputs, {"order": 2}, settings={"size0": 4, "size1": 4})
    assert texts(done) == {"out_crd1": "S1 D", "out_crd0": "S2 D", "out_val": "S2 D"}


@pytest.mark.parametrize(
    "outer, inner, expected",
    [
        ("0 1 2 3 S0 D", "1 S0 1 S0 S0 1 S1 D", "0 1 3 S0 D"),
        ("0 S0 S0 4 5 S1 D", "7 S1 S1 S0 8 S2 D", "0 S0 S0 5 S1 D"),
        ("0 1 S0 D", "N S0 S1 D", "0 S0 D"),
    ],
)
def test_coordinate_drop(outer, inner, expected):
    done = run("crddrop", {"outer": outer, "inner": inner})
    assert texts(done) == {"out_outer": expected, "out_inner": inner}


def test_coordinate_hold():
    done = run("crdhold", {"outer": "0 1 2 S0 D", "inner": "0 2 S0 S0 2 S1 D"})
    assert texts(done) == {"out_outer": "0 0 S0 S0 2 S1 D", "out_inner": "0 2 S0 S0 2 S1 D"}


def test_value_drop():
    inputs = {"crd": "0 1 2 3 S0 4 D", "val": values("1 0 -0 2 S0 N D")}
    done = run("valdrop", inputs)
    assert texts(done)["out_crd"] == "0 3 S0 D"
    assert numbers(done) == "1 2 S0 D"
    done = run("valdrop", {"crd": "0 1 D", "val": [0x80, 0, 3 << 32]}, format="fixed8.4")
    assert texts(done)["out_crd"] == "0 D"


def test_points():
    done = run("crdtopoint", {"outer": "0 1 2 S0 D", "inner": "3 4 S0 S0 0 S1 D"})
    assert texts(done) == {"out_outer": "0 0 2 D", "out_inner": "3 4 0 D"}
    done = run("pointtocrd", {"outer": "0 0 1 1 2 D", "inner": "3 4 1 2 0 D"})
    assert texts(done) == {"out_outer": "0 1 2 S0 D", "out_inner": "3 4 S0 1 2 S0 0 S1 D"}
    done = run("pointtocrd", {"outer": "D", "inner": "D"})
    assert texts(done) == {"out_outer": "S0 D", "out_inner": "S1 D"}


def test_lanes():
    done = run("parallelizer", {"i": "0 1 2 S0 3 S1 D"})
    assert texts(done) == {"o0": "0 2 S0 D", "o1": "1 3 S1 D"}
    # A stop of its own does not look like that of the token before it in its lane.
    done = run("parallelizer", {"i": "0 1 2 S0 S0 3 S1 D"})
    assert texts(done) == {"o0": "0 2 S0 3 S1 D", "o1": "1 N S0 D"}
    # Lanes of even and of odd coordinates; an empty one is even.
    crd, i = "0 1 N 6 S0 S0 3 S1 D", "5 N 7 8 S0 S0 9 S1 D"
    done = run("crdparallelizer", {"crd": crd, "i": i})
    assert texts(done) == {"o0": "5 7 8 S0 S0 S1 D", "o1": "N S0 S0 9 S1 D"}
    done = run("serializer", {"i0": "5 6 S0 9 S1 D", "i1": "7 S0 D"})
    assert texts(done) == {"o": "5 6 S0 7 S0 9 S1 D"}
    # The second value of the other lane is that of the empty token in front of a stop.
    lanes = {"i0": "5 8 S0 D", "i1": "7 9 S0 D"}
    done = run("valserializer", {"crd": "0 1 2 S0 S0 D", **lanes})
    assert texts(done) == {"out_val": "5 7 8 S0 S0 D"}


def test_compressed_writer():
    done = run("fiberwrite", {"crd": "0 2 S0 S0 1 S1 D"})
    assert {name: words.tolist() for name, words in done.written.items()} == {
        "seg": [[0, 2], [2, 3]],
        "crd": [[0], [2], [1]],
    }
    assert done.counts == {"fibers": 2, "entries": 3}
    done = run("fiberwrite", {"crd": "0 2 S0 S0 1 S1 D"}, {"keep_empty": True})
    assert done.written["seg"].tolist() == [[0, 2], [2, 2], [2, 3]]
    assert done.counts == {"fibers": 3, "entries": 3}


def test_bitvector_writer():
    bitvector = {"format": "bitvector", "keep_empty": True}
    done = run("fiberwrite", {"crd": "0 33 S0 S0 31 S1 D"}, bitvector, settings={"words": 2})
    rows = [[1, 0], [2, 1], [0, 2], [0, 2], [1 << 31, 2], [0, 3]]
    assert done.written["bv"].tolist() == rows
    assert done.counts == {"rows": 6, "entries": 3}


def test_dense_and_value_writers():
    assert run("fiberwrite", {"crd": "0 1 S0 D"}, {"format": "dense"}).written == {}
    done = run("valwrite", {"val": values("1 N S0 2 S1 D")})
    assert from_words(done.written["vals"], "float32").tolist() == [[1.0], [0.0], [2.0]]
    assert done.counts == {"entries": 3}
