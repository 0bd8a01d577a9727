from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Fragment, Module, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.blocks.values.sparse_accumulator import SparseAccumulator
from gnarl.hw.sam.token import EMPTY, MAX_LEVEL, stop
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.sam.nested import mapped
from tests.support.sam.streams import run_block
from tests.support.sam.sums import Sums, input_streams, output_streams
from tests.support.sam.tokens import format_stream, parse_stream

FIXED = "fixed32.0"


STAGES = pytest.mark.parametrize("stages", [1, 4])


def accumulator(
    order: int,
    format: str = FIXED,
    words: int = 64,
    full: tuple[bool, ...] | None = None,
    stages: int = 1,
) -> SparseAccumulator:
    full = full or (False,) * order
    return SparseAccumulator(parse_format(format), 16, order, words, full, stages)


def run(
    block: Any, order: int, inputs: dict[str, list[int]], sizes: tuple[int, ...], **options: Any
) -> dict[str, list[int]]:
    outputs = [*(f"out_crd{place}" for place in range(order)), "out_val"]
    sizes_by_name = {f"size{place}": size for place, size in enumerate(sizes)}
    return run_block(block, inputs, outputs, settings=sizes_by_name, **options)


def texts(streams: dict[str, str]) -> dict[str, list[int]]:
    return {name: parse_stream(text) for name, text in streams.items()}


EXAMPLES = [
    (  # Comal's test
        1,
        {
            "crd1": "0 2 S0 2 S1 D",
            "crd0": "0 2 3 S0 0 2 3 S1 0 2 3 S2 D",
            "val": "50 5 10 S0 40 4 8 S1 40 33 36 S2 D",
        },
        {"out_crd0": "0 2 3 S0 0 2 3 S1 D", "out_val": "90 9 18 S0 40 33 36 S1 D"},
    ),
    (  # the SAM tools' test of the first order, points as fibers; the values are theirs
        1,
        {
            "crd1": "0 S0 0 1 S1 D",
            "crd0": "0 2 3 S1 0 2 S0 0 2 S2 D",
            "val": "50 5 10 S1 40 4 S0 1 2 S2 D",
        },
        {"out_crd0": "0 2 3 S0 0 2 S1 D", "out_val": "50 5 10 S0 41 6 S1 D"},
    ),
    (  # the SAM tools' test of the second order
        2,
        {
            "crd2": "0 1 S0 D",
            "crd1": "0 1 S0 0 2 S1 D",
            "crd0": "3 S0 1 S1 3 S0 0 S2 D",
            "val": "1 S0 2 S1 4 S0 8 S2 D",
        },
        {
            "out_crd1": "0 1 2 S0 D",
            "out_crd0": "3 S0 1 S0 0 S1 D",
            "out_val": "5 S0 2 S0 8 S1 D",
        },
    ),
    (  # nothing at all
        1,
        {"crd1": "S0 D", "crd0": "S1 D", "val": "S1 D"},
        {"out_crd0": "S0 D", "out_val": "S0 D"},
    ),
    (
        2,
        {"crd2": "S0 S1 D", "crd1": "S1 S2 D", "crd0": "S2 S3 D", "val": "S2 S3 D"},
        {"out_crd1": "S0 S1 D", "out_crd0": "S1 S2 D", "out_val": "S1 S2 D"},
    ),
    (  # empty fibers of every level between two that are not, and empty values
        2,
        {
            "crd2": "7 S0 0 1 2 S0 S0 3 S1 D",
            "crd1": "1 2 S1 S0 4 S0 S1 S1 2 S2 D",
            "crd0": "5 S0 S2 S1 S1 S2 S2 1 6 S3 D",
            "val": "N S0 S2 S1 S1 S2 S2 N 9 S3 D",
        },
        {
            "out_crd1": "1 S0 S0 S0 2 S1 D",
            "out_crd0": "5 S1 S1 S1 1 6 S2 D",
            "out_val": "0 S1 S1 S1 0 9 S2 D",
        },
    ),
]


@STAGES
@pytest.mark.parametrize("stalls", [0.0, 0.5])
@pytest.mark.parametrize("order, inputs, expected", EXAMPLES)
def test_examples(order, inputs, expected, stalls, stages):
    block = accumulator(order, stages=stages)
    got = run(block, order, texts(inputs), (8, 8)[:order], stalls=stalls)
    assert {name: format_stream(got[name]) for name in expected} == expected


