"""Builds DAGs: nodes in any order, one by one or in bulk, then numbered, named and checked."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.topology import numbering
from gnarl.sw.workloads.refusals import FINITE, refuse_first

_Refuse = Callable[[np.ndarray, Callable[[int], str]], None]
"""Refuses the first node of those that are wrong, with a text for it."""

_CYCLE_NAMES = 8
"""At most this many nodes of a cycle are spelt out."""


class DagBuilder:
    """Collects nodes and gives a sound ``Dag``.

    A node is known by the order in which it was added (from 0); operands may name nodes that are
    added later. ``build`` renumbers only if it must, and says what became of each node.

    source
        the file or object that the nodes come from; it starts every error text.
    """

    def __init__(self, source: str = "") -> None:
        self._source = source
        self._op = array("B")
        self._counts = array("q")
        self._operands = array("q")
        self._negative = array("B")
        self._values: dict[int, float] = {}
        self._outputs: dict[int, None] = {}
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        """Nodes added so far."""
        return len(self._op)

    def input(self, name: str | None = None) -> int:
        """Adds an input; its number."""
        return self.operation(Op.INPUT, (), name=name)

    def constant(self, value: float, name: str | None = None) -> int:
        """Adds a constant; its number."""
        node = self.operation(Op.CONST, (), name=name)
        self._values[node] = float(value)
        return node

    def operation(
        self,
        op: Op,
        operands: Sequence[int],
        negative: Sequence[bool] | None = None,
        name: str | None = None,
    ) -> int:
        """Adds one operation; its number. ``negative`` as in ``Dag``."""
        node = len(self._op)
        self._op.append(op)
        self._counts.append(len(operands))
        self._operands.extend(operands)
        self._negative.extend(bytes(len(operands)) if negative is None else map(bool, negative))
        if name is not None:
            self._names[node] = name
        return node

    def inputs(self, names: Sequence[str]) -> np.ndarray:
        """Adds one input a name; their numbers, int64 [len(names)]."""
        count = len(names)
        return self.operations(
            np.full(count, Op.INPUT), np.zeros(count, np.int64), np.zeros(0, np.int64), names=names
        )

    def operations(
        self,
        op: np.ndarray,
        counts: np.ndarray,
        operands: np.ndarray,
        negative: np.ndarray | None = None,
        names: Sequence[str] | None = None,
    ) -> np.ndarray:
        """Adds ``k`` operations at once; their numbers, int64 [k].

        op [k]; counts [k], operands of each; operands [sum of counts], one operation's after the
        other's; negative bool, as long as operands.
        """
        first = len(self._op)
        if negative is None:
            negative = np.zeros(len(operands), np.uint8)
        self._op.frombytes(op.astype(np.uint8).tobytes())
        self._counts.frombytes(counts.astype(np.int64).tobytes())
        self._operands.frombytes(operands.astype(np.int64).tobytes())
        self._negative.frombytes(negative.astype(np.uint8).tobytes())
        if names is not None:
            self._names.update(enumerate(names, first))
        return np.arange(first, len(self._op))

    def output(self, node: int) -> None:
        """Makes a node an output, sink or not."""
        self._outputs[int(node)] = None

    def build(self, reassociate: bool = True) -> tuple[Dag, np.ndarray]:
        """The DAG, and the number in it of each node added, int64 [n].

        Outputs are the nodes given to ``output``, in that order, then all other sinks. Nodes keep
        their order where operands already come before their users. Raises ``WorkloadError`` on a
        cycle, naming its nodes, and on whatever ``check`` refuses. O(nodes + operands).
        """
        op = np.array(self._op, np.uint8)
        counts = np.array(self._counts, np.int64)
        operands = np.array(self._operands, np.int64)
        negative = np.array(self._negative, bool)
        offsets = _offsets(counts)
        constants = np.zeros(len(op))
        for node, value in self._values.items():
            constants[node] = value
        flagged = np.array(list(self._outputs), np.int64)
        _require_valid_operands(len(op), offsets, operands, self._name, self._prefix)
        _require_valid_outputs(len(op), flagged, self._prefix)

        order, cycle = numbering(offsets, operands)
        if len(cycle):
            raise WorkloadError(f"{self._prefix}cycle: {_spell_cycle(cycle, self._name)}")
        number = np.empty(len(op), np.int64)
        number[order] = np.arange(len(op))
        picked = _gather(offsets, order)

        is_sink = np.ones(len(op), bool)
        is_sink[operands] = False
        is_sink[flagged] = False
        outputs = np.concatenate([flagged, np.flatnonzero(is_sink)])
        dag = Dag(
            op=op[order],
            offsets=_offsets(counts[order]),
            operands=number[operands[picked]].astype(np.int32),
            negative=negative[picked],
            constants=constants[order],
            outputs=number[outputs],
            names=self._all_names()[order] if self._names else None,
            reassociate=reassociate,
        )
        check(dag, self._source)
        return dag, number

    @property
    def _prefix(self) -> str:
        return f"{self._source}: " if self._source else ""

    def _all_names(self) -> np.ndarray:
        names = np.array([f"n{node}" for node in range(len(self))], np.dtypes.StringDType())
        names[list(self._names)] = list(self._names.values())
        return names

    def _name(self, node: int) -> str:
        name = self._names.get(node)
        return f"n{node}" if name is None else name


def check(dag: Dag, source: str = "") -> None:
    """Raises ``WorkloadError``, naming a node, unless every promise of ``Dag`` is kept.

    ``source`` (a file, say) starts the error text. O(nodes + operands).
    """
    prefix = f"{source}: " if source else ""

    def refuse(wrong: np.ndarray, text: Callable[[int], str]) -> None:
        refuse_first(wrong, lambda node: f"{prefix}node {short(dag.name(node))}: {text(node)}")

    size = dag.size
    if size == 0:
        raise WorkloadError(f"{prefix}the DAG has no nodes: it must have at least one")
    _require_lengths(dag, prefix)
    if dag.names is not None:
        repeated = [name for name, count in Counter(dag.names.tolist()).items() if count > 1]
        if repeated:
            raise WorkloadError(f"{prefix}{quoted(repeated[0])} names two nodes: names must differ")
    known = ", ".join(op.name for op in Op)
    refuse(
        dag.op > max(Op),
        lambda node: f"operation {dag.op[node]} is unknown; there are 0 to {max(Op)}: {known}",
    )
    counts = np.diff(dag.offsets)
    leaf = (dag.op == Op.INPUT) | (dag.op == Op.CONST)
    refuse(
        leaf & (counts > 0),
        lambda node: f"{Op(dag.op[node]).name} has {counts[node]} operands: it must have none",
    )
    refuse(
        ~leaf & (counts == 0),
        lambda node: f"{Op(dag.op[node]).name} has no operands: only INPUT and CONST have none",
    )
    _require_valid_operands(size, dag.offsets, dag.operands, dag.name, prefix)
    user = np.repeat(np.arange(size), counts)
    refuse_first(
        dag.operands >= user,
        lambda at: (
            f"{prefix}node {short(dag.name(int(user[at])))}: operand "
            f"{short(dag.name(int(dag.operands[at])))} does not come before it"
        ),
    )
    _require_valid_signs(dag, np.bincount(user[dag.negative], minlength=size), refuse)
    _require_valid_constants(dag, refuse)
    if len(dag.outputs) == 0:
        raise WorkloadError(f"{prefix}the DAG has no outputs: it must have at least one")
    _require_valid_outputs(size, dag.outputs, prefix)
    refuse(np.bincount(dag.outputs, minlength=size) > 1, lambda _: "is a duplicate output")


def _require_lengths(dag: Dag, prefix: str) -> None:
    size = dag.size
    edges = len(dag.operands)
    offsets = dag.offsets
    sound = len(offsets) == size + 1 and offsets[0] == 0 and offsets[-1] == edges
    if not sound or (np.diff(offsets) < 0).any():
        raise WorkloadError(
            f"{prefix}offsets must be {size + 1} numbers that rise from 0 to {edges}, the number "
            "of operands"
        )
    for name, length, right in (
        ("negative", len(dag.negative), edges),
        ("constants", len(dag.constants), size),
        ("names", size if dag.names is None else len(dag.names), size),
    ):
        if length != right:
            raise WorkloadError(f"{prefix}{name} has {length} entries: it must have {right}")


def _require_valid_operands(
    size: int,
    offsets: np.ndarray,
    operands: np.ndarray,
    name: Callable[[int], str],
    prefix: str,
) -> None:
    refuse_first(
        (operands < 0) | (operands >= size),
        lambda at: (
            f"{prefix}node {short(name(int(np.searchsorted(offsets, at, side='right')) - 1))}: "
            f"operand {operands[at]} is out of range: nodes are 0 to {size - 1}"
        ),
    )


def _require_valid_outputs(size: int, outputs: np.ndarray, prefix: str) -> None:
    refuse_first(
        (outputs < 0) | (outputs >= size),
        lambda at: f"{prefix}output {outputs[at]} is out of range: nodes are 0 to {size - 1}",
    )


def _offsets(counts: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _gather(offsets: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Positions of all operands, with the nodes taken in ``order``."""
    counts = np.diff(offsets)[order]
    shift = offsets[:-1][order] - _offsets(counts)[:-1]
    return np.arange(int(counts.sum())) + np.repeat(shift, counts)


