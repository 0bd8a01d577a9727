"""Where elements of a tensor are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gnarl.sw.workloads.loops.ir.nest import Expression

Indices: TypeAlias = Sequence[Expression]


@dataclass(frozen=True, eq=False)
class Destination:
    """The destination of a tensor's elements, by their indices: elements of ``array``."""

    array: str
    at: Callable[[Indices], tuple[Expression, ...]]

    def through(self, into: Callable[[Indices], Indices]) -> Destination:
        """The destination of a part, whose elements are at ``into`` of the tensor."""
        return Destination(self.array, lambda indices: self.at(into(indices)))
