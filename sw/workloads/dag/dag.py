"""The compiler's input: a DAG of arithmetic operations as arrays."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np


class Op(enum.IntEnum):
    """What a node computes from its operands, in order."""

    INPUT = 0
    CONST = 1
    ADD = 2
    MUL = 3
    MAX = 4
    MIN = 5


@dataclass(frozen=True)
class Dag:
    """A DAG of ``n`` nodes, numbered so that operands come before their users.

    op
        uint8 [n], values of ``Op``.
    offsets
        int64 [n + 1]; node ``i`` has operands ``operands[offsets[i]:offsets[i + 1]]``.
    operands
        int32 [m], node numbers; one may repeat. INPUT and CONST have none, all others at least one.
    negative
        bool [m]; an operand of an ADD that is subtracted. False for every other operation, and
        for at least one operand of every ADD.
    constants
        float64 [n]; the value of each CONST, 0 elsewhere.
    outputs
        int64 [k], nodes whose values the program returns, without repeats; may be INPUT or CONST.
    names
        ``StringDType`` [n], one unique name a node, or ``None`` for ``n0, n1, …``.
    reassociate
        whether operands of one ADD or MUL may be combined in any order; if not, from left to right.

    Frontends build it with ``gnarl.sw.workloads.dag.builder``; ``check`` verifies one.
    """

    op: np.ndarray
    offsets: np.ndarray
    operands: np.ndarray
    negative: np.ndarray
    constants: np.ndarray
    outputs: np.ndarray
    names: np.ndarray | None = None
    reassociate: bool = True

    @property
    def size(self) -> int:
        return len(self.op)

    @property
    def inputs(self) -> np.ndarray:
        """Node numbers of the inputs, ascending: the order of input values everywhere."""
        return np.flatnonzero(self.op == Op.INPUT)

    @property
    def operations(self) -> int:
        """Two-operand operations that the DAG stands for: operands less one, over all nodes."""
        counts = np.diff(self.offsets)
        return int(np.maximum(counts - 1, 0).sum())

    def name(self, node: int) -> str:
        return str(self.names[node]) if self.names is not None else f"n{node}"

    def names_of(self, nodes: np.ndarray) -> np.ndarray:
        """``StringDType`` [k], the names of nodes int64 [k]."""
        if self.names is not None:
            return self.names[nodes]
        return np.strings.add("n", nodes.astype(np.dtypes.StringDType()))
