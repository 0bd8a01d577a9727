"""The DAGs that the paper's authors compile from the same files: larger ones than this project's.

- A ``T`` leaf is two products of an indicator and a probability, and their sum.
- Each element of a decision is the product of its weight, prime and sub; weights of 1 too.
- Weights and probabilities are leaves shared by value, indicators by literal.
- Each row of a triangular solve is multiplied by the reciprocal of its diagonal, ones too.

Sources: DPU-v2, table I, whose numbers of nodes, in thousands, are those of these operations (48k
for 47.3k of msnbc); and the readers in the authors' published compilers
(github.com/nimish15shah: GRAPHOPT, DAG_Processor).
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np

from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.psdd_file import DECISION, LITERAL, PsddNodes, parse_psdd
from gnarl.sw.workloads.dag.triangular_system import read_matrix
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.text_file import read_text


def read_reference(path: Path, seed: int) -> DagWorkload:
    """The authors' DAG of a PSDD file, with nothing observed, or of a triangular matrix.

    ``seed`` is for the right-hand side. Raises ``WorkloadError`` naming file and line. O(length of
    the file).
    """
    if path.suffix != ".psdd":
        return read_matrix(path, seed=seed, unit=False)
    return _circuit(parse_psdd(read_text(path), str(path)), str(path))


def _circuit(nodes: PsddNodes, source: str) -> DagWorkload:
    """Inputs are the indicators, ``L[literal]``; weights are constants."""
    builder = DagBuilder(source)

    @cache
    def indicator(literal: int) -> int:
        return builder.input(f"L[{literal}]")

    weight = cache(builder.constant)

    def leaf(literal: int, probability: float) -> int:
        return builder.operation(Op.MUL, [indicator(literal), weight(probability)])

    value: list[int] = []  # which node of the DAG stands for each node
    elements = zip(nodes.theta.tolist(), nodes.prime.tolist(), nodes.sub.tolist(), strict=True)
    used = nodes.used
    for node, kind in enumerate(nodes.kind.tolist()):
        label, p = int(nodes.label[node]), float(nodes.probability[node])
        if kind == DECISION:
            products = [
                builder.operation(Op.MUL, [weight(theta), value[prime], value[sub]])
                for theta, prime, sub in islice(elements, int(nodes.elements[node]))
            ]
            single = len(products) == 1
            value.append(products[0] if single else builder.operation(Op.ADD, products))
        elif not used[node]:
            value.append(-1)
        elif kind == LITERAL:
            value.append(indicator(label))
        else:
            value.append(builder.operation(Op.ADD, [leaf(label, p), leaf(-label, 1 - p)]))
    dag, _ = builder.build()
    return DagWorkload(Path(source).stem, dag, np.ones(len(dag.inputs)), source)
