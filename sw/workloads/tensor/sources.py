"""Expressions and their operands, from the command line and from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.tensor.operands import load_operands
from gnarl.sw.workloads.tensor.workload import (
    TensorWorkload,
    named_operands,
    read_expression,
    split_source,
)


def is_expression(text: Any) -> bool:
    """Whether a workload is an expression, and not a path."""
    return isinstance(text, str) and "=" in text and not os.path.exists(text)


def load_expression(text: str, tensors: Mapping[str, str]) -> TensorWorkload:
    """An expression, with operands from files by name. Raises ``WorkloadError`` naming the column,
    or the file and line."""
    parsed = read_expression(text)
    if not tensors:
        return parsed
    return replace(parsed, inputs=load_operands(tensors, parsed.statement.formats))


def tensor_workload(source: Any) -> TensorWorkload | None:
    """An expression's workload, from its text, from a tuple of that and operands by name, or as it
    is; ``None`` for what is no expression. Raises ``WorkloadError``."""
    if isinstance(source, TensorWorkload):
        return source
    text, inputs = split_source(source)
    return read_expression(text, named_operands(inputs)) if is_expression(text) else None
