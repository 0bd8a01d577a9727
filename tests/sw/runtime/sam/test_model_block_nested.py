"""Blocks of the model on random streams, with nested lists as reference."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gnarl.hw.sam.token import EMPTY
from gnarl.sw.golden.words import from_words, to_words
from tests.support.sam.model_block import run, texts
from tests.support.sam.nested import mapped, stream, trees


def to_tokens(tree: Any, depth: int) -> list[int]:
    """The stream of nested lists, whose leaves are data or None for an empty token."""
    return stream(mapped(lambda leaf: EMPTY if leaf is None else leaf, tree, depth), depth)


def fibers(largest: int = 9, most: int = 5) -> st.SearchStrategy[list[int]]:
    """Ascending coordinates."""
    return st.lists(st.integers(0, largest), max_size=most, unique=True).map(sorted)


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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


@hypothesis_settings(max_examples=25)
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
    assert done.written["crd"].tolist() == [[crd] for fiber in kept for crd in fiber]
    ends = [0, *np.cumsum([len(fiber) for fiber in kept]).tolist()]
    assert done.written["seg"].tolist() == [list(pair) for pair in pairwise(ends)]
    bitvector = {"format": "bitvector", "keep_empty": keep_empty}
    done = run("fiberwrite", {"crd": tokens}, bitvector, settings={"words": words})
    found = [
        [32 * word + bit for word in range(words) for bit in range(32) if row[word] >> bit & 1]
        for row in done.written["bv"][:, 0].reshape(-1, words).tolist()
    ]
    assert found == kept
    ones = [word.bit_count() for word in done.written["bv"][:, 0].tolist()]
    assert done.written["bv"][:, 1].tolist() == [sum(ones[:at]) for at in range(len(ones))]
