"""Random runs of each SAM block: legal streams in, and what ``sam_reference`` makes of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.hw.lib.functions.function import Function
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sam.token import EMPTY
from gnarl.sw.golden import functions
from tests.support.sam import reference
from tests.support.sam.nested import MAX_DEPTH, mapped, stream
from tests.support.sam.reference import Lane, Tokens

ARRAY_WORDS = 512
ACCUMULATOR_WORDS = 256
LANES = 3
CRD_LANES = 4
"""Lanes that streams are dealt to by coordinate."""

Places = tuple[int, ...]

PLACES: dict[str, tuple[Places, Places]] = {
    "blocks": ((0, 1, 2, 3), (0, 1, 2, 3)),
    "right_word": ((0, 1, 2, 3), (0, 0, 0, 0)),
    "left_word": ((0, 0, 0, 0), (0, 1, 2, 3)),
    "right_rows": ((0, 1, 2, 3), (0, 0, 1, 1)),
    "outer": ((0, 0, 1, 1), (0, 1, 0, 1)),
}
"""Of blocks of four words, those of each operand."""

GROUPS: dict[str, tuple[Places, ...]] = {
    "all": ((0, 1, 2, 3),),
    "columns": ((0, 1), (2, 3)),
    "rows": ((0, 2), (1, 3)),
}
"""Words that are folded, of four: along one index, or either of two."""


@dataclass
class Case:
    """A run of a block, everything by the names of ports.

    reads
        rows of the arrays that it reads, each a list of words.
    writes, counts
        the rows that it has written to arrays, from row 0 on, each a list of words; and what it
        tells of that.
    """

    inputs: dict[str, Tokens]
    outputs: dict[str, Tokens]
    settings: dict[str, int] = field(default_factory=dict)
    reads: dict[str, list[list[int]]] = field(default_factory=dict)
    writes: dict[str, list[list[int]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def tree(rng: random.Random, depth: int, leaf: Callable[[], Any], most: int = 3) -> Any:
    """Lists nested ``depth`` deep, any of them empty, with ``leaf()`` in them."""
    if depth == 0:
        return leaf()
    count = 0 if rng.random() < 0.25 else rng.randint(1, most)
    return [tree(rng, depth - 1, leaf, most) for _ in range(count)]


def _depth(rng: random.Random, least: int = 1, most: int = MAX_DEPTH) -> int:
    return rng.randint(least, most)


def _reference(rng: random.Random) -> int:
    return EMPTY if rng.random() < 0.15 else rng.getrandbits(32)


def _coordinates(rng: random.Random, below: int, most: int) -> list[int]:
    count = 0 if rng.random() < 0.3 else rng.randint(0, min(below, most))
    return sorted(rng.sample(range(below), count))


def _fiber(rng: random.Random) -> list[int]:
    """Coordinates close to each other, or anywhere."""
    return _coordinates(rng, rng.choice([4, 12, 1 << 32]), 6)


def _with_fibers(rng: random.Random, parents: Any, depth: int) -> Any:
    """The same lists with a fiber of coordinates in the place of each leaf."""
    return mapped(lambda _: _fiber(rng), parents, depth)


def word(rng: random.Random, format: str) -> int:
    """Any word, often a small number, a zero, or something special."""
    kind = parse_format(format)
    choice = rng.random()
    if isinstance(kind, FloatFormat):
        sign = rng.getrandbits(1) << kind.width - 1
        if choice < 0.15:
            return sign
        if choice < 0.2:
            return sign | rng.choice([kind.infinity, kind.canonical_nan, kind.infinity | 1, 1])
        if choice < 0.7:
            exponent = kind.bias + rng.randint(-3, 4)
            return sign | exponent << kind.fraction | rng.getrandbits(kind.fraction)
    elif choice < 0.5:
        return rng.randint(-3, 3) & (1 << kind.width) - 1
    return rng.getrandbits(kind.width)


def block(rng: random.Random, format: str, words: int) -> int:
    """A block of any words, at times of zeros of both signs alone."""
    if words > 1 and rng.random() < 0.15:
        kind = parse_format(format)
        sign = 1 << kind.width - 1 if isinstance(kind, FloatFormat) else 0
        return reference.block_of([rng.choice((0, sign)) for _ in range(words)], format)
    return reference.block_of([word(rng, format) for _ in range(words)], format)


def _same(words: int) -> tuple[Places, Places]:
    """Places where both operands have as many words as the result."""
    places = tuple(range(words))
    return places, places


def _value(rng: random.Random, format: str, words: int = 1) -> int:
    return EMPTY if rng.random() < 0.1 else block(rng, format, words)


# References down, and up.


def lookup_dense(rng: random.Random) -> Case:
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    size = rng.randint(1, 5)
    ref = stream(tree(rng, depth, lambda: rng.choice([EMPTY, rng.getrandbits(28)])), depth)
    crd, out = reference.lookup_dense(ref, size)
    return Case({"ref": ref}, {"out_crd": crd, "out_ref": out}, settings={"size": size})


def _segments(rng: random.Random) -> tuple[list[list[int]], list[int]]:
    crds: list[int] = []
    segments = []
    for _ in range(rng.randint(1, 8)):
        first = len(crds)
        crds += _coordinates(rng, rng.choice([8, 40, 1 << 32]), rng.choice([3, 30]))
        segments.append([first, len(crds)])
    return segments, crds


def lookup_compressed(rng: random.Random) -> Case:
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    segments, crds = _segments(rng)
    ref = stream(
        tree(
            rng, depth, lambda: EMPTY if rng.random() < 0.15 else rng.randint(0, len(segments) - 1)
        ),
        depth,
    )
    crd, out = reference.lookup_compressed(ref, segments, crds)
    return Case(
        {"ref": ref},
        {"out_crd": crd, "out_ref": out},
        reads={"seg": segments, "crd": [[one] for one in crds]},
    )


def lookup_bitvector(rng: random.Random) -> Case:
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    words = rng.randint(1, 4)
    fibers = rng.randint(1, 5)
    rows, ones = [], 0
    for _ in range(fibers * words):
        rows.append([rng.choice([0, rng.getrandbits(32)]), ones])
        ones += rows[-1][0].bit_count()
    ref = stream(
        tree(rng, depth, lambda: EMPTY if rng.random() < 0.15 else rng.randrange(fibers)), depth
    )
    bv, out = reference.lookup_bitvector(ref, rows, words)
    return Case(
        {"ref": ref}, {"out_bv": bv, "out_ref": out}, settings={"words": words}, reads={"bv": rows}
    )


def locate(rng: random.Random) -> Case:
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    size = rng.choice([1, rng.randint(2, 9), rng.randint(10, 1000)])
    parents = stream(tree(rng, depth, lambda: rng.choice([EMPTY, rng.getrandbits(22)])), depth)
    crd = reference.down_a_level(parents, lambda _: _coordinates(rng, size, 5))
    ref = reference.repeat(parents, reference.repeat_signals(crd))
    return Case(
        {"crd": crd, "ref": ref},
        {"out_ref": reference.locate(crd, ref, size)},
        settings={"size": size},
    )


def array_values(rng: random.Random, format: str, words: int = 1) -> Case:
    depth = _depth(rng, 0)
    values = [block(rng, format, words) for _ in range(rng.randint(1, 40))]
    ref = stream(
        tree(rng, depth, lambda: EMPTY if rng.random() < 0.2 else rng.randrange(len(values))),
        depth,
    )
    return Case(
        {"ref": ref},
        {"out_val": reference.array_values(ref, values)},
        reads={"vals": [reference.words_of(one, format, words) for one in values]},
    )


def repeat(rng: random.Random) -> Case:
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    parents = tree(rng, depth, lambda: _reference(rng))
    ref = stream(parents, depth)
    signals = reference.repeat_signals(stream(_with_fibers(rng, parents, depth), depth + 1))
    return Case({"ref": ref, "repsig": signals}, {"out_ref": reference.repeat(ref, signals)})


def repeat_signals(rng: random.Random) -> Case:
    depth = _depth(rng, 0)
    crd = stream(tree(rng, depth, lambda: _reference(rng)), depth)
    return Case({"crd": crd}, {"out_repsig": reference.repeat_signals(crd)})


# Joiners.


def _lanes(rng: random.Random) -> tuple[Lane, Lane]:
    depth = _depth(rng)
    parents = tree(rng, depth - 1, lambda: None)
    lanes = []
    for _ in range(2):
        crds = _with_fibers(rng, parents, depth - 1)
        crd = stream(crds, depth)
        lanes.append(Lane(crd, stream(mapped(lambda _: _reference(rng), crds, depth), depth)))
    return lanes[0], lanes[1]


def _joined(join: Callable[[Lane, Lane], Any]) -> Callable[[random.Random], Case]:
    def case(rng: random.Random) -> Case:
        first, second = _lanes(rng)
        crd, ref0, ref1 = join(first, second)
        return Case(
            {"crd0": first.crd, "ref0": first.ref, "crd1": second.crd, "ref1": second.ref},
            {"out_crd": crd, "out_ref0": ref0, "out_ref1": ref1},
        )

    return case


intersect = _joined(reference.intersect)
union = _joined(reference.union)


def _bitvectors(rng: random.Random, parents: Any, depth: int, words: int) -> tuple[Tokens, Tokens]:
    """Words, and references beside them; some fibers without any word, as of empty parents."""

    def fiber(_: Any) -> list[tuple[int, int]]:
        if rng.random() < 0.2:
            return []
        first = rng.getrandbits(30)
        found = []
        for _ in range(words):
            bits = rng.choice([0, 1 << rng.randrange(32), rng.getrandbits(32), (1 << 32) - 1])
            found.append((bits, first))
            first += bits.bit_count()
        return found

    rows = mapped(fiber, parents, depth)
    return (
        stream(mapped(lambda row: row[0], rows, depth + 1), depth + 1),
        stream(mapped(lambda row: row[1], rows, depth + 1), depth + 1),
    )


def expand_bitvector(rng: random.Random) -> Case:
    depth = _depth(rng, 0, 2)
    bv, ref = _bitvectors(rng, tree(rng, depth, lambda: None), depth, rng.randint(1, 3))
    crd, out = reference.expand_bitvector(bv, ref)
    return Case({"bv": bv, "ref": ref}, {"out_crd": crd, "out_ref": out})


def _bitvectors_joined(join: Callable[[Lane, Lane], Any]) -> Callable[[random.Random], Case]:
    def case(rng: random.Random) -> Case:
        depth = _depth(rng, 0, 2)
        words = rng.randint(1, 3)
        parents = tree(rng, depth, lambda: None)
        inputs = [_bitvectors(rng, parents, depth, words) for _ in range(2)]
        first, second = (Lane(*reference.expand_bitvector(*lane)) for lane in inputs)
        crd, ref0, ref1 = join(first, second)
        return Case(
            {
                f"{kind}{lane}": inputs[lane][place]
                for lane in range(2)
                for place, kind in enumerate(("bv", "ref"))
            },
            {"out_crd": crd, "out_ref0": ref0, "out_ref1": ref1},
        )

    return case


intersect_bitvectors = _bitvectors_joined(reference.intersect)
union_bitvectors = _bitvectors_joined(reference.union)


# Values.


def alu(
    rng: random.Random,
    format: str,
    code: Operation,
    places: tuple[Places, Places] = ((0,), (0,)),
) -> Case:
    depth = _depth(rng, 0)
    shape = tree(rng, depth, lambda: None)
    left, right = (
        stream(mapped(lambda _, count=count: _value(rng, format, count), shape, depth), depth)
        for count in (max(each) + 1 for each in places)
    )
    operation = reference.operation(format, code, *places)
    return Case({"val0": left, "val1": right}, {"out_val": reference.alu(operation, left, right)})


def function(rng: random.Random, format: str, which: Function, words: int = 1) -> Case:
    depth = _depth(rng, 0)
    val = stream(tree(rng, depth, lambda: _value(rng, format, words)), depth)

    def of(left: int, right: int) -> int:
        parts = reference.np.array(reference.words_of(left, format, words), "u4")
        return reference.block_of(functions.apply(which, parts, format).tolist(), format)

    return Case({"val": val}, {"out_val": reference.alu(of, val, val)})


def fold(rng: random.Random, format: str, code: Operation, groups: tuple[Places, ...]) -> Case:
    depth = _depth(rng, 0)
    words = sum(map(len, groups))
    val = stream(tree(rng, depth, lambda: _value(rng, format, words)), depth)
    return Case({"val": val}, {"out_val": reference.fold_blocks(format, code, groups, val)})


def reduce(rng: random.Random, format: str, code: Operation, has_crd: bool, words: int = 1) -> Case:
    depth = _depth(rng, 1)
    if depth == 1 and has_crd:
        depth = 2
    parents = tree(rng, depth - 1, lambda: rng.getrandbits(32))
    val = stream(
        mapped(lambda _: tree(rng, 1, lambda: _value(rng, format, words), 4), parents, depth - 1),
        depth,
    )
    crd = stream(parents, depth - 1) if has_crd else None
    out = reference.reduce(reference.operation(format, code, *_same(words)), val, crd)
    return Case({"val": val} | ({"crd": crd} if crd else {}), {"out_val": out})


def accumulate(rng: random.Random, format: str, full: tuple[bool, ...], words: int = 1) -> Case:
    order = len(full)
    depth = _depth(rng, 1, MAX_DEPTH - order)
    sizes = [rng.randint(1, 12) for _ in full]
    summed = tree(rng, depth, lambda: rng.getrandbits(32))
    streams = [stream(summed, depth)]
    nested = summed
    for place in reversed(range(order)):
        level = depth + order - 1 - place
        nested = mapped(lambda _, size=sizes[place]: _coordinates(rng, size, 4), nested, level)
        streams.insert(0, stream(nested, level + 1))
    val = stream(mapped(lambda _: _value(rng, format, words), nested, depth + order), depth + order)
    outs = reference.accumulate(
        reference.operation(format, Operation.ADD, *_same(words)), streams, val, full, sizes
    )
    return Case(
        {f"crd{place}": tokens for place, tokens in enumerate(streams)} | {"val": val},
        {f"out_crd{place}": tokens for place, tokens in enumerate(outs[:-1])}
        | {"out_val": outs[-1]},
        settings={f"size{place}": size for place, size in enumerate(sizes)},
    )


def drop_values(rng: random.Random, format: str, words: int = 1) -> Case:
    depth = _depth(rng, 0)
    shape = tree(rng, depth, lambda: None)
    crd = stream(mapped(lambda _: rng.getrandbits(32), shape, depth), depth)
    val = stream(mapped(lambda _: _value(rng, format, words), shape, depth), depth)
    kind = parse_format(format)
    zeros = {0, 1 << kind.width - 1} if isinstance(kind, FloatFormat) else {0}
    crds, vals = reference.drop_values(
        crd, val, lambda value: zeros.issuperset(reference.words_of(value, format, words))
    )
    return Case({"crd": crd, "val": val}, {"out_crd": crds, "out_val": vals})


# Coordinates.


def _outer_inner(rng: random.Random, empties: bool) -> tuple[Tokens, Tokens]:
    depth = _depth(rng, 1, MAX_DEPTH - 1)
    outer = tree(rng, depth, lambda: rng.randrange(4))

    def leaf() -> int:
        return _reference(rng) if empties else rng.getrandbits(32)

    inner = mapped(lambda _: tree(rng, 1, leaf, 4), outer, depth)
    return stream(outer, depth), stream(inner, depth + 1)


def _of_levels(
    make: Callable[[Tokens, Tokens], reference.Pairs], empties: bool
) -> Callable[[random.Random], Case]:
    def case(rng: random.Random) -> Case:
        outer, inner = _outer_inner(rng, empties)
        outs = make(outer, inner)
        return Case(
            {"outer": outer, "inner": inner},
            dict(zip(("out_outer", "out_inner"), outs, strict=True)),
        )

    return case


drop_coordinates = _of_levels(reference.drop_coordinates, empties=True)
hold_coordinates = _of_levels(reference.hold_coordinates, empties=False)
to_points = _of_levels(reference.to_points, empties=False)


def from_points(rng: random.Random) -> Case:
    points = reference.to_points(*_outer_inner(rng, empties=False))
    outs = reference.from_points(*points)
    return Case(
        dict(zip(("outer", "inner"), points, strict=True)),
        dict(zip(("out_outer", "out_inner"), outs, strict=True)),
    )


def deal(rng: random.Random) -> Case:
    depth = _depth(rng, 0)
    tokens = stream(tree(rng, depth, lambda: _reference(rng)), depth)
    lanes = reference.deal(tokens, LANES)
    return Case({"i": tokens}, {f"o{place}": lane for place, lane in enumerate(lanes)})


def deal_by_crd(rng: random.Random, shift: int = 0) -> Case:
    depth = _depth(rng, 0)
    pairs = tree(rng, depth, lambda: (_reference(rng), _reference(rng)), 6)
    crd, i = (stream(mapped(itemgetter(place), pairs, depth), depth) for place in range(2))
    lanes = reference.deal_by_crd(crd, i, CRD_LANES, shift)
    return Case({"crd": crd, "i": i}, {f"o{place}": lane for place, lane in enumerate(lanes)})


def collect(rng: random.Random) -> Case:
    """Lanes that have gone down a level since they were dealt out."""
    depth = _depth(rng, 0, MAX_DEPTH - 1)
    parents = tree(rng, depth, lambda: rng.getrandbits(16))
    children = [tree(rng, 1, lambda: _reference(rng)) for _ in range(8)]

    def down(tokens: Tokens) -> Tokens:
        return reference.down_a_level(
            tokens, lambda token: [] if token == EMPTY else children[token & 7]
        )

    tokens = stream(parents, depth)
    lanes = [down(lane) for lane in reference.deal(tokens, LANES)]
    assert reference.collect(lanes) == down(tokens)
    return Case({f"i{place}": lane for place, lane in enumerate(lanes)}, {"o": down(tokens)})


def collect_values(rng: random.Random, format: str) -> Case:
    """Lanes that have a value for each token that they were dealt, as reductions have."""
    depth = _depth(rng, 0)
    crd = stream(tree(rng, depth, lambda: rng.getrandbits(16)), depth)
    lanes = [
        [_value(rng, format) if reference.is_item(token) else token for token in lane]
        for lane in reference.deal(crd, LANES)
    ]
    inputs = {f"i{place}": lane for place, lane in enumerate(lanes)}
    return Case({"crd": crd, **inputs}, {"out_val": reference.collect_values(crd, lanes)})


# Writers.


def write_compressed(rng: random.Random, keep_empty: bool) -> Case:
    depth = _depth(rng)
    crd = stream(_with_fibers(rng, tree(rng, depth - 1, lambda: None), depth - 1), depth)
    segments, crds = reference.write_compressed(crd, keep_empty)
    return Case(
        {"crd": crd},
        {},
        writes={"seg": segments, "crd": [[each] for each in crds]},
        counts={"fibers": len(segments), "entries": len(crds)},
    )


def write_bitvector(rng: random.Random, keep_empty: bool) -> Case:
    depth = _depth(rng)
    words = rng.randint(1, 4)
    size = 32 * (words - 1) + rng.randint(1, 32)
    parents = tree(rng, depth - 1, lambda: None)
    crd = stream(mapped(lambda _: _coordinates(rng, size, 40), parents, depth - 1), depth)
    written = reference.write_bitvector(crd, words, keep_empty)
    ones = sum(word.bit_count() for word, _ in written)
    return Case(
        {"crd": crd},
        {},
        settings={"words": words},
        writes={"bv": written},
        counts={"rows": len(written), "entries": ones},
    )


def write_dense(rng: random.Random) -> Case:
    depth = _depth(rng)
    return Case({"crd": stream(tree(rng, depth, lambda: rng.getrandbits(32)), depth)}, {})


def write_values(rng: random.Random, format: str, places: Places = (0,)) -> Case:
    """``places``: for each word of a row the word of a value."""
    depth = _depth(rng, 0)
    count = max(places) + 1
    val = stream(tree(rng, depth, lambda: _value(rng, format, count)), depth)
    written = reference.write_values(val)
    return Case(
        {"val": val},
        {},
        writes={
            "vals": [
                [reference.words_of(each, format, count)[place] for place in places]
                for each in written
            ]
        },
        counts={"entries": len(written)},
    )
