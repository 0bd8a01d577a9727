"""No order of puts and takes makes the queues between the units break a rule.

That is, within so many cycles, with the least queues that a configuration permits: words and tokens
come in order, none is lost, doubled or made up, no token is visible before words that were put
ahead of it, and a vector in one row is there in one cycle.
"""

from __future__ import annotations

import pytest

from tests.hw.tmu.formal.queue_rules import (
    LANES,
    ROWS,
    TOKEN,
    TOKENS,
    BrokenQueue,
    QueueRules,
    ShallowQueue,
    ShallowTokens,
    whole_queue,
    whole_tokens,
)
from tests.support.machines.proofs import SideBySide, has_solver, prove, reach
from tests.support.machines.yowasp import prepare

pytestmark = pytest.mark.skipif(not has_solver(), reason="no yices-smt2 on this computer")

_CYCLES = 7

MUTANTS = {
    "doubles": (lambda: QueueRules(BrokenQueue("doubles"), whole_tokens()), "out_of_order"),
    "hurries": (lambda: QueueRules(BrokenQueue("hurries"), whole_tokens()), "made_up"),
    "waits": (lambda: QueueRules(BrokenQueue("waits"), whole_tokens()), "split"),
    "hides": (lambda: QueueRules(BrokenQueue("hides"), whole_tokens()), "stuck"),
    "loses": (
        lambda: QueueRules(ShallowQueue(ROWS * LANES, LANES), whole_tokens()),
        "out_of_order",
    ),
    "claims": (lambda: QueueRules(whole_queue(), whole_tokens(), ahead=1), "early_token"),
    "forgets": (
        lambda: QueueRules(whole_queue(), ShallowTokens(TOKENS, TOKEN.size)),
        "wrong_token",
    ),
}
"""What breaks a rule, and which."""


@pytest.fixture(scope="module", autouse=True)
def tools():
    prepare()


def test_rules_hold(tmp_path):
    assert prove(QueueRules(whole_queue(), whole_tokens()), _CYCLES, tmp_path) == ("PASS", [])


@pytest.mark.slow
def test_rules_hold_for_longer(tmp_path):
    assert prove(QueueRules(whole_queue(), whole_tokens()), 11, tmp_path) == ("PASS", [])


def test_every_broken_rule_is_noticed(tmp_path):
    shows = {f"{name}_{rule}" for name, (_, rule) in MUTANTS.items()}
    parts = {name: make() for name, (make, _) in MUTANTS.items()}
    assert reach(SideBySide(parts, shows), _CYCLES, tmp_path) == shows


@pytest.mark.slow
def test_a_lost_word_refutes_the_proof(tmp_path):
    make, _ = MUTANTS["loses"]
    verdict, broken = prove(make(), _CYCLES, tmp_path)
    assert verdict == "FAIL"
    assert broken
