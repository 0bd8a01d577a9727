"""DAGs that networkx holds, described by attributes.

Nodes of a directed graph; an edge leads from an operand to its user:

``op``
    what the node computes, in any case: ``input``; ``const`` (``constant``); ``add`` (``sum``,
    ``+``); ``mul`` (``prod``, ``product``, ``*``); ``max`` (``maximum``); ``min`` (``minimum``);
    ``sub`` (``subtract``, ``-``), its first operand less all others; ``neg`` (``negate``), -0 less
    its operand, which changes the sign of zeros, too. Every node must have one. There is no
    division: multiply by a reciprocal.
``value``
    a finite number: what a ``const`` is; the default value of an ``input``. Either all inputs have
    one or none has: then they are random, uniform in [0.5, 1.5) from a seed.
``output``
    true makes the node an output although others use it. Nodes without users always are outputs.

Edges may carry ``operand`` (or ``index``), a whole number by which the user's operands are ordered:
all edges into a node or none, and all the same of the two. Without it they are in the order in
which they were added to a graph in memory. Files do not have that order, since networkx writes
edges by their first node, nor do copies that networkx makes: a ``sub`` of different operands in a
file must have them numbered.
Parallel edges of a multigraph are an operand used again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.hw.lib.text_lines import plain
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.made_up import random_values
from gnarl.sw.workloads.refusals import FINITE, NOT_BELOW
from gnarl.sw.workloads.text_file import is_not_zero

_ALIASES = {
    "input": ("input",),
    "const": ("const", "constant"),
    "add": ("add", "sum", "+"),
    "mul": ("mul", "prod", "product", "*"),
    "max": ("max", "maximum"),
    "min": ("min", "minimum"),
    "sub": ("sub", "subtract", "-"),
    "neg": ("neg", "negate"),
}
_MEANING = {alias: op for op, aliases in _ALIASES.items() for alias in aliases}
_DIVISIONS = ("div", "divide", "/")
_DAG_OP = {"add": Op.ADD, "sub": Op.ADD, "mul": Op.MUL, "max": Op.MAX, "min": Op.MIN}
NODE_ATTRIBUTES = ("op", "value", "output")
EDGE_ATTRIBUTES = ("operand", "index")
"""What attributes mean anything."""

_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
"""What no name may have: terminals take some for commands."""


def from_networkx(
    graph: nx.DiGraph,
    name: str = "graph",
    *,
    source: str = "",
    names: Mapping[Hashable, str] | None = None,
    lines: Mapping[Hashable, int] | None = None,
    seed: int = 0,
) -> DagWorkload:
    """The workload that a directed graph describes by the attributes above.

    names
        what each node is called; by default its text.
    lines
        the line of ``source``, a file, that each node comes from.
    seed
        for values of inputs, if none has one.

    Raises ``WorkloadError`` naming the file and the node. O(nodes + edges · log operands).
    """
    if not graph.is_directed():
        prefix = f"{source}: " if source else ""
        raise WorkloadError(
            f"{prefix}the graph is undirected: edges must lead from operand to user"
        )
    reader = _Reader(graph, source, names, lines)
    for node in graph:
        reader.add(node)
    dag, number = reader.finish()

    values = np.zeros(dag.size)
    values[number[list(reader.values)]] = _values(reader, seed)
    line = None
    if lines is not None:
        line = np.zeros(dag.size, np.int64)
        line[number[: len(graph)]] = [lines[node] for node in graph]
    made_up = {}
    if _none_given(reader):
        made_up = random_values(dag.names_of(dag.inputs).tolist(), seed)
    return DagWorkload(name, dag, values[dag.inputs], source, line, made_up)


def _none_given(reader: _Reader) -> bool:
    return all(value is None for value in reader.values.values())


def _values(reader: _Reader, seed: int) -> np.ndarray:
    """Values of the inputs, in the graph's order."""
    if _none_given(reader):
        return np.random.default_rng(seed).uniform(0.5, 1.5, len(reader.values))
    missing = [at for at, value in reader.values.items() if value is None]
    if missing:
        raise WorkloadError(
            f"{reader.place(missing[0])}: input without a value: must have one, as others have"
        )
    return np.array(list(reader.values.values()))


