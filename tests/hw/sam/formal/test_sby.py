"""The proofs of ``test_stream_rules``, a cycle shorter, by other tools and of Verilog."""

from __future__ import annotations

import pytest
from filelock import FileLock

from tests.hw.sam.formal.harness import Harness
from tests.hw.sam.formal.mutant import Mutant
from tests.hw.sam.formal.sby import has_solver, prepare, prove
from tests.hw.sam.formal.test_stream_rules import BLOCKS, CYCLES

pytestmark = pytest.mark.skipif(not has_solver(), reason="no yices-smt2 on this computer")


@pytest.fixture(scope="module", autouse=True)
def tools(tmp_path_factory):
    """Ready to start; made so by one process at a time, since all write the same file."""
    with FileLock(tmp_path_factory.getbasetemp().parent / "yosys.lock"):
        prepare()


@pytest.mark.parametrize("name", BLOCKS)
def test_rules_hold(name, tmp_path):
    make, walk = BLOCKS[name]
    assert prove(Harness(make(), walk), CYCLES[name] - 1, tmp_path) == ("PASS", [])


def test_a_lost_stop_is_noticed(tmp_path):
    make, walk = BLOCKS["repeat"]
    mutant = Harness(Mutant(make(), "out_ref", "loses"), walk)
    verdict, names = prove(mutant, 7, tmp_path)
    assert verdict == "FAIL"
    assert "is_wrong_out_ref" in names


def test_nothing_holds_without_a_reset(tmp_path):
    make, walk = BLOCKS["repeat"]
    verdict, _ = prove(Harness(make(), walk), 2, tmp_path, reset="1'b0")
    assert verdict == "FAIL"
