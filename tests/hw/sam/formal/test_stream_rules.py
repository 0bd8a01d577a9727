"""No legal streams, pauses or waits whatever make a block break a rule of streams.

That is, within so many cycles: every output gives exactly the tokens that the inputs so far call
for, in order and none too early, and nothing after done; a token that waits stays as it is;
there is no fault; and once all has come, all goes out.
"""

from __future__ import annotations

import pytest

from hw.lib.formats import parse_format
from hw.sam.blocks.crd_drop import CrdDrop
from hw.sam.blocks.intersect import Intersect
from hw.sam.blocks.reduce import Reduce
from hw.sam.blocks.repeat import Repeat
from hw.sam.blocks.union import Union
from tests.hw.sam.formal.bounded import counterexample
from tests.hw.sam.formal.harness import Harness
from tests.hw.sam.formal.mutant import MUTATIONS, Mutant
from tests.hw.sam.formal.walks import WIDTH, CrdDropWalk, JoinWalk, ReduceWalk, RepeatWalk

_FORMAT = parse_format("fixed4.0")

BLOCKS = {
    "repeat": (lambda: Repeat(WIDTH, WIDTH), RepeatWalk()),
    "intersect": (lambda: Intersect(WIDTH, WIDTH, WIDTH), JoinWalk(keeps_all=False)),
    "union": (lambda: Union(WIDTH, WIDTH, WIDTH), JoinWalk(keeps_all=True)),
    "reduce": (lambda: Reduce(_FORMAT, "add", None), ReduceWalk(has_crd=False)),
    "reduce_with_crd": (lambda: Reduce(_FORMAT, "add", WIDTH), ReduceWalk(has_crd=True)),
    "crddrop": (lambda: CrdDrop(WIDTH, WIDTH), CrdDropWalk()),
}

CYCLES = {
    "repeat": 9,
    "intersect": 8,
    "union": 8,
    "reduce": 12,
    "reduce_with_crd": 12,
    "crddrop": 9,
}

OUTPUTS = [
    ("repeat", "out_ref"),
    ("intersect", "out_crd"),
    ("intersect", "out_ref0"),
    ("intersect", "out_ref1"),
    ("union", "out_crd"),
    ("union", "out_ref0"),
    ("union", "out_ref1"),
    ("reduce", "out_val"),
    ("reduce_with_crd", "out_val"),
    ("crddrop", "out_outer"),
    ("crddrop", "out_inner"),
]


def found(name, cycles):
    make, walk = BLOCKS[name]
    return counterexample(Harness(make(), walk), cycles)


@pytest.mark.parametrize("name", BLOCKS)
def test_rules_hold(name):
    assert found(name, CYCLES[name]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_rules_hold_for_longer(name):
    assert found(name, CYCLES[name] + 3) is None


def noticed(name, output, mutation, cycles):
    make, walk = BLOCKS[name]
    names, _ = counterexample(Harness(Mutant(make(), output, mutation), walk), cycles)
    return names


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_broken_rule_is_noticed(mutation):
    names = noticed("repeat", "out_ref", mutation, 14 if mutation == "hangs" else 7)
    assert any(name.startswith(MUTATIONS[mutation]) for name in names)


@pytest.mark.parametrize("name, output", OUTPUTS)
def test_a_lost_stop_is_noticed_on_every_output(name, output):
    assert f"is_wrong_{output}" in noticed(name, output, "loses", 7)
