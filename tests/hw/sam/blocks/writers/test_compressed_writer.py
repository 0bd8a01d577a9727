from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.blocks.writers.compressed_writer import CompressedWriter
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.sam.nested import depths, fibers, stalls, stream, trees
from tests.support.sam.tokens import parse_stream
from tests.support.sam.writers import run_writer

ARRAYS = "seg", "crd"
COUNTS = "fibers", "entries"


def segments(ends: list[int]) -> list[list[int]]:
    return [list(pair) for pair in pairwise([0, *ends])]


@pytest.mark.parametrize(
    "text, keep_empty, ends, crds",
    [
        # Ends are those of the SAM tools' writer.
        ("0 2 S0 S0 1 S1 D", False, [2, 3], [0, 2, 1]),
        ("0 2 S0 S0 1 S1 D", True, [2, 2, 3], [0, 2, 1]),
        ("S0 D", False, [], []),
        ("S0 D", True, [0], []),
        ("S0 S1 255 S0 S2 D", False, [1], [255]),
        ("S0 S1 255 S0 S2 D", True, [0, 0, 1, 1], [255]),
        ("D", True, [], []),
    ],
)
def test_examples(text, keep_empty, ends, crds):
    tokens = parse_stream(text)
    got = run_writer(CompressedWriter(8, 300, keep_empty), tokens, ARRAYS, COUNTS)
    assert got == {
        "seg": segments(ends),
        "crd": [[crd] for crd in crds],
        "fibers": len(ends),
        "entries": len(crds),
        "cycles": len(tokens),
    }


@settings(max_examples=10)
@given(st.data(), depths(), st.booleans(), stalls())
def test_random_streams(data, depth, keep_empty, pauses):
    coordinates = st.lists(st.integers(0, 255), max_size=6, unique=True).map(sorted)
    tokens = stream(data.draw(trees(depth - 1, coordinates)), depth)
    crds: list[int] = []
    ends = []
    for *fiber, _ in fibers(tokens):
        crds += fiber
        if keep_empty or fiber:
            ends.append(len(crds))
    got = run_writer(CompressedWriter(16, 300, keep_empty), tokens, ARRAYS, COUNTS, **pauses)
    del got["cycles"]
    assert got == {
        "seg": segments(ends),
        "crd": [[crd] for crd in crds],
        "fibers": len(ends),
        "entries": len(crds),
    }


@pytest.mark.parametrize(
    "text, cycle", [("1 2 3 4 5 S0 D", 4), ("S0 S0 S0 S0 S1 D", 4), ("1 2 N S0 D", 2)]
)
def test_a_fault_when_an_array_is_full_or_a_coordinate_empty(text, cycle):
    with pytest.raises(AssertionError, match=f"fault in cycle {cycle}"):
        run_writer(CompressedWriter(8, 4, True), parse_stream(text), ARRAYS)


@pytest.mark.parametrize("keep_empty", [False, True])
def test_verilog_is_clean(keep_empty):
    assert lint(to_verilog(CompressedWriter(32, 1 << 18, keep_empty), "writer"), "writer") == []
