"""Nests under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sw.workloads.loops.parts import with_parts

NodeT = TypeVar("NodeT")


def renamed(node: NodeT, names: Mapping[str, str]) -> NodeT:
    """A nest, or any part of one or tuple of such, with ``names`` in place of those it has."""
    return _renamed(node, names)


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    if type(part) is str:  # and not an operator
        return names.get(part, part)
    return with_parts(part, lambda each: _renamed(each, names))