class _Reader:
    """Adds the nodes of a graph to a builder, in the graph's order."""

    def __init__(
        self,
        graph: nx.DiGraph,
        source: str,
        names: Mapping[Hashable, str] | None,
        lines: Mapping[Hashable, int] | None,
    ) -> None:
        self.values: dict[int, float | None] = {}
        """The value of each input that has one, by its number."""
        self._graph = graph
        self._source = source
        self._nodes = list(graph)
        self._names = [str(node) if names is None else names[node] for node in graph]
        self._lines = lines
        self._number = {node: at for at, node in enumerate(graph)}
        self._builder = DagBuilder(source)
        self._negates = False

    def place(self, at: int) -> str:
        text = f"node {self._called(self._nodes[at])}"
        if not self._source:
            return text
        line = f":{self._lines[self._nodes[at]]}" if self._lines is not None else ""
        return f"{self._source}{line}: {text}"

    def add(self, node: Hashable) -> None:
        at = self._number[node]
        name = self._names[at]
        if not name or _CONTROL.search(name):
            raise WorkloadError(
                f"{self.place(at)}: names must have characters, but no control characters"
            )
        attributes = self._graph.nodes[node]
        operands, are_numbered = self._operands(node)
        op = self._op(at, attributes.get("op"), len(operands))
        if op == "sub" and self._source and not are_numbered:
            self._require_one_operand(at, operands)
        value = _number(attributes.get("value"), "value", self.place(at))
        if op == "const":
            if value is None:
                raise WorkloadError(f"{self.place(at)}: const without a value: must have one")
            self._builder.constant(value, name)
        elif op == "input":
            self._builder.input(name)
            self.values[at] = value
        elif value is not None:
            raise WorkloadError(f"{self.place(at)}: {op} has a value: only input and const may")
        else:
            self._add_operation(at, op, operands)
        if _truth(attributes.get("output", False), "output", self.place(at)):
            self._builder.output(at)

    def _require_one_operand(self, at: int, operands: list[int]) -> None:
        """Refuses the operands of a difference without an order, where they are not all one."""
        different = [*dict.fromkeys(operands)]
        if len(different) > 1:
            names = " or ".join(short(self._names[each]) for each in different[:2])
            raise WorkloadError(
                f"{self.place(at)}: nothing says which operand sub takes first, {names}: the edges "
                "into it must have the attribute operand, whole numbers in their order"
            )

    def _add_operation(self, at: int, op: str, operands: list[int]) -> None:
        name = self._names[at]
        if op != "neg":
            negative = [op == "sub" and k > 0 for k in range(len(operands))]
            self._builder.operation(_DAG_OP[op], operands, negative, name)
            return
        if len(operands) != 1:
            raise WorkloadError(
                f"{self.place(at)}: neg has {len(operands)} operands: must have one"
            )
        self._negates = True
        minus_zero = len(self._nodes)  # comes after all nodes of the graph
        self._builder.operation(Op.ADD, [minus_zero, *operands], [False, True], name)

    def finish(self) -> tuple[Dag, np.ndarray]:
        """The DAG, and the number in it of each node, as of ``DagBuilder.build``."""
        if self._negates:
            name = "-0"
            while name in self._names:
                name += "'"
            self._builder.constant(-0.0, name)
        return self._builder.build()

    def _op(self, at: int, text: Any, operands: int) -> str:
        """The operation of a node that has so many operands."""
        place = self.place(at)
        count = f"{operands} operands" if operands else "no operands"
        known = ", ".join(_ALIASES)
        if text is None:
            right = known if operands else "input, const"
            raise WorkloadError(f"{place}: {count} and no attribute op: must have one of {right}")
        word = str(text).strip(" \t\n").lower()
        if word in _DIVISIONS:
            raise WorkloadError(
                f"{place}: op = {quoted(text)}: division is not supported: make the reciprocal an "
                "input and multiply by it"
            )
        if word not in _MEANING:
            raise WorkloadError(f"{place}: op = {quoted(text)}: must be one of {known}")
        op = _MEANING[word]
        if (op in ("input", "const")) != (operands == 0):
            right = "at least one" if operands == 0 else "none"
            raise WorkloadError(f"{place}: {op} has {count}: must have {right}")
        return op

    def _operands(self, node: Hashable) -> tuple[list[int], bool]:
        """Numbers of the operands of a node, in order, and whether its edges say the order."""
        place = self.place(self._number[node])
        operands: list[int] = []
        ranks: list[float | None] = []
        common = set(EDGE_ATTRIBUTES)
        for operand, edge in self._graph.pred[node].items():
            for attributes in edge.values() if self._graph.is_multigraph() else [edge]:
                operands.append(self._number[operand])
                edge_place = f"{place}: edge from {self._called(operand)}"
                ordered = _ranks(attributes, place, edge_place)
                common &= ordered.keys() or common
                ranks.append(next(iter(ordered.values()), None))
                if not common:
                    raise WorkloadError(
                        f"{edge_place}: has {next(iter(ordered))} "
                        "alone, others do not: edges into a node must be numbered by one attribute"
                    )
        numbered = [rank for rank in ranks if rank is not None]
        if not numbered:
            return operands, False
        if len(numbered) < len(ranks):
            raise WorkloadError(
                f"{place}: {len(numbered)} of {len(ranks)} operands are numbered: must be all or "
                "none"
            )
        if len(set(numbered)) < len(numbered):
            raise WorkloadError(f"{place}: two operands have the same number: numbers must differ")
        return [operands[k] for k in np.argsort(numbered).tolist()], True

    def _called(self, node: Hashable) -> str:
        name = self._names[self._number[node]]
        return quoted(name) if not name or _CONTROL.search(name) else short(name)


def _ranks(attributes: Mapping[str, Any], place: str, edge_place: str) -> dict[str, float]:
    """The numbers that attributes of an edge give its operand, which are one."""
    numbers = {key: _number(attributes.get(key), key, place) for key in EDGE_ATTRIBUTES}
    ranks = {key: rank for key, rank in numbers.items() if rank is not None}
    if len(set(ranks.values())) > 1:
        texts = " and ".join(f"{key} = {quoted(attributes[key])}" for key in ranks)
        raise WorkloadError(f"{edge_place}: {texts}: must agree")
    return ranks


def _number(value: Any, attribute: str, place: str) -> float | None:
    """The finite number that an attribute gives; ``None`` if it is missing."""
    if value is None:
        return None
    number, right = math.nan, "must be a number"
    try:
        if not isinstance(value, bool):
            text = plain(value.strip(" \t\n")) if isinstance(value, str) else value
            number, right = float(text), FINITE
            if number == 0 and isinstance(value, str) and is_not_zero(text):
                number, right = math.nan, NOT_BELOW
    except OverflowError:
        right = FINITE
    except (TypeError, ValueError):
        pass
    if not math.isfinite(number):
        raise WorkloadError(f"{place}: {attribute} = {quoted(value)}: {right}")
    return number


def _truth(value: Any, attribute: str, place: str) -> bool:
    """What an attribute says; formats without truth values say 0 or 1."""
    if str(value).lower() not in ("true", "false", "0", "1"):
        raise WorkloadError(f"{place}: {attribute} = {quoted(value)}: must be true or false")
    return str(value).lower() in ("true", "1")
