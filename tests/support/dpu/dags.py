"""DAGs for tests: odd shapes by name, random ones for hypothesis, and what they compute."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.workload import DagWorkload

OPERATIONS = (Op.ADD, Op.MUL, Op.MAX, Op.MIN)


def evaluate(dag: Dag, inputs: np.ndarray) -> np.ndarray:
    """Values of the outputs in float64, node by node."""
    values = dag.constants.copy()
    values[dag.inputs] = inputs
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        operands = values[dag.operands[edges]]
        if dag.op[node] == Op.ADD:
            terms = np.where(dag.negative[edges], -operands, operands)
            values[node] = terms.sum(initial=-0.0)
        else:
            compute = {Op.MUL: np.prod, Op.MAX: np.max, Op.MIN: np.min}[Op(dag.op[node])]
            values[node] = compute(operands)
    return values[dag.outputs]


def results(workload: DagWorkload) -> dict[str, float]:
    """Outputs by name, in float64, with the workload's own inputs."""
    values = evaluate(workload.dag, workload.inputs).tolist()
    return dict(zip(workload.output_names, values, strict=True))


def evaluate_modulo(dag: Dag, inputs: np.ndarray, modulus: int = 2**31 - 1) -> list[int]:
    """Values of the outputs modulo a prime: exact, whatever the order of sums and products.

    MAX and MIN compare residues, so these are no results, but equal DAGs have the same.
    """

    def residue(value: float) -> int:
        numerator, denominator = value.as_integer_ratio()
        return numerator * pow(denominator, -1, modulus) % modulus

    values = [residue(constant) for constant in dag.constants.tolist()]
    for node, value in zip(dag.inputs.tolist(), inputs.tolist(), strict=True):
        values[node] = residue(value)
    for node in np.flatnonzero(dag.op > Op.CONST).tolist():
        edges = slice(dag.offsets[node], dag.offsets[node + 1])
        operands = [values[operand] for operand in dag.operands[edges].tolist()]
        if dag.op[node] == Op.ADD:
            signs = np.where(dag.negative[edges], -1, 1).tolist()
            values[node] = sum(map(operator.mul, signs, operands)) % modulus
        elif dag.op[node] == Op.MUL:
            values[node] = math.prod(operands) % modulus
        else:
            values[node] = max(operands) if dag.op[node] == Op.MAX else min(operands)
    return [values[node] for node in dag.outputs.tolist()]


def input_values(dag: Dag, seed: int) -> np.ndarray:
    """Random inputs of both signs near 1, float64 [n_inputs]."""
    random = np.random.default_rng(seed)
    count = len(dag.inputs)
    return random.choice([-1.0, 1.0], count) * random.uniform(0.5, 1.5, count)


def _one_input(builder: DagBuilder) -> None:
    builder.input()


def _one_constant(builder: DagBuilder) -> None:
    builder.constant(2.5)


def _one_operation(builder: DagBuilder) -> None:
    builder.operation(Op.MUL, [builder.input(), builder.input()])


def _unary_of_an_input(builder: DagBuilder) -> None:
    builder.operation(Op.ADD, [builder.input()])


def _only_constants(builder: DagBuilder) -> None:
    a, b = builder.constant(2.0), builder.constant(-3.0)
    builder.operation(Op.MAX, [builder.operation(Op.MUL, [a, b]), a, b])


def _constants_and_inputs_as_outputs(builder: DagBuilder) -> None:
    a, c = builder.input(), builder.constant(4.0)
    builder.input()
    builder.output(builder.operation(Op.ADD, [a, c]))
    builder.output(c)
    builder.output(a)


def _chain(builder: DagBuilder) -> None:
    value = builder.input()
    for step in range(200):
        value = builder.operation(OPERATIONS[step % 2], [value, builder.input()])


def _chain_without_inputs_between(builder: DagBuilder) -> None:
    value, other = builder.input(), builder.input()
    for step in range(60):
        value = builder.operation(OPERATIONS[step % 4], [other, value])


def _chain_of_unary(builder: DagBuilder) -> None:
    value = builder.input()
    for step in range(20):
        value = builder.operation(OPERATIONS[step % 4], [value])


def _star(builder: DagBuilder) -> None:
    builder.operation(Op.ADD, [builder.input() for _ in range(300)])


def _star_of_one_input(builder: DagBuilder) -> None:
    builder.operation(Op.MUL, [builder.input()] * 9)


def _high_fan_out(builder: DagBuilder) -> None:
    center = builder.operation(Op.ADD, [builder.input(), builder.input()])
    for _ in range(300):
        builder.operation(Op.MUL, [center, builder.input()])


def _duplicate_operands(builder: DagBuilder) -> None:
    a, b = builder.input(), builder.input()
    total = builder.operation(Op.ADD, [a, a, b, a])
    builder.operation(Op.MUL, [total, total])


def _operand_less_itself(builder: DagBuilder) -> None:
    a, b = builder.input(), builder.input()
    builder.operation(Op.ADD, [a, b, a], [False, False, True])


