"""Probabilistic circuits: PSDD files as DAGs of sums and products.

What becomes of each node of a file (an element is a prime, a sub and its probability theta):

- ``L`` is the input ``L[id,literal]``: 0 if the evidence contradicts the literal, else 1.
- ``T`` is the input ``T[id,variable]``: the probability p if the variable is observed true, 1 - p
  if observed false, 1 if unobserved.
- ``F`` is the input ``F[id]``, 0.
- ``D`` is the sum over its elements of prime * sub * theta, ``D[id]``; element k, from 1, is
  ``D[id,k]``, and its theta the input ``theta[id,k]``. A decision of one element is the product of
  prime and sub.

Nodes that the file shares stay shared; leaves that no decision uses are left out. Evidence and
probabilities are input values, no part of the DAG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.compressed_file import stem_of
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.psdd_file import (
    COMMENT,
    DECISION,
    KINDS,
    LITERAL,
    PsddNodes,
    parse_psdd,
)
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.text_file import read_text


@dataclass(frozen=True)
class ProbabilisticCircuit(DagWorkload):
    """A DAG with the meaning of its inputs, each array in the order of ``inputs``.

    literal
        int64 [n_inputs]: the literal of an ``L``, the variable of a ``T``, else 0.
    is_literal
        bool [n_inputs]: whether the input is an ``L``.
    probability
        float64 [n_inputs]: p of a ``T``, the theta of an element, 1 for an ``L``, 0 for an ``F``.
    """

    literal: np.ndarray = field(kw_only=True)
    is_literal: np.ndarray = field(kw_only=True)
    probability: np.ndarray = field(kw_only=True)

    @property
    def variables(self) -> np.ndarray:
        """The variables that occur, int64, ascending."""
        return np.unique(np.abs(self.literal[self.literal != 0]))

    def bind(self, evidence: Mapping[int, bool]) -> np.ndarray:
        """Input values, float64 [n_inputs], for observed variables; the others are summed out.

        Raises ``WorkloadError`` for a variable that the circuit does not have.
        """
        variables = self.variables
        unknown = sorted(set(evidence) - set(variables.tolist()))
        if unknown:
            raise WorkloadError(
                f"{self.source}: evidence for variable {unknown[0]}: the circuit has "
                f"{len(variables)} variables, {variables[0]} to {variables[-1]}, without that one"
            )
        signs = np.zeros(len(variables) + 1, np.int8)  # the last one if there are no variables
        for variable, value in evidence.items():
            signs[np.searchsorted(variables, variable)] = 1 if value else -1
        # 1 true, -1 false, 0 not observed; what is no leaf gets any of these.
        place = np.searchsorted(variables, np.abs(self.literal))
        observed = signs[place]
        of_literal = np.where(observed * np.sign(self.literal) < 0, 0.0, 1.0)
        p = self.probability
        of_true = np.select([observed > 0, observed < 0], [p, 1 - p], 1.0)
        return np.select([self.literal == 0, self.is_literal], [p, of_literal], of_true)


def read_psdd(path: str | Path, evidence: Mapping[int, bool] | None = None) -> ProbabilisticCircuit:
    """Reads a file; no variable is observed unless ``evidence`` says so.

    Raises ``WorkloadError`` naming file and line. O(length of the file).
    """
    return circuit(parse_psdd(read_text(path, COMMENT), str(path)), str(path), evidence)


def circuit(
    nodes: PsddNodes, source: str, evidence: Mapping[int, bool] | None = None
) -> ProbabilisticCircuit:
    """The DAG of a file's nodes; ``source`` is the file. O(nodes + elements)."""
    decision = np.flatnonzero(nodes.kind == DECISION)
    leaf = np.flatnonzero((nodes.kind != DECISION) & nodes.used)
    sizes = nodes.elements[decision]
    owner = np.repeat(decision, sizes)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weighted = np.flatnonzero(nodes.elements[owner] > 1)
    leaf_names, element_names = _names(nodes, leaf, owner, rank)

    builder = DagBuilder(source)
    value = np.empty(len(nodes.kind), np.int64)  # the node of the DAG for each node
    value[leaf] = builder.inputs(leaf_names)
    theta = builder.inputs([f"theta{element_names[k]}" for k in weighted.tolist()])

    # A decision's products come first, then their sum if there are two or more.
    first = len(builder)
    is_sum = sizes > 1
    ends = np.cumsum(sizes + is_sum)
    sums = ends[is_sum] - 1
    product = np.repeat(ends - is_sum - sizes, sizes) + rank
    value[decision] = first + ends - 1

    count = int(ends[-1]) if len(ends) else 0
    op = np.full(count, Op.MUL, np.uint8)
    op[sums] = Op.ADD
    counts = np.full(count, 2)
    counts[product[weighted]] = 3
    counts[sums] = sizes[is_sum]
    offsets = np.cumsum(counts) - counts
    operands = np.empty(int(counts.sum()), np.int64)
    operands[offsets[product]] = value[nodes.prime]
    operands[offsets[product] + 1] = value[nodes.sub]
    operands[offsets[product[weighted]] + 2] = theta
    summed_by = np.repeat(sums, sizes[is_sum])
    operands[offsets[summed_by] + rank[weighted]] = first + product[weighted]

    names = np.empty(count, object)
    names[product] = [f"D{name}" for name in element_names]
    names[ends - 1] = [f"D[{node}]" for node in nodes.id[decision].tolist()]
    builder.operations(op, counts, operands, names=names.tolist())
    dag, _ = builder.build()

    lines = np.empty(dag.size, np.int64)
    lines[value[leaf]] = nodes.line[leaf]
    lines[theta] = nodes.line[owner[weighted]]
    lines[first + product] = nodes.line[owner]
    lines[value[decision]] = nodes.line[decision]
    no_label = np.zeros(len(theta), np.int64)
    unbound = ProbabilisticCircuit(
        name=stem_of(source),
        dag=dag,
        inputs=np.ones(len(leaf) + len(theta)),
        source=source,
        lines=lines,
        literal=np.concatenate([nodes.label[leaf], no_label]),
        is_literal=np.concatenate([nodes.kind[leaf] == LITERAL, no_label.astype(bool)]),
        probability=np.concatenate([nodes.probability[leaf], nodes.theta[weighted]]),
    )
    unbound.inputs[:] = unbound.bind(evidence or {})
    return unbound


def _names(
    nodes: PsddNodes, leaf: np.ndarray, owner: np.ndarray, rank: np.ndarray
) -> tuple[list[str], list[str]]:
    """``L[id,literal]``, ``T[id,variable]`` or ``F[id]`` of each leaf, and ``[id,k]`` of each
    element."""
    kind, ids, labels = nodes.kind[leaf], nodes.id[leaf], nodes.label[leaf]
    leaves = zip(kind.tolist(), ids.tolist(), labels.tolist(), strict=True)
    elements = zip(nodes.id[owner].tolist(), (rank + 1).tolist(), strict=True)
    return (
        [
            f"{KINDS[kind]}[{node},{label}]" if label else f"{KINDS[kind]}[{node}]"
            for kind, node, label in leaves
        ],
        [f"[{node},{k}]" for node, k in elements],
    )
