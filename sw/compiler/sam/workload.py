"""What the SAM compiler takes: a statement or a graph, and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hw.sam.graph import Graph
from sw.workloads.tensor.expression import Statement
from sw.workloads.tensor.tensor import Tensor


@dataclass(frozen=True)
class Operand:
    """A tensor to compute with. ``grows``: its sizes are the least possible ones only.

    Files without a shape, such as .tns, say no more than what their largest coordinates are.
    """

    tensor: Tensor
    grows: bool = False


@dataclass(frozen=True)
class SamWorkload:
    """A statement, maybe with a graph that computes it, and tensors for its operands.

    name
        what reports call it.
    text, statement
        what is to be computed, as the notation writes it and parsed.
    graph
        a graph that was given; ``None``: to be compiled from the statement.
    inputs
        operands by name; ``None``: they come later.
    """

    name: str
    text: str
    statement: Statement
    graph: Graph | None = None
    inputs: Mapping[str, Operand] | None = None


def operand(source: Any) -> Operand:
    """An operand from what ``Tensor.from_any`` takes, or as it is."""
    return source if isinstance(source, Operand) else Operand(Tensor.from_any(source))