def _subtractions(builder: DagBuilder) -> None:
    a, b, c, d = (builder.input() for _ in range(4))
    first = builder.operation(Op.ADD, [a, b], [True, False])
    second = builder.operation(Op.ADD, [first, a, b, c, d], [True, True, True, False, True])
    builder.operation(Op.MUL, [first, second])


def _outputs_with_users(builder: DagBuilder) -> None:
    a, b = builder.input(), builder.input()
    inner = builder.operation(Op.MUL, [a, b])
    builder.output(inner)
    builder.operation(Op.ADD, [inner, b])


def _two_components(builder: DagBuilder) -> None:
    for op in (Op.ADD, Op.MIN):
        builder.operation(op, [builder.input(), builder.input(), builder.constant(0.5)])


def _balanced_tree(builder: DagBuilder) -> None:
    row = [builder.input() for _ in range(128)]
    step = 0
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2], strict=True)
        row = [builder.operation(OPERATIONS[step % 2], pair) for pair in pairs]
        step += 1


def _butterfly(builder: DagBuilder) -> None:
    row = [builder.input() for _ in range(32)]
    for stride in (1, 2, 4, 8, 16):
        row = [
            builder.operation(
                Op.ADD, [row[k & ~stride], row[k | stride]], [False, bool(k & stride)]
            )
            for k in range(32)
        ]


_SHAPES: dict[str, Callable[[DagBuilder], None]] = {
    build.__name__[1:]: build
    for build in (
        _one_input,
        _one_constant,
        _one_operation,
        _unary_of_an_input,
        _only_constants,
        _constants_and_inputs_as_outputs,
        _chain,
        _chain_without_inputs_between,
        _chain_of_unary,
        _star,
        _star_of_one_input,
        _high_fan_out,
        _duplicate_operands,
        _operand_less_itself,
        _subtractions,
        _outputs_with_users,
        _two_components,
        _balanced_tree,
        _butterfly,
    )
}

SHAPES = tuple(_SHAPES)
"""Names of the odd shapes, for ``pytest.mark.parametrize``."""


def shape(name: str) -> Dag:
    """The DAG called ``name`` in ``SHAPES``."""
    builder = DagBuilder()
    _SHAPES[name](builder)
    return builder.build()[0]


def seeded_dag(nodes: int, seed: int) -> Dag:
    """A random DAG of exactly so many nodes: any operation, operands near and far, also repeated.

    A few nodes have one or very many operands; a few that have users are outputs all the same.
    """
    random = np.random.default_rng(seed)
    leaves = 1 + int(random.integers(max(1, nodes // 2)))
    leaves = min(leaves, nodes)
    reach = float(random.choice([3, 30, 1000]))
    builder = DagBuilder()
    for _ in range(leaves):
        if random.random() < 0.1:
            builder.constant(float(random.uniform(-1.5, 1.5)))
        else:
            builder.input()
    for node in range(leaves, nodes):
        count = int(random.choice([1, 2, 3, 5, 9, 60], p=[0.1, 0.5, 0.2, 0.1, 0.08, 0.02]))
        far = random.integers(node, size=count)
        near = node - 1 - np.minimum(random.exponential(reach, count), node - 1).astype(np.int64)
        operands = np.where(random.random(count) < 0.3, far, near)
        op = Op(random.choice(OPERATIONS, p=[0.45, 0.35, 0.1, 0.1]))
        negative = (random.random(count) < 0.2) & (op == Op.ADD)
        negative[random.integers(count)] = False
        builder.operation(op, operands.tolist(), negative.tolist())
        if random.random() < 0.02:
            builder.output(node)
    return builder.build(reassociate=bool(random.random() < 0.8))[0]


@st.composite
def small_dags(draw: st.DrawFn, max_nodes: int = 20) -> Dag:
    """DAGs that hypothesis can shrink node by node."""
    builder = DagBuilder()
    for node in range(draw(st.integers(1, max_nodes))):
        op = draw(st.sampled_from([Op.INPUT, Op.CONST, *OPERATIONS])) if node else Op.INPUT
        if op == Op.INPUT:
            builder.input()
        elif op == Op.CONST:
            builder.constant(draw(st.floats(-2, 2, width=16)))
        else:
            operands = draw(st.lists(st.integers(0, node - 1), min_size=1, max_size=5))
            negative = [
                op == Op.ADD and k > 0 and draw(st.booleans()) for k in range(len(operands))
            ]
            builder.operation(op, operands, negative)
        if draw(st.integers(0, 7)) == 7:
            builder.output(node)
    return builder.build(reassociate=draw(st.booleans()))[0]


def dags(max_nodes: int = 2000) -> st.SearchStrategy[Dag]:
    """Odd shapes, small DAGs and random ones of up to ``max_nodes`` nodes."""
    seeded = st.builds(seeded_dag, st.integers(1, max_nodes), st.integers(0, 2**32 - 1))
    return st.one_of(small_dags(), st.sampled_from(SHAPES).map(shape), seeded)
