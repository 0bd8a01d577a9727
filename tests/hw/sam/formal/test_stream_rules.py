"""No legal streams, pauses or waits whatever make a block break a rule of streams.

That is, within so many cycles: every output gives exactly the tokens that the inputs so far call
for, in order and none too early, and nothing after done; a token that waits stays as it is;
there is no fault; and once all has come, all goes out.
"""

from __future__ import annotations

import pytest

from gnarl.hw.lib.formats import parse_format
from gnarl.hw.sam.blocks.joins.intersect import Intersect
from gnarl.hw.sam.blocks.joins.union import Union
from gnarl.hw.sam.blocks.streams.crd_drop import CrdDrop
from gnarl.hw.sam.blocks.streams.crd_parallelizer import CrdParallelizer
from gnarl.hw.sam.blocks.streams.repeat import Repeat
from gnarl.hw.sam.blocks.streams.val_serializer import ValSerializer
from gnarl.hw.sam.blocks.values.fold import Fold
from gnarl.hw.sam.blocks.values.reduce import Reduce
from tests.hw.sam.formal.harness import Harness
from tests.hw.sam.formal.mutant import MUTATIONS, Mutant
from tests.hw.sam.formal.walks import (
    WIDTH,
    CrdDropWalk,
    CrdParallelizerWalk,
    FoldWalk,
    JoinWalk,
    ReduceWalk,
    RepeatWalk,
    ValSerializerWalk,
)
from tests.support.machines.proofs import SideBySide, has_solver, prove, reach
from tests.support.machines.yowasp import prepare

pytestmark = pytest.mark.skipif(not has_solver(), reason="no yices-smt2 on this computer")

_FORMAT = parse_format("fixed4.0")

BLOCKS = {
    "repeat": (lambda: Repeat(WIDTH, WIDTH), RepeatWalk()),
    "intersect": (lambda: Intersect(WIDTH, WIDTH, WIDTH), JoinWalk(keeps_all=False)),
    "union": (lambda: Union(WIDTH, WIDTH, WIDTH), JoinWalk(keeps_all=True)),
    "reduce": (lambda: Reduce(_FORMAT, "add", None), ReduceWalk(has_crd=False)),
    "reduce_with_crd": (lambda: Reduce(_FORMAT, "add", WIDTH), ReduceWalk(has_crd=True)),
    "fold": (lambda: Fold(_FORMAT, "add", ((0, 1),), 2), FoldWalk()),
    "crddrop": (lambda: CrdDrop(WIDTH, WIDTH), CrdDropWalk()),
    "crdparallelizer": (lambda: CrdParallelizer(WIDTH, WIDTH, 2), CrdParallelizerWalk()),
    "valserializer": (lambda: ValSerializer(WIDTH, WIDTH, 2), ValSerializerWalk()),
}

CYCLES = {
    "repeat": 8,
    "intersect": 6,
    "union": 6,
    "reduce": 8,
    "reduce_with_crd": 8,
    "fold": 7,
    "crddrop": 7,
    "crdparallelizer": 7,
    "valserializer": 8,
}
MORE_CYCLES = 6

OUTPUTS = {
    "repeat": ["out_ref"],
    "intersect": ["out_crd", "out_ref0", "out_ref1"],
    "union": ["out_crd", "out_ref0", "out_ref1"],
    "reduce": ["out_val"],
    "reduce_with_crd": ["out_val"],
    "fold": ["out_val"],
    "crddrop": ["out_outer", "out_inner"],
    "crdparallelizer": ["o0", "o1"],
    "valserializer": ["out_val"],
}


@pytest.fixture(scope="module", autouse=True)
def tools():
    prepare()


def harness(name):
    make, walk = BLOCKS[name]
    return Harness(make(), walk)


def broken(name, output, mutation):
    make, walk = BLOCKS[name]
    return Harness(Mutant(make(), output, mutation), walk)


@pytest.mark.parametrize("name", BLOCKS)
def test_rules_hold(name, tmp_path):
    assert prove(harness(name), CYCLES[name], tmp_path) == ("PASS", [])


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_rules_hold_for_longer(name, tmp_path):
    assert prove(harness(name), CYCLES[name] + MORE_CYCLES, tmp_path) == ("PASS", [])


@pytest.mark.parametrize(
    "hang",
    [
        pytest.param(False, id="all_but_hangs", marks=pytest.mark.slow),
        pytest.param(True, id="hangs"),
    ],
)
def test_every_broken_rule_is_noticed(hang, tmp_path):
    mutations = [mutation for mutation in MUTATIONS if (mutation == "hangs") == hang]
    mutants = {mutation: broken("repeat", "out_ref", mutation) for mutation in mutations}
    shows = {f"{mutation}_{shown_by(mutation)}" for mutation in mutations}
    assert reach(SideBySide(mutants, shows), 14 if hang else 7, tmp_path) == shows


def shown_by(mutation):
    """The output of the harness of a mutated ``repeat`` that has to become 1."""
    rule = MUTATIONS[mutation]
    return f"{rule}_out_ref" if rule in ("is_wrong", "is_unstable") else rule


@pytest.mark.slow
def test_a_lost_stop_is_noticed_on_every_output(tmp_path):
    mutants = {
        f"{name}_{output}": broken(name, output, "loses")
        for name, outputs in OUTPUTS.items()
        for output in outputs
    }
    shows = {f"{name}_{output}_is_wrong_{output}" for name in OUTPUTS for output in OUTPUTS[name]}
    assert reach(SideBySide(mutants, shows), 7, tmp_path) == shows


def test_a_lost_stop_refutes_a_proof(tmp_path):
    verdict, names = prove(broken("repeat", "out_ref", "loses"), 7, tmp_path)
    assert verdict == "FAIL"
    assert "is_wrong_out_ref" in names


def test_nothing_holds_without_a_reset(tmp_path):
    verdict, _ = prove(harness("repeat"), 2, tmp_path, reset="1'b0")
    assert verdict == "FAIL"
