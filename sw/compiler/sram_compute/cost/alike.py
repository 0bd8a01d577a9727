"""Statements that cost the same, as they differ in nothing but arrays and numbers."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any

from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import (
    AugmentedStore,
    Constant,
    Fiber,
    For,
    If,
    Load,
    Merge,
    Nest,
    Store,
)
from gnarl.sw.workloads.loops.ir.parts import nodes, with_parts

_PLAIN = 2.0
"""Products with floats up to this may be something simpler."""


def cost_form(nest: Nest, binding: Binding, zeros: Collection[str]) -> Hashable | None:
    """What nests have in common that cost as many cycles, but for where arrays lie; ``None`` where
    elements may decide what is done. ``zeros``: arrays that are 0 before. O(nodes)."""
    if not _is_steady(nest):
        return None
    names: dict[str, str] = {}
    numbers: dict[float, float] = {}

    def renamed(part: Any) -> Any:
        match part:
            case Constant(value, type, place) if not type.is_integer and abs(value) > _PLAIN:
                return Constant(numbers.setdefault(value, 4.25 + len(numbers)), type, place)
        changed = with_parts(part, renamed)
        if isinstance(changed, Load | Store | AugmentedStore):
            name = names.setdefault(changed.array, f"array {len(names)}")
            return replace(changed, array=name)
        return changed

    body = renamed(nest.body)
    arrays = tuple(
        (binding.arrays[name].shape, nest.arrays[name].type, name in zeros) for name in names
    )
    return body, arrays


def _is_steady(nest: Nest) -> bool:
    """Whether no element decides which statements are done, how often, and on which elements."""
    for each in nodes(nest.body):
        match each:
            case If() | Merge() | Fiber():
                return False
            case For(lower=lower, upper=upper) if _has_load((lower, upper)):
                return False
            case Load(indices=indices) | Store(indices=indices) | AugmentedStore(indices=indices):
                if _has_load(indices):
                    return False
    return True


def _has_load(part: Any) -> bool:
    return any(isinstance(each, Load) for each in nodes(part))
