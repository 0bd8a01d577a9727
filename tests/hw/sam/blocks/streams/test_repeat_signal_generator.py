from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.streams.repeat_signal_generator import RepeatSignalGenerator
from gnarl.hw.sam.token import DONE, stop
from tests.support.sam.nested import depths, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, parse_stream


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_example_of_the_sam_tools(share):
    got = run_block(
        RepeatSignalGenerator(8, 4),
        {"crd": parse_stream("1 2 S0 N S0 S1 D")},
        ["out_repsig"],
        stalls=share,
    )
    assert format_stream(got["out_repsig"]) == "0 0 S0 0 S0 S1 D"


@settings(max_examples=15)
@given(st.data(), depths(), stalls())
def test_any_stream(data, depth, how):
    crd = stream(data.draw(trees(depth, words(8))), depth)
    got = run_block(RepeatSignalGenerator(8, 4), {"crd": crd}, ["out_repsig"], **how)
    is_stop = [token in range(stop(0), stop(depth)) for token in crd[:-1]]
    signals = [token if end else 0 for token, end in zip(crd, is_stop, strict=False)]
    assert got["out_repsig"] == [*signals, DONE]
    if how["stalls"] == 0:
        assert got["cycles"] == [len(crd)]
