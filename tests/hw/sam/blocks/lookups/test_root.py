from __future__ import annotations

import pytest

from gnarl.hw.sam.blocks.lookups.root import Root
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream


def test_begins_in_the_first_cycle():
    got = run_block(Root(8), {}, ["out_ref"])
    assert format_stream(got["out_ref"]) == "0 D"
    assert got["cycles"] == [2]


@pytest.mark.parametrize("seed", range(4))
def test_waits_for_its_reader(seed):
    got = run_block(Root(8), {}, ["out_ref"], stalls=0.7, seed=seed)
    assert format_stream(got["out_ref"]) == "0 D"
