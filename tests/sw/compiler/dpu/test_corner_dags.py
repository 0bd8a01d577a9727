"""DAGs with corners: programs compute what the DAG says, or the error says what there is too little
of.

Golden models take the operations that the compiler has made. Here outputs are held to the DAG
itself, too: operand by operand where they keep their order, and by exact numbers elsewhere.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.hw.lib.operation import Operation
from gnarl.sw.compiler.dpu.compile import PASSES, compile
from gnarl.sw.compiler.dpu.room import fewest_bytes
from gnarl.sw.compiler.dpu.simplify import simplify
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.dag.builder import check as check_dag
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.dpu.corner_dags import KINDS, Corner, corner
from tests.support.dpu.dags import evaluate
from tests.support.errors import noted
from tests.sw.compiler.dpu.passes import named
from tests.sw.compiler.dpu.test_compile import require_right


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> None:
    """Machine code of all passes and of the model, which may not be kept yet."""
    for seed in (18, 20):
        has_run(seed)


_OPERATIONS = {Op.MUL: Operation.MUL, Op.MAX: Operation.MAX, Op.MIN: Operation.MIN}


def in_order(dag: Dag, inputs: np.ndarray, format: str) -> np.ndarray:
    """Outputs with operands taken from left to right, each operation rounded, float64."""
    unit = arithmetic(format)
    leaves = dag.constants.copy()
    leaves[dag.inputs] = inputs
    values = unit.numbers(to_words(leaves, format))
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        signs, operands = dag.negative[edges].tolist(), dag.operands[edges].tolist()
        total, is_negative = values[operands[:1]], signs[0]
        for operand, sign in zip(operands[1:], signs[1:], strict=True):
            pair = total, values[operand : operand + 1]
            operation = _OPERATIONS.get(dag.op[node], Operation.ADD)
            if sign != is_negative:
                # -a + b is b - a; -a - b is -(a + b).
                operation, pair = Operation.SUB, pair[::-1] if is_negative else pair
                is_negative = False
            total = unit.numbers(unit.words(unit.apply(operation, *pair)))
        values[node] = total[0]
    return from_words(unit.words(values)[dag.outputs], format)


def is_exact(case: Corner) -> bool:
    """Whether all numbers are whole and so small that none is rounded, in whatever order they are
    added or multiplied."""
    dag, kind = case.dag, parse_format(case.config.format)
    most = np.abs(dag.constants)
    most[dag.inputs] = np.abs(case.inputs)
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        operands = dag.operands[dag.offsets[node] : dag.offsets[node + 1]]
        each = np.maximum(most[operands], 1)
        with np.errstate(over="ignore"):
            most[node] = {Op.ADD: np.sum, Op.MUL: np.prod}.get(dag.op[node], np.max)(each)
    limit = 2.0 ** (kind.fraction + 1) if isinstance(kind, FloatFormat) else kind.largest
    is_whole = "whole" in case.kinds and "not finite" not in case.kinds
    return is_whole and most.max() <= min(limit, kind.largest)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Whether numbers are equal; zeros of both signs are."""
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def has_run(seed: int) -> str:
    """How outputs are held to the DAG; ``small`` where memories are too small for it."""
    case = corner(seed)
    check_dag(case.dag)
    passes = (PASSES, PASSES[1:], (PASSES[0], *PASSES))[seed % 3]
    source, config = DagWorkload("corner", case.dag, case.inputs), case.config
    with noted(f"{seed}: {', '.join(sorted(case.kinds))}, {config}"):
        try:
            program = compile(source, config, passes=passes, seed=seed % 5)
        except CapacityError as error:
            assert "small memory" in case.kinds and "this DAG needs at least" in str(error)
            return "small"
        require_right(program, config, case.inputs)
        compiled = simplify(case.dag) if PASSES[0] in passes else case.dag
        assert fewest_bytes(compiled, config) <= program.statistics["instruction_bytes"]
        outputs = Device(named(config), "model").run(program, case.inputs).outputs["outputs"]
        if not case.dag.reassociate:
            same(outputs, in_order(case.dag, case.inputs, config.format))
        if is_exact(case):
            same(outputs, evaluate(case.dag, case.inputs))
            return "exact"
    return "right" if case.dag.reassociate else "in order"


def test_dags_with_corners() -> None:
    assert set(map(has_run, range(18, 26))) >= {"exact", "right", "in order"}


@pytest.mark.slow
def test_many_dags_with_corners() -> None:
    counts = Counter(map(has_run, (*range(18), *range(26, 5000))))
    assert counts["exact"] > 500
    assert counts["in order"] > 1000


def test_every_kind_of_corner_is_drawn() -> None:
    """Each in 2 of 100 at least; no kind has no name."""
    counts = Counter(kind for seed in range(300) for kind in corner(seed).kinds)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 6