@pytest.mark.parametrize("order", [1, 2])
def test_stops_of_the_highest_levels(order):
    """The widest stream has the highest level, so each of the others has its level."""
    depth = MAX_LEVEL
    tree: Any = [[(3, 5)]] if order == 1 else [[(2, [(3, 5)])]]
    for _ in range(depth - order):
        tree = [tree]
    got = run(accumulator(order), order, input_streams(tree, depth - order, order), (8, 8)[:order])
    level = depth - 1
    assert format_stream(got["out_crd0"]) == f"3 S{level} D"
    assert format_stream(got["out_val"]) == f"5 S{level} D"
    if order == 2:
        assert format_stream(got["out_crd1"]) == f"2 S{level - 1} D"


def test_the_negative_values_of_comals_test_in_float32():
    def words(text: str) -> list[int]:
        tokens = []
        for word in text.split():
            number = word[0] not in "SD"
            tokens += [int(np.float32(word).view(np.uint32))] if number else parse_stream(word)
        return tokens

    inputs = {
        **texts({"crd1": "0 2 S0 2 S1 D", "crd0": "0 2 3 S0 0 2 3 S1 0 2 3 S2 D"}),
        "val": words("50 5 10 S0 40 4 8 S1 -40 33 36 S2 D"),
    }
    got = run(accumulator(1, "float32"), 1, inputs, (4,))
    assert got["out_val"] == words("90 9 18 S0 -40 33 36 S1 D")


def test_the_first_value_is_copied_as_it_is():
    inputs = texts({"crd1": "0 S0 D", "crd0": "3 S1 D"})
    inputs["val"] = [0x80000000, stop(1), *parse_stream("D")]
    got = run(accumulator(1, "float32"), 1, inputs, (4,))
    assert got["out_val"] == [0x80000000, stop(0), *parse_stream("D")]


def values(format: str) -> st.SearchStrategy[int]:
    """Words of sums that round, and overflow now and then; no NaN comes in."""
    if format.startswith("fixed"):
        words = st.integers(0, (1 << 32) - 1)
    else:
        words = st.floats(width=32, allow_nan=False).map(
            lambda number: int(np.float32(number).view(np.uint32))
        )
    return st.one_of(words, st.just(EMPTY))


@st.composite
def cases(draw: Any, format: str) -> dict[str, Any]:
    """Shapes of accumulators, and what goes in: up to four levels, any list of them empty.

    Coordinates of a fiber need not rise, and may come twice, so that sums meet in the pipeline.
    """
    order = draw(st.sampled_from([1, 2]))
    full = draw(st.tuples(*[st.booleans()] * order))
    outside = draw(st.integers(0, 3 - order))
    sizes = tuple(draw(st.integers(1, 6)) for _ in range(order))
    crd = st.integers(0, sizes[0] - 1)
    fibers: Any = st.lists(st.tuples(crd, values(format)), max_size=8)
    if order == 2:
        fibers = st.lists(st.tuples(st.integers(0, sizes[1] - 1), fibers), max_size=4)
    tree = st.lists(fibers, max_size=4)
    for _ in range(outside):
        # Full indices come out for every stop, also for that of no fiber at all.
        tree = st.lists(tree, min_size=int(any(full)), max_size=3)
    return {
        "order": order,
        "full": full,
        "outside": outside,
        "sizes": sizes,
        "tree": draw(tree),
        "stages": draw(st.sampled_from([1, 1, 2, 3, 6])),
    }


@pytest.mark.parametrize("format", [FIXED, "float32"])
def test_random_streams(format):
    @settings(max_examples=12)
    @given(cases(format), st.sampled_from([0.0, 0.3, 0.7]), st.integers(0, 1 << 16))
    def check(case, stalls, seed):
        order, outside, sizes, full = (case[name] for name in ("order", "outside", "sizes", "full"))
        got = run(
            accumulator(order, format, 64, full, case["stages"]),
            order,
            input_streams(case["tree"], outside, order),
            sizes,
            stalls=stalls,
            seed=seed,
        )
        reference = Sums(format, order, sizes, full)
        expected = output_streams(mapped(reference.of, case["tree"], outside), outside, order)
        assert {name: got[name] for name in expected} == expected

    check()


