"""All operations of Ember's table I whose loops are one chain, at all levels, on the model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.compile import LEVELS
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations import (
    block_gather,
    embedding_bag,
    fused_mm,
    knowledge_graph,
    spmm,
)
from tests.support.parameters import slow_but_pairs
from tests.support.tmu.operations import LENGTHS, operation_inputs
from tests.support.tmu.programs import check

CONFIG = TmuConfig(lanes=4)

NESTS: Mapping[str, Nest] = {
    nest.name: nest
    for nest in (
        embedding_bag.embedding_bag_max,
        embedding_bag.embedding_bag_lengths,
        spmm.spmm_csr,
        spmm.spmm_coo,
        fused_mm.fused_mm,
        knowledge_graph.knowledge_graph_l1,
        knowledge_graph.knowledge_graph_l2,
        block_gather.block_gather,
        block_gather.token_gather,
    )
}


@pytest.mark.parametrize("name, opt, dim", slow_but_pairs([*NESTS], LEVELS, (1, 6, 36)))
def test_operations(name: str, opt: int, dim: int):
    values = operation_inputs(dim)
    if name == "spmm_coo":
        values["out"] = np.zeros((len(LENGTHS), dim), np.float32)
    check(NESTS[name], values, CONFIG, opt)


def test_lengths_are_bounds_of_the_access_unit():
    """The execute unit takes no words but the rows."""
    run = check(NESTS["embedding_bag_lengths"], operation_inputs(8), CONFIG, 4)
    assert run.counters["words_queued"] == 8 * sum(LENGTHS)


def test_a_maximum_takes_an_instruction_a_vector():
    """A branch, a variable and a jump beside; nothing but rows goes through the queue."""
    run = check(NESTS["embedding_bag_max"], operation_inputs(8), CONFIG, 4)
    vectors = 8 // CONFIG.lanes
    assert run.counters["words_queued"] == 8 * sum(LENGTHS)
    segment = 2 * vectors + 4
    look_ups = sum(LENGTHS) * (vectors + 3)
    assert run.counters["instructions"] == 2 + vectors + look_ups + len(LENGTHS) * segment


def test_a_value_that_is_used_again_after_its_variable_has_changed():
    from gnarl.sw.workloads.loops.python.source import read_source

    nest = read_source(
        "n = sizes('n')\n\n\n@nest\n"
        "def f(x: float32[n], y: float32[n]):\n"
        "    s = 0.0\n"
        "    for i in range(n):\n"
        "        before = s\n"
        "        s = s + x[i]\n"
        "        y[i] = before\n",
        "file.py",
    )
    check(nest, {"x": np.arange(9, dtype=np.float32)}, CONFIG, 0)
