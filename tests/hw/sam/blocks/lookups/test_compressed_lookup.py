from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.lookups.compressed_lookup import CompressedLookup
from gnarl.hw.sam.blocks.ports import FIBER_BITS
from gnarl.hw.sam.token import EMPTY, Kind
from tests.support.sam.nested import depths, fibers, mapped, stalls, stream, trees
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream

OUTPUTS = ["out_crd", "out_ref"]
SKIPS = pytest.mark.parametrize("skip", [False, True])


def arrays(level: Sequence[Sequence[int]]) -> dict[str, list[tuple[int, ...]]]:
    """Rows of segments and of coordinates."""
    ends = [sum(map(len, level[: place + 1])) for place in range(len(level))]
    segments = [(end - len(fiber), end) for end, fiber in zip(ends, level, strict=True)]
    return {"mem_seg": segments, "mem_crd": [(crd,) for fiber in level for crd in fiber]}


def run(level, refs, skip=False, drive=None, **arguments):
    return run_block(
        CompressedLookup(16, skip, 4096),
        {"ref": refs},
        OUTPUTS,
        memories=arrays(level),
        drive=drive,
        **arguments,
    )


# Segments 0 2 2 3 3 and coordinates 0 2 1; more of them below.
CSR = [[0, 2], [], [1], []]


@SKIPS
@pytest.mark.parametrize(
    "refs, crd, ref",
    [
        ("0 1 2 3 S0 D", "0 2 S0 S0 1 S0 S1 D", "0 1 S0 S0 2 S0 S1 D"),
        ("0 S0 S0 2 S1 D", "0 2 S1 S1 1 S2 D", "0 1 S1 S1 2 S2 D"),
        ("0 N 2 S0 D", "0 2 S0 S0 1 S1 D", "0 1 S0 S0 2 S1 D"),
        ("0 D", "0 2 S0 D", "0 1 S0 D"),
        ("2 D", "1 S0 D", "2 S0 D"),
        ("0 0 0 S0 2 2 S0 S1 D", "0 2 S0 0 2 S0 0 2 S1 1 S0 1 S1 S2 D", None),
    ],
)
def test_two_reads_and_a_token_a_cycle(refs, crd, ref, skip):
    got = run(CSR, parse_stream(refs), skip)
    assert format_stream(got["out_crd"]) == crd
    if ref is not None:
        assert format_stream(got["out_ref"]) == ref
    assert got["cycles"] == [2 + len(got["out_crd"])]


@SKIPS
def test_an_empty_level_takes_a_cycle_a_reference(skip):
    got = run(CSR, parse_stream("1 3 1 3 1 3 S0 D"), skip)
    assert format_stream(got["out_crd"]) == "S0 S0 S0 S0 S0 S1 D"
    assert got["cycles"] == [8]


@SKIPS
@pytest.mark.parametrize("refs, cycles", [("D", 1), ("S0 S1 D", 3), ("N S0 D", 3)])
def test_what_reads_nothing_does_not_wait(refs, cycles, skip):
    assert run(CSR, parse_stream(refs), skip)["cycles"] == [cycles]


@SKIPS
@pytest.mark.parametrize("latency", [2, 3, 6])
def test_a_token_a_cycle_at_any_latency(latency, skip):
    level = [[3 * place] * (place % 3 != 1) for place in range(30)]
    got = run(level, [*range(30), *parse_stream("S0 D")], skip, latency=latency)
    assert got["cycles"] == [2 * latency + len(got["out_crd"])]


@SKIPS
def test_a_fiber_does_not_wait_for_the_next_reference(skip):
    """What follows the reference comes when all of its coordinates are out."""
    got = run([list(range(50))], parse_stream("0 D"), skip, stalls=0.0)
    assert got["cycles"] == [2 + 50 + 2]


def expected(tree, depth, level):
    starts = [sum(map(len, level[:place])) for place in range(len(level))]
    crds = mapped(lambda ref: [] if ref == EMPTY else level[ref], tree, depth)
    refs = mapped(
        lambda ref: [] if ref == EMPTY else list(range(starts[ref], starts[ref] + len(level[ref]))),
        tree,
        depth,
    )
    return stream(crds, depth + 1), stream(refs, depth + 1)


