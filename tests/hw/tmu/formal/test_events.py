"""Words and tokens come in the order of the nest, whatever layers, memory and queues do.

That is, within so many cycles, for nests of two loops with a word and a token in each iteration,
and tokens where loops begin and end.
"""

from __future__ import annotations

import pytest

from tests.hw.tmu.formal.event_rules import MUTATIONS, EventRules
from tests.support.machines.proofs import SideBySide, has_solver, prove, reach
from tests.support.machines.yowasp import prepare

pytestmark = pytest.mark.skipif(not has_solver(), reason="no yices-smt2 on this computer")


@pytest.fixture(scope="module", autouse=True)
def tools():
    prepare()


def test_rules_hold(tmp_path):
    assert prove(EventRules(), 10, tmp_path) == ("PASS", [])


@pytest.mark.slow
def test_rules_hold_for_whole_nests(tmp_path):
    assert prove(EventRules(), 26, tmp_path) == ("PASS", [])


@pytest.mark.slow
def test_every_broken_rule_is_noticed(tmp_path):
    shows = {f"{mutation}_{rule}" for mutation, rule in MUTATIONS.items()}
    mutants = {mutation: EventRules(mutation) for mutation in MUTATIONS}
    assert reach(SideBySide(mutants, shows), 10, tmp_path) == shows
