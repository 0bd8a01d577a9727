"""The places of a nest's nodes as a list, so that they outlast its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from gnarl.sw.workloads.place import Location

Node = TypeVar("Node")


def places_of(node: Any) -> Iterator[Location]:
    """Places of all nodes, each before or behind those that it contains, as its fields are.
    O(nodes)."""
    if isinstance(node, Location):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from places_of(each)
    elif is_dataclass(node):
        for field in fields(node):
            yield from places_of(getattr(node, field.name))


def with_places(node: Node, places: Iterable[Location]) -> Node:
    """``node`` at the places that ``places_of`` gave of an equal one. Raises ``ValueError`` where
    these are too few or too many."""
    rest = iter(places)
    try:
        located: Node = _placed(node, rest)
    except StopIteration:
        raise ValueError("places: are too few") from None
    if next(rest, None) is not None:
        raise ValueError("places: are too many")
    return located


def _placed(node: Any, places: Iterator[Location]) -> Any:
    if isinstance(node, Location):
        return next(places)
    if isinstance(node, tuple):
        located = []
        for each in node:
            located.append(_placed(each, places))
        return tuple(located)
    if is_dataclass(node) and not isinstance(node, type):
        changed = {}
        for field in fields(node):
            old = getattr(node, field.name)
            new = _placed(old, places)
            if new is not old:
                changed[field.name] = new
        return replace(node, **changed) if changed else node
    return node
