"""Where tokens stand among the words of their cases."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.tmu.access_isa import Event, EventKind
from gnarl.hw.tmu.access_program import EventStep
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.access.early_tokens import early_tokens
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_sum
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.programs import bags

WORD, VECTOR = EventStep(EventKind.WORD), EventStep(EventKind.VECTOR)
FIRST, SECOND = (EventStep(EventKind.TOKEN, token=token) for token in range(2))
LANES = 4


def test_words_of_an_event():
    """Words up to a token: 6, and then 2."""
    steps = [WORD, VECTOR, WORD, FIRST, WORD, WORD, SECOND]
    layers = [{Event.ITERATION: steps}]
    assert early_tokens(layers, 9, LANES, 6) == layers
    (events,) = early_tokens(layers, 9, LANES, 5)
    assert events == {Event.ITERATION: [FIRST, WORD, VECTOR, WORD, WORD, WORD, SECOND]}
    assert layers[0][Event.ITERATION] is steps
    assert steps[0] == WORD


@pytest.mark.parametrize("data_words, is_early", [(13, False), (12, True)])
def test_words_of_a_loop(data_words, is_early):
    """Three vectors, and a word before them, behind what has its token already."""
    layers = [
        {Event.ITERATION: [WORD, WORD, FIRST, WORD]},
        {Event.ITERATION: [VECTOR], Event.END: [SECOND]},
    ]
    wanted = [
        {Event.ITERATION: [WORD, WORD, FIRST, SECOND, WORD]},
        {Event.ITERATION: [VECTOR], Event.END: []},
    ]
    assert early_tokens(layers, 3, LANES, data_words) == (wanted if is_early else layers)


def test_a_loop_of_unknown_length_and_one_alone():
    layers = [{Event.ITERATION: [WORD], Event.END: [WORD, FIRST, SECOND]}]
    wanted = {Event.ITERATION: [WORD], Event.END: [WORD, SECOND], Event.BEGIN: [FIRST]}
    assert early_tokens(layers, None, LANES, 1024) == [wanted]


def test_tokens_in_a_loop_stay_in_order():
    layers = [{}, {Event.ITERATION: [WORD, FIRST], Event.END: [SECOND]}]
    assert early_tokens(layers, None, LANES, 4) == layers


@pytest.mark.parametrize("dim, is_early", [(1024, False), (1032, True)])
def test_rows_that_the_data_queue_does_not_hold(dim, is_early):
    values = bags(np.random.default_rng(0), [2, 1], dim)
    inputs = {name: values[name] for name in ("table", "indices", "offsets")}
    workload = LoopWorkload("bags", embedding_bag_sum, inputs)
    program = compile(workload, TmuConfig(program_words=4096), trace=Trace(), opt=3)
    lookups, elements = access_of(program.launches[0]).layers[1:]
    assert (Event.ITERATION in lookups.events) == is_early
    assert (Event.END in elements.events) != is_early
