"""What compilers of statements take: a statement, and operands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


def split_source(source: Any) -> tuple[Any, Mapping[str, Any] | None]:
    """A source without inputs, or a tuple of one and inputs by name, or ``None``."""
    return source if isinstance(source, tuple) and len(source) == 2 else (source, None)


def named_operands(
    inputs: Mapping[str, Any] | None, not_finite: Collection[str] = ()
) -> dict[str, Operand] | None:
    """Operands from inputs by name, each what ``operand`` takes, if there are some. Raises
    ``WorkloadError`` naming a tensor.

    ``not_finite``: names of those that may have any numbers.
    """
    if inputs is None:
        return None
    return {
        name: named_operand(name, tensor, finite=name not in not_finite)
        for name, tensor in inputs.items()
    }
