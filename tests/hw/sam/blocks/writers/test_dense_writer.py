from __future__ import annotations

import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.hw.sam.blocks.writers.dense_writer import DenseWriter
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.sam.tokens import parse_stream
from tests.support.sam.writers import run_writer


@pytest.mark.parametrize("text", ["D", "S0 D", "0 1 2 S0 S0 N 1 2 S1 S2 D"])
def test_takes_a_token_a_cycle_until_done(text):
    tokens = parse_stream(text)
    assert run_writer(DenseWriter(8), tokens)["cycles"] == len(tokens)


def test_waits_for_the_stream():
    assert run_writer(DenseWriter(8), parse_stream("0 1 S0 D"), stalls=0.9)["cycles"] > 4


def test_verilog_is_clean():
    assert lint(to_verilog(DenseWriter(32), "writer"), "writer") == []
