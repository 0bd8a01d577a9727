from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.compiler.dpu.bounds import lower_bounds
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from tests.support.dpu.dags import SHAPES, dags, shape
from tests.sw.compiler.dpu.passes import built, configs, run_passes


def path(dag: Dag, **fields: int) -> int:
    config = DpuConfig(**{"depth": 3, "banks": 8} | fields)
    return lower_bounds(dag, config, 0)["bound_critical_path"]


def sum_of(count: int, reassociate: bool = True) -> Dag:
    def build(builder: DagBuilder) -> None:
        builder.operation(Op.ADD, [builder.input() for _ in range(count)])

    return built(build, reassociate)


def test_operations_over_pes():
    # 300 summands are 299 operations; two trees of 7 PEs.
    bounds = lower_bounds(shape("star"), DpuConfig(depth=3, banks=16), 0)
    assert bounds["bound_operations"] == 22 == -(-299 // 14)


def test_operations_that_no_output_needs_do_not_count():
    dag = replace(shape("star"), outputs=np.array([0]))
    assert lower_bounds(dag, DpuConfig(depth=3, banks=16), 0)["lower_bound"] == 0


def test_inputs_over_words_of_a_row():
    bounds = [lower_bounds(shape("star"), DpuConfig(banks=64), n) for n in (0, 1, 64, 65, 300)]
    assert [bound["bound_inputs"] for bound in bounds] == [0, 1, 1, 2, 5]


@pytest.mark.parametrize(
    ("count", "levels"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (64, 6), (65, 7)]
)
def test_operands_of_one_node_are_combined_in_pairs(count: int, levels: int):
    # One level costs a cycle, and every third begins with another crossbar.
    assert path(sum_of(count)) == levels + -(-levels // 3)
    assert path(sum_of(count), pe_stages=4) == 4 * levels + -(-levels // 3)


def test_operands_kept_in_order_are_a_chain():
    assert path(sum_of(9, reassociate=False)) == 8 + 3


def test_late_operands_enter_above_the_others():
    def build(builder: DagBuilder) -> None:
        a, b, c, d = (builder.input() for _ in range(4))
        late = builder.operation(Op.MUL, [builder.operation(Op.MUL, [a, b]), c])
        builder.operation(Op.ADD, [late, a, b, c, d])

    # Four early ones meet on level 2, as late as the product, and then the product: level 3.
    assert path(built(build)) == 3 + 1
    assert path(built(build, reassociate=False)) == 6 + 2


def test_a_node_of_one_operand_costs_nothing():
    assert path(shape("chain_of_unary")) == 0


def test_the_lower_bound_is_the_largest():
    found = lower_bounds(shape("chain"), DpuConfig(depth=1, banks=8), 201)
    assert found == {
        "bound_operations": 50,
        "bound_inputs": 26,
        "bound_critical_path": 400,
        "lower_bound": 400,
    }


def require_below(dag: Dag, config: DpuConfig) -> None:
    found = run_passes(dag, config)
    bounds = lower_bounds(dag, config, len(np.unique(found.layout.word_value)))
    # Issue cycles, HALT's included, even before draining.
    assert bounds["lower_bound"] <= len(found.opcode)


@settings(max_examples=30, deadline=None)
@given(dags(max_nodes=500), configs())
def test_no_schedule_beats_the_bounds(dag: Dag, config: DpuConfig):
    require_below(dag, config)


@pytest.mark.parametrize("name", SHAPES)
def test_no_odd_shape_beats_the_bounds(name: str):
    require_below(shape(name), DpuConfig(depth=4, banks=64, registers=256))