def _spell_cycle(cycle: np.ndarray, name: Callable[[int], str]) -> str:
    """``a -> b -> a``; the middle of a long one is left out."""
    names = [short(name(int(node))) for node in cycle[:_CYCLE_NAMES]]
    if len(cycle) > _CYCLE_NAMES:
        names.append(f"({len(cycle) - _CYCLE_NAMES} more)")
    return " -> ".join([*names, names[0]])


def _require_valid_signs(dag: Dag, negatives: np.ndarray, refuse: _Refuse) -> None:
    """``negatives``: how many operands of each node are."""
    counts = np.diff(dag.offsets)
    refuse(
        (dag.op != Op.ADD) & (negatives > 0),
        lambda node: f"{Op(dag.op[node]).name} has a negative operand: only an ADD may",
    )
    refuse(
        (counts > 0) & (negatives == counts),
        lambda _: "every operand is negative: at least one must not be",
    )


def _require_valid_constants(dag: Dag, refuse: _Refuse) -> None:
    refuse(
        (dag.op == Op.CONST) & ~np.isfinite(dag.constants),
        lambda node: f"the constant is {dag.constants[node]}: {FINITE}",
    )
    refuse(
        (dag.op != Op.CONST) & (dag.constants != 0),
        lambda node: f"{Op(dag.op[node]).name} has a constant's value: only CONST may",
    )
