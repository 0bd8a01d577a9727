"""What compilers of statements take: a statement, and operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.operands import Operand, named_operand
from gnarl.sw.workloads.tensor.parser import parse


@dataclass(frozen=True)
class TensorWorkload:
    """A statement, and tensors for its operands.

    name
        what reports call it.
    text, statement
        what is to be computed, as the notation writes it and parsed.
    inputs
        operands by name; ``None``: they come later.
    """

    name: str
    text: str
    statement: Statement
    inputs: Mapping[str, Operand] | None = None


def read_expression(text: str, inputs: Mapping[str, Operand] | None = None) -> TensorWorkload:
    """The workload of an expression. Raises ``WorkloadError`` that names the column."""
    return TensorWorkload(text.split(" -")[0].strip(), text, parse(text), inputs)


def split_source(source: Any) -> tuple[Any, dict[str, Operand] | None]:
    """A source without operands, or a tuple of one and operands by name, each what ``operand``
    takes, or ``None``: the source, and the operands. Raises ``WorkloadError`` naming a tensor."""
    text, inputs = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    if inputs is None:
        return text, None
    return text, {name: named_operand(name, tensor) for name, tensor in inputs.items()}
