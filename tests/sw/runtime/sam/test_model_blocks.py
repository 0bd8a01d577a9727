"""Every type of block in the model: examples of the SAM tools, and nested lists as reference."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hw.sam.block_types import BLOCK_TYPES
from hw.sam.graph import Block
from hw.sam.token import EMPTY
from sw.golden.words import from_words, to_words
from sw.runtime.sam.model.streams import BLOCKS
from sw.runtime.sam.model.timing import step_times
from sw.runtime.sam.model.tokens import Done, Limits, ModelError, Site, Stream
from tests.support.sam_nested import mapped, stream, trees
from tests.support.tokens import format_stream, parse_stream


def run(
    kind: str,
    inputs: dict[str, Any],
    parameters: dict[str, Any] | None = None,
    arrays: dict[str, Any] | None = None,
    settings: dict[str, int] | None = None,
    format: str = "float32",
    **limits: int,
) -> Done:
    """One block; streams are text or lists of tokens."""
    block = Block("b", kind, parameters or {})
    streams = {
        name: Stream(np.array(parse_stream(one) if isinstance(one, str) else one, np.int64))
        for name, one in inputs.items()
    }
    site = Site(
        block,
        format,
        {
            f"b_{name}": np.array(rows, np.uint32).reshape(
                -1, next(array.words for array in block.arrays if array.name == name)
            )
            for name, rows in (arrays or {}).items()
        },
        {("b", name): value for name, value in (settings or {}).items()},
        Limits(**limits),
    )
    assert set(streams) <= set(block.inputs)
    done = BLOCKS[kind](site, streams)
    assert set(done.outputs) == set(block.outputs)
    assert set(done.counts) == set(block.counts)
    assert set(done.written) == {array.name for array in block.arrays if array.writes}
    _check_steps(done, streams)
    return done


def _check_steps(done: Done, streams: dict[str, Stream]) -> None:
    """Tokens are needed and given in order."""
    steps = done.steps
    assert set(steps.needs) <= set(streams)
    for name, taken in streams.items():
        places = steps.needs.get(name, np.arange(steps.count))
        assert len(places) == steps.count
        assert (np.diff(places) >= 0).all() and places[-1] == len(taken) - 1
    assert set(steps.gives) <= set(done.outputs)
    for name, tokens in done.outputs.items():
        places = steps.gives.get(name, np.arange(steps.count))
        assert len(places) == len(tokens)
        assert (np.diff(places) >= 0).all() and 0 <= places[0] and places[-1] == steps.count - 1
    arrivals = {name: np.arange(len(stream)) for name, stream in streams.items()}
    assert (np.diff(step_times(steps, arrivals)) > 0).all()


def texts(done: Done) -> dict[str, str]:
    return {name: format_stream(tokens) for name, tokens in done.outputs.items()}


def numbers(done: Done, output: str = "out_val", format: str = "float32") -> str:
    """A stream of values as people write them."""
    shown = []
    for token in done.outputs[output].tolist():
        word = np.array(token & 0xFFFFFFFF, np.uint32)
        shown.append(f"{from_words(word, format):g}" if token < 1 << 32 else format_stream([token]))
    return " ".join(shown)


def values(text: str, format: str = "float32") -> list[int]:
    """Tokens of values from text such as ``1.5 S0 N D``."""
    return [
        int(to_words(np.array(float(word)), format))
        if word[0] not in "SND"
        else parse_stream(word)[0]
        for word in text.split()
    ]


def to_tokens(tree: Any, depth: int) -> list[int]:
    """The stream of nested lists, whose leaves are data or None for an empty token."""
    return stream(mapped(lambda leaf: EMPTY if leaf is None else leaf, tree, depth), depth)


def fibers(largest: int = 9, most: int = 5) -> st.SearchStrategy[list[int]]:
    """Ascending coordinates."""
    return st.lists(st.integers(0, largest), max_size=most, unique=True).map(sorted)


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
        ("5 6 7 S0 D", "0 0 S0 S0 0 S0 D", "5 5 S0 S0 7 S1 D"),
        ("5 S0 S0 6 S1 D", "0 0 S0 S0 0 S0 D", "5 5 S1 S1 6 S2 D"),
        ("0 D", "0 0 S0 D", "0 0 S0 D"),
        ("5 N S0 D", "0 S0 0 0 S0 D", "5 S0 N N S1 D"),
    ],
)
def test_repeat(ref, repsig, expected):
    assert texts(run("repeat", {"ref": ref, "repsig": repsig})) == {"out_ref": expected}


def test_repeat_signals():
    done = run("repsiggen", {"crd": "7 8 S0 N S0 S1 D"})
    assert texts(done) == {"out_repsig": "0 0 S0 0 S0 S0 D"}


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
    done = run("serializer", {"i0": "5 6 S0 9 S1 D", "i1": "7 S0 D"})
    assert texts(done) == {"o": "5 6 S0 7 S0 9 S1 D"}


def test_compressed_writer():
    done = run("fiberwrite", {"crd": "0 2 S0 S0 1 S1 D"})
    assert {name: words.tolist() for name, words in done.written.items()} == {
        "seg": [2, 3],
        "crd": [0, 2, 1],
    }
    assert done.counts == {"fibers": 2, "entries": 3}
    done = run("fiberwrite", {"crd": "0 2 S0 S0 1 S1 D"}, {"keep_empty": True})
    assert done.written["seg"].tolist() == [2, 2, 3]
    assert done.counts == {"fibers": 3, "entries": 3}


def test_bitvector_writer():
    bitvector = {"format": "bitvector", "keep_empty": True}
    done = run("fiberwrite", {"crd": "0 33 S0 S0 31 S1 D"}, bitvector, settings={"words": 2})
    assert done.written["bv"].tolist() == [1, 2, 0, 0, 1 << 31, 0]
    assert done.counts == {"rows": 6, "entries": 3}


def test_dense_and_value_writers():
    assert run("fiberwrite", {"crd": "0 1 S0 D"}, {"format": "dense"}).written == {}
    done = run("valwrite", {"val": values("1 N S0 2 S1 D")})
    assert from_words(done.written["vals"], "float32").tolist() == [1.0, 0.0, 2.0]
    assert done.counts == {"entries": 3}


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 3))
def test_lookup_puts_fibers_in_place_of_references(data, depth):
    stored = data.draw(st.lists(fibers(), min_size=1, max_size=4))
    refs = st.one_of(st.none(), st.integers(0, len(stored) - 1))
    tree = data.draw(trees(depth, refs))
    ends = np.cumsum([0, *map(len, stored)])
    arrays = {
        "seg": np.stack([ends[:-1], ends[1:]], axis=1),
        "crd": [crd for fiber in stored for crd in fiber],
    }
    done = run("fiberlookup", {"ref": to_tokens(tree, depth)}, arrays=arrays)

    def fiber(ref: int | None) -> list[int]:
        return [] if ref is None else stored[ref]

    def places(ref: int | None) -> list[int]:
        return [] if ref is None else list(range(ends[ref], ends[ref + 1]))

    assert done.outputs["out_crd"].tolist() == to_tokens(mapped(fiber, tree, depth), depth + 1)
    assert done.outputs["out_ref"].tolist() == to_tokens(mapped(places, tree, depth), depth + 1)


@given(st.data(), st.integers(0, 3))
def test_repeat_and_hold_repeat_by_the_fibers_within(data, depth):
    pair = st.tuples(st.one_of(st.none(), st.integers(0, 9)), fibers())
    tree = data.draw(trees(depth, pair))
    outer = to_tokens(mapped(lambda pair: pair[0], tree, depth), depth)
    inner = to_tokens(mapped(lambda pair: pair[1], tree, depth), depth + 1)
    expected = to_tokens(mapped(lambda pair: [pair[0]] * len(pair[1]), tree, depth), depth + 1)
    signals = run("repsiggen", {"crd": inner}).outputs["out_repsig"]
    done = run("repeat", {"ref": outer, "repsig": signals})
    assert done.outputs["out_ref"].tolist() == expected
    done = run("crdhold", {"outer": outer, "inner": inner})
    assert done.outputs["out_outer"].tolist() == expected
    assert done.outputs["out_inner"].tolist() == inner


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(1, 3))
def test_drop_removes_those_without_a_fiber(data, depth):
    tree = data.draw(trees(depth, st.tuples(st.integers(0, 9), fibers())))
    outer = to_tokens(mapped(lambda pair: pair[0], tree, depth), depth)
    inner = to_tokens(mapped(lambda pair: pair[1], tree, depth), depth + 1)

    def kept(fiber: list[Any]) -> list[int]:
        return [crd for crd, within in fiber if within]

    done = run("crddrop", {"outer": outer, "inner": inner})
    assert done.outputs["out_inner"].tolist() == inner
    expected = to_tokens(mapped(kept, tree, depth - 1), depth)
    assert done.outputs["out_outer"].tolist() == expected


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 2))
def test_joiners_join_fiber_by_fiber(data, depth):
    lane = st.dictionaries(st.integers(0, 80), st.integers(0, 99), max_size=6)
    tree = data.draw(trees(depth, st.tuples(lane, lane)))
    inputs = {}
    for number in range(2):
        crds = mapped(lambda pair: sorted(pair[number]), tree, depth)  # noqa: B023
        refs = mapped(
            lambda pair: [pair[number][crd] for crd in sorted(pair[number])],  # noqa: B023
            tree,
            depth,
        )
        inputs[f"crd{number}"] = to_tokens(crds, depth + 1)
        inputs[f"ref{number}"] = to_tokens(refs, depth + 1)
    for kind, joined in (("intersect", set.__and__), ("union", set.__or__)):
        done = run(kind, inputs)
        crds = mapped(lambda pair: sorted(joined(*map(set, pair))), tree, depth)  # noqa: B023
        assert done.outputs["out_crd"].tolist() == to_tokens(crds, depth + 1)
        for number in range(2):
            refs = mapped(
                lambda pair: [
                    pair[number].get(crd)  # noqa: B023
                    for crd in sorted(joined(*map(set, pair)))  # noqa: B023
                ],
                tree,
                depth,
            )
            assert done.outputs[f"out_ref{number}"].tolist() == to_tokens(refs, depth + 1)


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 2), st.integers(1, 3))
def test_bitvectors_mean_the_same_as_coordinates(data, depth, words):
    tree = data.draw(trees(depth, st.tuples(*[fibers(32 * words - 1, 8)] * 2)))
    vectors, coordinates = {}, {}
    for number in range(2):
        fibers_of = mapped(lambda pair: pair[number], tree, depth)  # noqa: B023
        ones = [0]

        def bits(fiber: list[int]) -> list[list[int]]:
            rows = []
            for word in range(words):
                mask = sum(1 << crd - 32 * word for crd in fiber if crd // 32 == word)
                rows.append([mask, ones[0]])  # noqa: B023
                ones[0] += mask.bit_count()  # noqa: B023
            return rows

        both = mapped(bits, fibers_of, depth)
        for place, name in enumerate(("bv", "ref")):
            part = mapped(lambda row: row[place], both, depth + 1)  # noqa: B023
            vectors[f"{name}{number}"] = to_tokens(part, depth + 1)
        coordinates[f"crd{number}"] = to_tokens(fibers_of, depth + 1)
        count = [-1]

        def place_of(crd: int) -> int:
            count[0] += 1  # noqa: B023
            return count[0]  # noqa: B023

        coordinates[f"ref{number}"] = to_tokens(mapped(place_of, fibers_of, depth + 1), depth + 1)
    for kind in ("intersect", "union"):
        assert texts(run(f"bitvector{kind}", vectors)) == texts(run(kind, coordinates))
    expanded = run("bitvectorexpand", {name: vectors[f"{name}0"] for name in ("bv", "ref")})
    assert expanded.outputs["out_crd"].tolist() == coordinates["crd0"]
    assert expanded.outputs["out_ref"].tolist() == coordinates["ref0"]


def words_of(values: list[float], format: str) -> list[int]:
    return to_words(np.array(values), format).tolist()


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 3), st.sampled_from(["float32", "bfloat16", "fixed12.4"]))
def test_reduce_totals_every_fiber_that_has_a_coordinate(data, depth, format):
    numbers = st.integers(-64, 64).map(lambda number: words_of([number / 16], format)[0])
    leaf = st.one_of(st.none(), numbers)
    tree = data.draw(trees(depth, st.lists(leaf, max_size=5)))
    crd = to_tokens(mapped(lambda fiber: 7, tree, depth), depth)
    inputs = {"val": to_tokens(tree, depth + 1), "crd": crd}

    def total(fiber: list[int | None]) -> int:
        # Sums of few sixteenths are exact in every format but bfloat16, which has 8 bits.
        amount = 0.0
        for place, word in enumerate(fiber):
            number = from_words(np.array([word or 0], np.uint32), format)[0]
            amount = number if place == 0 else amount + number
            amount = from_words(np.array(words_of([amount], format), np.uint32), format)[0]
        return words_of([amount], format)[0]

    done = run("reduce", inputs, format=format)
    assert done.outputs["out_val"].tolist() == to_tokens(mapped(total, tree, depth), depth)


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 2), st.booleans())
def test_accumulator_of_order_one_sums_by_coordinate(data, depth, full):
    # Of each fiber of the reduced index: pairs of its coordinate and the fiber within.
    inner = fibers(6, 4)
    tree = data.draw(trees(depth, st.lists(st.tuples(st.integers(0, 9), inner), max_size=4)))
    inputs = {
        "crd1": to_tokens(mapped(lambda pair: pair[0], tree, depth + 1), depth + 1),
        "crd0": to_tokens(mapped(lambda pair: pair[1], tree, depth + 1), depth + 2),
        "val": to_tokens(
            mapped(lambda pair: [1 + crd for crd in pair[1]], tree, depth + 1), depth + 2
        ),
    }

    def sums(fiber: list[Any]) -> Counter[int]:
        found: Counter[int] = Counter(dict.fromkeys(range(7), 0) if full else {})
        for _, crds in fiber:
            for crd in crds:
                found[crd] += 1 + crd
        return found

    bare = _bare_fibers(tree, depth)
    done = run("spaccumulator", inputs, {"full0": full}, settings={"size0": 7}, format="fixed16.0")
    if full and bare:
        return  # a stop that ends no fiber gives a fiber all the same
    keys = mapped(lambda fiber: sorted(sums(fiber)), tree, depth)
    totals = mapped(lambda fiber: [sums(fiber)[c] for c in sorted(sums(fiber))], tree, depth)
    assert done.outputs["out_crd0"].tolist() == to_tokens(keys, depth + 1)
    assert done.outputs["out_val"].tolist() == to_tokens(totals, depth + 1)


def _bare_fibers(tree: Any, depth: int) -> bool:
    """Whether some list less than ``depth`` deep is empty."""
    return depth > 0 and (not tree or any(_bare_fibers(part, depth - 1) for part in tree))


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(0, 1), st.booleans(), st.booleans())
def test_accumulator_of_order_two_sums_by_coordinates(data, depth, full0, full1):
    rows = st.lists(
        st.tuples(st.integers(0, 4), fibers(6, 3)), max_size=3, unique_by=lambda r: r[0]
    )
    passes = st.lists(st.tuples(st.integers(0, 9), rows.map(sorted)), max_size=3)
    tree = data.draw(trees(depth, passes))
    outer = mapped(lambda one: one[1], tree, depth + 1)
    inputs = {
        "crd2": to_tokens(mapped(lambda one: one[0], tree, depth + 1), depth + 1),
        "crd1": to_tokens(mapped(lambda row: row[0], outer, depth + 2), depth + 2),
        "crd0": to_tokens(mapped(lambda row: row[1], outer, depth + 2), depth + 3),
        "val": to_tokens(
            mapped(lambda row: [1 + row[0] + c for c in row[1]], outer, depth + 2), depth + 3
        ),
    }

    def sums(fiber: list[Any]) -> list[tuple[int, list[tuple[int, int]]]]:
        found: dict[int, Counter[int]] = {row: Counter() for row in range(5)} if full1 else {}
        for _, within in fiber:
            for row, crds in within:
                for crd in crds:
                    found.setdefault(row, Counter())[crd] += 1 + row + crd
        for row in found.values():
            if full0:
                row.update(dict.fromkeys(range(7), 0))
        return [(row, sorted(found[row].items())) for row in sorted(found)]

    parameters = {"order": 2, "full0": full0, "full1": full1}
    settings = {"size0": 7, "size1": 5}
    done = run("spaccumulator", inputs, parameters, settings=settings, format="fixed16.0")
    if full1 and _bare_fibers(tree, depth):
        return
    table = mapped(sums, tree, depth)
    expected = {
        "out_crd1": (mapped(lambda row: row[0], table, depth + 1), depth + 1),
        "out_crd0": (mapped(lambda r: [c for c, _ in r[1]], table, depth + 1), depth + 2),
        "out_val": (mapped(lambda r: [v for _, v in r[1]], table, depth + 1), depth + 2),
    }
    for name, (nested, levels) in expected.items():
        assert done.outputs[name].tolist() == to_tokens(nested, levels)


@hypothesis_settings(max_examples=50)
@given(st.data(), st.integers(1, 3), st.integers(2, 5))
def test_lanes_give_what_is_given_without_them(data, depth, lanes):
    tree = data.draw(trees(depth, st.integers(0, 3)))
    tokens = to_tokens(tree, depth)
    dealt = run("parallelizer", {"i": tokens}, {"lanes": lanes})
    arrays = {"seg": [[0, 2], [2, 2], [2, 3], [3, 7]], "crd": [0, 5, 2, 1, 2, 3, 4]}
    fibers = {
        f"i{lane}": run("fiberlookup", {"ref": dealt.outputs[f"o{lane}"]}, arrays=arrays).outputs[
            "out_crd"
        ]
        for lane in range(lanes)
    }
    joined = run("serializer", fibers, {"lanes": lanes})
    alone = run("fiberlookup", {"ref": tokens}, arrays=arrays)
    assert joined.outputs["o"].tolist() == alone.outputs["out_crd"].tolist()


@given(st.data(), st.integers(1, 3), st.booleans(), st.integers(1, 2))
def test_writers_write_every_fiber(data, depth, keep_empty, words):
    tree = data.draw(trees(depth - 1, fibers(32 * words - 1, 5)))
    tokens = to_tokens(tree, depth)
    # What a writer sees: all fibers, among them empty ones that stand for nothing.
    seen: list[list[int]] = [[]]
    for token in tokens[:-1]:
        if token >> 32:
            seen.append([])
        else:
            seen[-1].append(token)
    kept = [fiber for fiber in seen[:-1] if fiber or keep_empty]
    done = run("fiberwrite", {"crd": tokens}, {"keep_empty": keep_empty})
    assert done.written["crd"].tolist() == [crd for fiber in kept for crd in fiber]
    assert done.written["seg"].tolist() == np.cumsum([len(fiber) for fiber in kept]).tolist()
    bitvector = {"format": "bitvector", "keep_empty": keep_empty}
    done = run("fiberwrite", {"crd": tokens}, bitvector, settings={"words": words})
    found = [
        [32 * word + bit for word in range(words) for bit in range(32) if row[word] >> bit & 1]
        for row in done.written["bv"].reshape(-1, words).tolist()
    ]
    assert found == kept


@pytest.mark.parametrize(
    "kind, inputs, more, text",
    [
        (
            "fiberlookup",
            {"ref": "0 2 S0 D"},
            {"arrays": {"seg": [[0, 1], [1, 2]], "crd": [0, 1]}},
            "reads row 2 of seg: must be below 2, which were loaded",
        ),
        (
            "fiberlookup",
            {"ref": "0 D"},
            {"arrays": {"seg": [[0, 3]], "crd": [0, 1]}},
            "reads row 2 of crd: must be below 2, which were loaded",
        ),
        (
            "fiberlookup",
            {"ref": "1 D"},
            {"arrays": {"seg": [[0, 1], [1, 0]], "crd": [0]}},
            "segment 1 ends at 0: must not be before 1",
        ),
        (
            "fiberlookup",
            {"ref": "2 D"},
            {"parameters": {"format": "dense"}, "settings": {"size": 100}, "index_bits": 8},
            "reference 300: must fit 8 bits",
        ),
        (
            "locate",
            {"crd": "0 3 D", "ref": "0 0 D"},
            {"settings": {"size": 3}},
            "coordinate 3: must be below the level's size, 3",
        ),
        (
            "arrayvals",
            {"ref": "0 1 S0 D"},
            {"arrays": {"vals": [5]}},
            "reads row 1 of vals: must be below 1, which were loaded",
        ),
        (
            "intersect",
            {"crd0": "0 S0 D", "ref0": "0 S0 D", "crd1": "0 S1 D", "ref1": "0 S1 D"},
            {},
            "fiber 0 ends in S0 in crd0 and in S1 in crd1",
        ),
        (
            "union",
            {"crd0": "0 S0 D", "ref0": "0 S0 D", "crd1": "0 S0 S0 D", "ref1": "0 S0 S0 D"},
            {},
            "crd0 has 1 stops and crd1 has 2: must be the same",
        ),
        (
            "union",
            {"crd0": "3 2 S0 D", "ref0": "0 1 S0 D", "crd1": "0 S0 D", "ref1": "0 S0 D"},
            {},
            "token 1 of crd0 is 2 after 3: coordinates must ascend",
        ),
        (
            "alu",
            {"val0": "1 2 S0 D", "val1": "1 S0 S0 D"},
            {},
            "token 1: val0 has data and val1 has S0",
        ),
        (
            "alu",
            {"val0": "1 S0 D", "val1": "1 S1 D"},
            {},
            "token 1: val0 has S0 and val1 has S1",
        ),
        (
            "repeat",
            {"ref": "1 2 S0 D", "repsig": "0 S0 D"},
            {},
            "ref has 2 fibers below it, repsig has 1: must be the same",
        ),
        (
            "repeat",
            {"ref": "S0 D", "repsig": "0 S0 D"},
            {},
            "fiber 0 of repsig has data, but ref has no token for it",
        ),
        (
            "crddrop",
            {"outer": "1 2 S0 D", "inner": "1 S0 2 S0 D"},
            {},
            "fiber 1 of inner ends in S0: must be S1, as outer has it",
        ),
        (
            "reduce",
            {"val": "1 S1 D", "crd": "S0 D"},
            {},
            "fiber 0 of val has data: must be empty, as crd has none there",
        ),
        (
            "spaccumulator",
            {"crd1": "0 S0 D", "crd0": "4 S1 D", "val": "1 S1 D"},
            {"settings": {"size0": 4}},
            "crd0 has coordinate 4: must be below its size, 4",
        ),
        (
            "spaccumulator",
            {"crd2": "0 S0 D", "crd1": "1 S1 D", "crd0": "2 S2 D", "val": "1 S2 D"},
            {
                "parameters": {"order": 2},
                "settings": {"size0": 5, "size1": 2},
                "accumulator_words": 8,
            },
            "needs 11 sums: must be at most 8, accumulator_words",
        ),
        (
            "serializer",
            {"i0": "1 S0 D", "i1": "1 S0 S0 D"},
            {},
            "lane 0 has 1 of 3 fibers: must be 2, one in its turn",
        ),
        (
            "fiberwrite",
            {"crd": "0 1 2 S0 D"},
            {"array_words": 2},
            "writes 3 words to crd: must be at most 2, array_words",
        ),
        (
            "valwrite",
            {"val": "0 1 2 S0 D"},
            {"array_words": 2},
            "writes 3 words to vals: must be at most 2, array_words",
        ),
        (
            "fiberlookup",
            {"ref": "0 D"},
            {},
            "its array seg is missing: must be loaded before the run",
        ),
        (
            "locate",
            {"crd": "0 D", "ref": "0 D"},
            {},
            "its setting size is missing: must be set before the run",
        ),
    ],
)
def test_rules_of_the_hardware(kind, inputs, more, text):
    with pytest.raises(ModelError) as caught:
        run(kind, inputs, **more)
    assert str(caught.value) == f"block b ({kind}): {text}"


def test_two_coordinates_without_partner_are_dropped_at_a_time():
    inputs = {"crd0": "0 2 4 6 S0 D", "ref0": "0 1 2 3 S0 D", "crd1": "1 3 5 7 S0 D"}
    assert run("intersect", inputs | {"ref1": "0 1 2 3 S0 D"}).steps.count == 4 + 2
    inputs = {"crd0": "0 1 2 9 S0 D", "ref0": "0 1 2 3 S0 D", "crd1": "9 S0 D", "ref1": "0 S0 D"}
    assert run("intersect", inputs).steps.count == 3 + 1 + 2
