from __future__ import annotations

import pytest

from hw.sam.repeat import Repeat
from hw.sam.token import format_stream, parse_stream
from tests.support.sam_streams import run_block


@pytest.mark.parametrize("stalls", [0.0, 0.4])
@pytest.mark.parametrize(
    "ref, repsig, expected",
    [
        ("5 6 7 S0 D", "0 0 S0 S0 0 S0 D", "5 5 S0 S0 7 S1 D"),
        ("5 S0 S0 6 S1 D", "0 0 S0 S0 0 S0 D", "5 5 S1 S1 6 S2 D"),
        ("0 D", "0 0 S0 D", "0 0 S0 D"),
        ("5 N S0 D", "0 S0 0 0 S0 D", "5 S0 N N S1 D"),
    ],
)
def test_examples_of_the_sam_tools(ref, repsig, expected, stalls):
    got = run_block(
        Repeat(8, 4),
        {"ref": parse_stream(ref), "repsig": parse_stream(repsig)},
        ["out_ref"],
        stalls=stalls,
    )
    assert format_stream(got["out_ref"]) == expected


def test_a_token_a_cycle():
    ref = "1 2 3 4 5 S0 D"
    repsig = "0 0 S0 S0 S0 0 S0 S0 D"
    got = run_block(
        Repeat(8, 4), {"ref": parse_stream(ref), "repsig": parse_stream(repsig)}, ["out_ref"]
    )
    assert format_stream(got["out_ref"]) == "1 1 S0 S0 S0 4 S0 S1 D"
    assert got["cycles"] == [9]
