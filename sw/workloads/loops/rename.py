"""Nests under other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sw.workloads.loops.place import Place
from sw.workloads.loops.scalar_type import ScalarType

NodeT = TypeVar("NodeT")


def renamed(node: NodeT, names: Mapping[str, str]) -> NodeT:
    """A nest, or any part of one or tuple of such, with ``names`` in place of those it has."""
    return _renamed(node, names)


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if type(node) is str:  # and not an operator
        return names.get(node, node)
    if isinstance(node, tuple):
        return tuple(_renamed(each, names) for each in node)
    if is_dataclass(node) and not isinstance(node, type | Place | ScalarType):
        return replace(
            node, **{each.name: _renamed(getattr(node, each.name), names) for each in fields(node)}
        )
    return node