fibers_with_few = st.lists(st.integers(0, 31), max_size=6, unique=True).map(sorted)
levels = st.lists(fibers_with_few, min_size=1, max_size=6)


@SKIPS
@example_settings(max_examples=7)
@given(data=st.data())
def test_any_nested_stream(skip, data):
    depth = data.draw(depths(0, 3))
    level = data.draw(levels)
    leaf = st.one_of(st.integers(0, len(level) - 1), st.just(EMPTY))
    tree = data.draw(trees(depth, leaf))
    latency = data.draw(st.sampled_from([1, 1, 2, 5]))
    got = run(level, stream(tree, depth), skip, latency=latency, **data.draw(stalls()))
    assert (got["out_crd"], got["out_ref"]) == expected(tree, depth, level)


class RandomHints:
    """True of what it says: what it will need of each fiber is settled from the start.

    Its hints come and go, and name any fiber; of the one that is being given, the last coordinate
    needed is still to come, or none is.
    """

    def __init__(self, needed: Sequence[Sequence[int]], seed: int, share: float) -> None:
        self._needed = needed
        self._noise = random.Random(seed)
        self._share = share

    def __call__(self, collected):
        noise = self._noise
        tokens = collected["out_crd"]
        fiber = sum(kind_of(token) == Kind.STOP for token in tokens)
        hint = {
            "crd": noise.getrandbits(16),
            "fiber": noise.getrandbits(FIBER_BITS),
            "stop": 0,
            "valid": 0,
        }
        if noise.random() >= self._share or fiber >= len(self._needed):
            return {"hint": hint}
        named = max(0, fiber - noise.choice([0, 0, 0, 1, 2]))
        left = self._needed[named]
        if named == fiber:
            begun = tokens[-1:] if tokens and kind_of(tokens[-1]) == Kind.DATA else [-1]
            left = [crd for crd in left if crd > begun[0]]
        else:
            left = []
        hint |= {"valid": 1, "fiber": named, "stop": int(not left)}
        if left:
            hint["crd"] = left[0]
        return {"hint": hint}


def check_hints(data):
    depth = data.draw(depths(0, 2))
    noise = random.Random(data.draw(st.integers(0, 1 << 32)))
    level = [sorted(noise.sample(range(1000), noise.choice([0, 1, 5, 60]))) for _ in range(3)]
    leaf = st.one_of(st.integers(0, len(level) - 1), st.just(EMPTY))
    tree = data.draw(trees(depth, leaf))
    crds, refs = (fibers(tokens) for tokens in expected(tree, depth, level))
    share = noise.choice([0.0, 0.02, 0.2])
    needed = [[crd for crd in fiber[:-1] if noise.random() < share] for fiber in crds]
    hints = RandomHints(needed, noise.getrandbits(32), noise.choice([0.3, 0.9, 1.0]))
    latency = data.draw(st.sampled_from([1, 1, 2, 5]))
    got = run(level, stream(tree, depth), True, hints, latency=latency, **data.draw(stalls()))
    got_crds, got_refs = fibers(got["out_crd"]), fibers(got["out_ref"])
    assert len(got_crds) == len(got_refs) == len(crds)
    for place, fiber in enumerate(crds):
        assert got_crds[place][-1] == got_refs[place][-1] == fiber[-1]
        given = dict(zip(got_crds[place][:-1], got_refs[place][:-1], strict=True))
        assert list(given) == got_crds[place][:-1] == sorted(given)
        assert given.items() <= dict(zip(fiber, refs[place], strict=True)).items()
        assert given.keys() >= set(needed[place])


@example_settings(max_examples=7)
@given(st.data())
def test_hints_leave_out_nothing_that_is_needed(data):
    check_hints(data)


@pytest.mark.slow
@example_settings(max_examples=200)
@given(st.data())
def test_many_hints_leave_out_nothing_that_is_needed(data):
    check_hints(data)


