"""What nests consist of: statements and expressions, in fields and tuples of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.place import Location

_LEAVES = (type, Location, ScalarType)
"""Dataclasses, or not, that are no nodes."""


def nodes(part: Any) -> Iterator[Any]:
    """A node of a nest, or several, and all below them, each before those in it."""
    if isinstance(part, tuple | list):
        for each in part:
            yield from nodes(each)
    elif _is_node(part):
        yield part
        for each in fields(part):
            yield from nodes(getattr(part, each.name))


def with_parts(part: Any, changed: Callable[[Any], Any]) -> Any:
    """A tuple with each of its elements ``changed``, or a node with each of its fields; what has no
    parts, as a place, a type or a number, stays."""
    if isinstance(part, tuple):
        return tuple(changed(each) for each in part)
    if _is_node(part):
        values = {each.name: changed(getattr(part, each.name)) for each in fields(part)}
        return replace(part, **values)
    return part


def _is_node(part: Any) -> bool:
    return is_dataclass(part) and not isinstance(part, _LEAVES)