@STAGES
@pytest.mark.parametrize("words", [32, 128, 1 << 13, 1 << 17])
def test_coordinates_far_apart(words, stages):
    """Through every level of the bitmaps, with three coordinates in turn that meet in the adder."""
    chance = random.Random(words)
    crds = sorted({0, 1, 31, words // 2 - 1, words // 2, words - 1})
    fibers = [
        [(crd, chance.getrandbits(20)) for crd in chance.choices(crds, k=20)] for _ in range(3)
    ]
    tree = [fibers, fibers[:1], fibers[1:]]
    block = SparseAccumulator(parse_format(FIXED), 20, 1, words, (False,), stages)
    got = run_wide(block, tree, words)
    reference = Sums(FIXED, 1, (words,), (False,))
    expected = output_streams(mapped(reference.of, tree, 1), 1, 1)
    assert {name: got[name] for name in expected} == expected


def run_wide(block: Any, tree: Any, size: int) -> dict[str, list[int]]:
    return run(block, 1, input_streams(tree, 1, 1), (size,))


@pytest.mark.parametrize("stages", [1, 4])
@pytest.mark.parametrize("order, words", [(1, 64), (1, 1 << 13), (2, 64), (2, 1 << 17)])
def test_a_token_a_cycle_in_and_out_and_no_gap_between(order, words, stages):
    """Values all go in before their sums come out; how far these lie apart doesn't matter."""
    block = accumulator(order, words=words, stages=stages)
    size = 16 if words == 64 else 1000
    crds = [0, 1, size // 2, size - 1]
    fiber = [(crd, 1) for crd in crds]
    passes = [fiber] * 5 if order == 1 else [[(outer, fiber) for outer in range(4)]] * 5
    inputs = input_streams(passes, 0, order)
    got = run(block, order, inputs, (size, 4)[:order])
    assert len(got["out_val"]) == (6 if order == 1 else 21)
    until_stop = len(inputs["val"]) - 1
    assert got["cycles"] == [
        until_stop + SparseAccumulator.latency(words, stages) - 1 + len(got["out_val"])
    ]


@pytest.mark.parametrize("stages", [1, 2, 5])
@pytest.mark.parametrize("apart", [1, 2, 3, 5])
def test_values_of_a_key_are_as_far_apart_as_the_adder_is_long(stages, apart):
    """As many keys in turn as there are stages wait for nothing."""
    turns = 12
    inputs = input_streams([[(crd, 1) for crd in range(apart)] * turns], 0, 1)
    got = run(accumulator(1, stages=stages), 1, inputs, (8,))
    assert got["out_val"] == [turns] * apart + parse_stream("S0 D")
    waits = max(0, stages - apart) * (turns - 1)
    at_once = turns * apart + SparseAccumulator.latency(64, stages) + len(got["out_val"])
    assert got["cycles"] == [at_once + waits]


@STAGES
@pytest.mark.parametrize("stalls", [0.0, 0.5])
def test_sums_come_out_while_the_next_go_in(stalls, stages):
    length, count = 20, 10
    tree = [[[(crd, crd + turn) for crd in range(0, 60, 3)]] for turn in range(count)]
    block = accumulator(1, stages=stages)
    got = run(block, 1, input_streams(tree, 1, 1), (60,), stalls=stalls)
    expected = output_streams(mapped(Sums(FIXED, 1, (60,), (False,)).of, tree, 1), 1, 1)
    assert {name: got[name] for name in expected} == expected
    assert stalls or got["cycles"][0] <= (length + 1 + stages) * (count + 1) + 1 + stages


def test_stops_without_fibers_take_a_cycle_each():
    inputs = input_streams([[]] * 50, 1, 1)
    assert inputs["val"] == [*[stop(1)] * 49, stop(2), *parse_stream("D")]
    assert run(accumulator(1), 1, inputs, (60,))["cycles"][0] <= 53


def test_what_is_in_memory_at_the_start_does_not_matter():
    """As after a reset in the middle of a run, or when power comes on."""
    fiber = [(crd, crd + 1) for crd in range(0, 1000, 99)]
    tree = [[fiber, fiber], [fiber[3:5]], [fiber[2:]]]
    block = Remembering(accumulator(1, words=1 << 11), seed=1)
    got = run(block, 1, input_streams(tree, 1, 1), (1000,))
    expected = output_streams(mapped(Sums(FIXED, 1, (1000,), (False,)).of, tree, 1), 1, 1)
    assert {name: got[name] for name in expected} == expected


class Remembering(wiring.Component):
    """A component whose memories are full of random bits at the start."""

    def __init__(self, inner: wiring.Component, seed: int) -> None:
        self._inner = inner
        self._chance = random.Random(seed)
        super().__init__(inner.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.inner = Fragment.get(self._inner, self)
        wiring.connect(m, wiring.flipped(self), self._inner)
        return m

    def get_two_port_ram(self, ram: TwoPortRam) -> Module:
        m = Module()
        bits = [self._chance.getrandbits(ram.width) for _ in range(ram.rows)]
        m.submodules.words = words = Memory(shape=unsigned(ram.width), depth=ram.rows, init=bits)
        reader, writer = words.read_port(), words.write_port()
        m.d.comb += [
            reader.addr.eq(ram.read_address),
            reader.en.eq(ram.read_enable),
            ram.read_data.eq(reader.data),
            writer.addr.eq(ram.write_address),
            writer.en.eq(ram.write_enable),
            writer.data.eq(ram.write_data),
        ]
        return m


@pytest.mark.parametrize(
    "order, sizes, inputs",
    [
        (1, (8,), {"crd1": "0 S0 D", "crd0": "8 S1 D", "val": "1 S1 D"}),
        (1, (200,), {"crd1": "0 S0 D", "crd0": "64 S1 D", "val": "1 S1 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "N S1 D", "val": "1 S1 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "7 S1 D", "val": "S1 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "7 S1 D", "val": "1 S0 D"}),
        # A stop against data whose low bits are its level.
        (1, (8,), {"crd1": "0 S0 D", "crd0": "S1 D", "val": "1 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "1 D", "val": "S1 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "7 S2 D", "val": "1 S2 D"}),
        (1, (8,), {"crd1": "S0 D", "crd0": "7 S1 D", "val": "1 S1 D"}),
        (1, (8,), {"crd1": "S0 D", "crd0": "S0 D", "val": "S0 D"}),
        (1, (8,), {"crd1": "0 S0 D", "crd0": "D", "val": "D"}),
        (1, (8,), {"crd1": "0 1 S0 D", "crd0": "S1 D", "val": "S1 D"}),
        (2, (8, 2), {"crd2": "0 S0 D", "crd1": "2 S1 D", "crd0": "7 S2 D", "val": "1 S2 D"}),
        (2, (9, 9), {"crd2": "0 S0 D", "crd1": "4 S1 D", "crd0": "0 S2 D", "val": "1 S2 D"}),
        (2, (99, 9), {"crd2": "0 S0 D", "crd1": "1 S1 D", "crd0": "0 S2 D", "val": "1 S2 D"}),
        (2, (8, 8), {"crd2": "0 S0 D", "crd1": "N S1 D", "crd0": "0 S2 D", "val": "1 S2 D"}),
        (2, (8, 8), {"crd2": "S0 D", "crd1": "1 S1 D", "crd0": "0 S1 D", "val": "1 S1 D"}),
        (2, (8, 8), {"crd2": "0 S1 D", "crd1": "1 S1 D", "crd0": "0 S2 D", "val": "1 S2 D"}),
    ],
)
def test_a_fault_where_streams_disagree_or_a_key_is_beyond_the_memory(order, sizes, inputs):
    with pytest.raises(AssertionError, match="fault in cycle"):
        run(accumulator(order), order, texts(inputs), sizes, cycles=100)


@pytest.mark.parametrize(
    "sizes, crd1, crd0", [((9, 4), 3, 8), ((64, 1), 0, 63), ((99, 9), 0, 63), ((1, 64), 63, 0)]
)
def test_the_last_key_of_the_memory(sizes, crd1, crd0):
    inputs = texts({"crd2": "0 S0 D", "crd1": f"{crd1} S1 D", "crd0": f"{crd0} S2 D"})
    inputs["val"] = parse_stream("5 S2 D")
    got = run(accumulator(2), 2, inputs, sizes)
    assert [format_stream(got[name]) for name in ("out_crd1", "out_crd0", "out_val")] == [
        f"{crd1} S0 D",
        f"{crd0} S1 D",
        "5 S1 D",
    ]


@pytest.mark.parametrize(
    "order, full, words", [(1, (False,), 32), (1, (True,), 1 << 17), (2, (False, True), 1 << 17)]
)
def test_verilog_is_clean(order, full, words):
    block = accumulator(order, "float32", words, full)
    assert lint(to_verilog(block, "accumulator"), "accumulator") == []