def constant(**hint):
    return lambda collected: {"hint": {"valid": 1, "fiber": 0, "stop": 0, "crd": 0} | hint}


EVEN = [list(range(0, 2000, 2))]


def test_hints_beyond_a_fiber_end_it_after_a_search():
    got = run(EVEN, parse_stream("0 S0 D"), True, constant(crd=5000))
    assert format_stream(got["out_crd"]) == "S1 D"
    # 1000 rows, of which 10 probes at doubling distances pass all.
    assert got["cycles"] == [16]


@pytest.mark.parametrize("row", [40, 100, 600, 601, 990, 999])
def test_a_jump_takes_twice_the_logarithm(row):
    got = run(EVEN, parse_stream("0 S0 D"), True, constant(crd=2 * row))
    assert got["out_crd"][0] == 2 * row
    assert got["out_ref"] == [*range(row, 1000), *parse_stream("S1 D")]
    before = got["cycles"][0] - len(got["out_crd"])
    assert before <= min(row, 6 + 2 * (row - 1).bit_length())


def test_a_hint_of_the_other_lanes_stop_ends_a_fiber():
    got = run(EVEN, parse_stream("0 S0 D"), True, constant(stop=1))
    assert format_stream(got["out_crd"]) == "S1 D"
    assert got["cycles"] == [4]


@pytest.mark.parametrize("hint", [{"crd": 0}, {"fiber": 1, "crd": 5000}, {"fiber": 1, "stop": 1}])
def test_hints_that_do_not_concern_what_comes_change_nothing(hint):
    got = run(EVEN, parse_stream("0 S0 D"), True, constant(**hint))
    assert got["out_crd"] == [*EVEN[0], *parse_stream("S1 D")]
    assert got["cycles"] == [2 + 1000 + 2]


def gap_after(rows):
    """Coordinates that suggest a jump over many, where only those of ``rows`` are to be passed."""
    return [*range(rows), *range(1000, 1080)]


@pytest.mark.parametrize("latency, lost", [(1, 3), (2, 4), (4, 6)])
def test_a_jump_that_does_not_pay_costs_little(latency, lost):
    refs = parse_stream("0 S0 D")
    for rows in (3, 6, 8, 40):
        walked = run([gap_after(rows)], refs, False, latency=latency)
        jumped = run([gap_after(rows)], refs, True, constant(crd=1000), latency=latency)
        assert jumped["out_crd"] == [*range(1000, 1080), *parse_stream("S1 D")]
        assert jumped["cycles"][0] <= walked["cycles"][0] + lost


@pytest.mark.parametrize("latency", [1, 4])
def test_probes_of_a_search_that_was_given_up_do_not_count_for_the_next(latency):
    fiber = gap_after(30)
    for row in range(32, 100, 8):
        needed = [1000, fiber[row], 1079]
        hints = RandomHints([needed], 0, 1.0)
        got = run([fiber], parse_stream("0 S0 D"), True, hints, latency=latency)
        crds = fibers(got["out_crd"])[0][:-1]
        assert crds == sorted(set(crds))
        assert set(crds) >= set(needed)


@SKIPS
@pytest.mark.parametrize(
    "segment, ref",
    [((2, 1), 0), ((0, 4097), 0), ((0, 1), 4096)],
)
def test_faults(segment, ref, skip):
    memories = {"mem_seg": [segment], "mem_crd": [(0,)]}
    with pytest.raises(AssertionError, match="fault in cycle"):
        run_block(CompressedLookup(16, skip, 4096), {"ref": [ref]}, OUTPUTS, memories=memories)


@SKIPS
def test_a_fiber_may_end_where_the_array_does(skip):
    block = CompressedLookup(16, skip, 3)
    refs = parse_stream("0 2 S0 D")
    got = run_block(block, {"ref": refs}, OUTPUTS, memories=arrays(CSR))
    assert format_stream(got["out_crd"]) == "0 2 S0 1 S1 D"
