from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from hw.sam.compressed_lookup import CompressedLookup
from hw.sam.token import EMPTY, Kind, format_stream, kind_of, parse_stream
from tests.support.sam_nested import depths, mapped, stalls, stream, trees
from tests.support.sam_streams import run_block

OUTPUTS = ["out_crd", "out_ref"]
SKIPS = pytest.mark.parametrize("skip", [False, True])


def arrays(fibers: Sequence[Sequence[int]]) -> dict[str, list[tuple[int, ...]]]:
    """Rows of segments and of coordinates."""
    ends = [sum(map(len, fibers[: place + 1])) for place in range(len(fibers))]
    segments = [(end - len(fiber), end) for end, fiber in zip(ends, fibers, strict=True)]
    return {"mem_seg": segments, "mem_crd": [(crd,) for fiber in fibers for crd in fiber]}


def run(fibers, refs, skip=False, drive=None, **arguments):
    return run_block(
        CompressedLookup(16, skip, 4096),
        {"ref": refs},
        OUTPUTS,
        memories=arrays(fibers),
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
    fibers = [[3 * place] * (place % 3 != 1) for place in range(30)]
    got = run(fibers, [*range(30), *parse_stream("S0 D")], skip, latency=latency)
    assert got["cycles"] == [2 * latency + len(got["out_crd"])]


@SKIPS
def test_a_fiber_does_not_wait_for_the_next_reference(skip):
    """What follows the reference comes when all of its coordinates are out."""
    got = run([list(range(50))], parse_stream("0 D"), skip, stalls=0.0)
    assert got["cycles"] == [2 + 50 + 2]


def expected(tree, depth, fibers):
    starts = [sum(map(len, fibers[:place])) for place in range(len(fibers))]
    crds = mapped(lambda ref: [] if ref == EMPTY else fibers[ref], tree, depth)
    refs = mapped(
        lambda ref: (
            [] if ref == EMPTY else list(range(starts[ref], starts[ref] + len(fibers[ref])))
        ),
        tree,
        depth,
    )
    return stream(crds, depth + 1), stream(refs, depth + 1)


def fibers_of(tokens):
    """Fibers of a stream, each with its stop; what lies beyond the last one, too."""
    found = [[]]
    for token in tokens:
        found[-1].append(token)
        if kind_of(token) == Kind.STOP:
            found.append([])
    return found


fibers_with_few = st.lists(st.integers(0, 31), max_size=6, unique=True).map(sorted)
levels = st.lists(fibers_with_few, min_size=1, max_size=6)


@SKIPS
@example_settings(max_examples=25)
@given(data=st.data())
def test_any_nested_stream(skip, data):
    depth = data.draw(depths(0, 3))
    fibers = data.draw(levels)
    leaf = st.one_of(st.integers(0, len(fibers) - 1), st.just(EMPTY))
    tree = data.draw(trees(depth, leaf))
    latency = data.draw(st.sampled_from([1, 1, 2, 5]))
    got = run(fibers, stream(tree, depth), skip, latency=latency, **data.draw(stalls()))
    assert (got["out_crd"], got["out_ref"]) == expected(tree, depth, fibers)


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
        hint = {"crd": noise.getrandbits(16), "fiber": noise.getrandbits(8), "stop": 0, "valid": 0}
        if noise.random() >= self._share or fiber >= len(self._needed):
            return {"hint": hint}
        named = max(0, fiber - noise.choice([0, 0, 0, 1, 2]))
        left = self._needed[named]
        if named == fiber:
            given = fibers_of(tokens)[-1]
            left = [crd for crd in left if crd > max(given, default=-1)]
        else:
            left = []
        hint |= {"valid": 1, "fiber": named % 256, "stop": int(not left)}
        if left:
            hint["crd"] = left[0]
        return {"hint": hint}


@example_settings(max_examples=60)
@given(data=st.data())
def test_hints_leave_out_nothing_that_is_needed(data):
    depth = data.draw(depths(0, 2))
    noise = random.Random(data.draw(st.integers(0, 1 << 32)))
    fibers = [
        sorted(noise.sample(range(1000), noise.choice([0, 1, 5, 20, 100, 200]))) for _ in range(4)
    ]
    leaf = st.one_of(st.integers(0, len(fibers) - 1), st.just(EMPTY))
    tree = data.draw(trees(depth, leaf))
    crds, refs = (fibers_of(tokens) for tokens in expected(tree, depth, fibers))
    share = noise.choice([0.0, 0.02, 0.2])
    needed = [[crd for crd in fiber[:-1] if noise.random() < share] for fiber in crds]
    hints = RandomHints(needed, noise.getrandbits(32), noise.choice([0.3, 0.9, 1.0]))
    latency = data.draw(st.sampled_from([1, 1, 2, 5]))
    got = run(fibers, stream(tree, depth), True, hints, latency=latency, **data.draw(stalls()))
    got_crds, got_refs = fibers_of(got["out_crd"]), fibers_of(got["out_ref"])
    assert len(got_crds) == len(got_refs) == len(crds)
    for place, fiber in enumerate(crds):
        assert got_crds[place][-1] == got_refs[place][-1] == fiber[-1]
        given = dict(zip(got_crds[place][:-1], got_refs[place][:-1], strict=True))
        assert list(given) == sorted(given)
        assert given.items() <= dict(zip(fiber, refs[place], strict=True)).items()
        assert given.keys() >= set(needed[place])


def constant(**hint):
    return lambda collected: {"hint": {"valid": 1, "fiber": 0, "stop": 0, "crd": 0} | hint}


def test_a_jump_takes_twice_the_logarithm():
    fiber = list(range(0, 2000, 2))
    refs = parse_stream("0 S0 D")
    beyond = run([fiber], refs, True, constant(crd=5000))
    assert format_stream(beyond["out_crd"]) == "S1 D"
    print(beyond["cycles"], beyond["reads_mem_crd"])
    to_row_600 = run([fiber], refs, True, constant(crd=1200))
    assert to_row_600["out_crd"][0] == 1200
    assert to_row_600["out_ref"][0] == 600
    print(to_row_600["cycles"], 1000 - 600, to_row_600["reads_mem_crd"])
    ended = run([fiber], refs, True, constant(stop=1))
    print(ended["cycles"])
