"""Statements that move elements and compute nothing: reshapes, concatenations and slices; those
that make entries at coordinates that inputs list, or have; and patterns, which say where elements
are, or where a mask of -∞ leaves them.

No renaming of indices does what they do, so no graph has them in its loops: regions end there, and
the host moves what is stored. An index means the same on both sides, as in every statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from gnarl.sw.workloads.tensor.expression import Access


@dataclass(frozen=True)
class Reshape:
    """``r(i,j,k)=reshape[j:2](t(i,a))``: the operand's own indices, row by row in its order, become
    those that only the result has, row by row in the result's order.

    ``sizes``: of indices that only the result has, all but one at most, whose size follows.
    """

    kind: ClassVar[str] = "reshape"
    sizes: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return _head(self.kind, (f"{index}:{size}" for index, size in self.sizes))


@dataclass(frozen=True)
class Concat:
    """``r(i,j)=concat(a(k,j),b(l,j))``: operands one behind the other along the index that only the
    result has. Each has one index of its own for it, or none if it is one coordinate long."""

    kind: ClassVar[str] = "concat"

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Slice:
    """``r(i,j)=slice[k:2:7:3](t(k,j))``: of the coordinates of ``index`` those from ``start`` to
    below ``stop``, every ``step``-th; ``stop`` is made as small as it can be. The result has an
    index of its own for them, or none where it is a single one."""

    kind: ClassVar[str] = "slice"
    index: str
    start: int
    stop: int
    step: int = 1

    @property
    def coordinates(self) -> range:
        """Those that are kept."""
        return range(self.start, self.stop, self.step)

    def __post_init__(self) -> None:
        if self.start <= self.stop and self.step >= 1:  # else it is refused
            kept = self.coordinates
            object.__setattr__(self, "stop", kept[-1] + 1 if kept else self.start)
            object.__setattr__(self, "step", self.step if len(kept) > 1 else 1)

    def __str__(self) -> str:
        bounds = [self.start, self.stop] if self.step == 1 else [self.start, self.stop, self.step]
        return _head(self.kind, [":".join(map(str, (self.index, *bounds)))])


@dataclass(frozen=True)
class Coo:
    """``A(i,j)=coo[i:3,j:4](at(d,e),w(e))``: for each ``e`` an entry ``w(e)``, or 1 without ``w``,
    whose coordinates ``at`` has, one below the other for the result's indices; numbers of one place
    are added, in order. What ``at`` has are whole numbers, in no machine's format: it is an input
    that nothing else takes.

    ``sizes``: of all indices of the result, in its order.
    """

    kind: ClassVar[str] = "coo"
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return _head(self.kind, (f"{index}:{size}" for index, size in self.sizes))


@dataclass(frozen=True)
class Stored:
    """``P(i,j)=stored(A(i,j))``: 1 where an input has an entry."""

    kind: ClassVar[str] = "stored"

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Kept:
    """``p(i,j)=kept(m(i,j))``: 1 where ``m`` is 0, and nothing where it is -∞. It is an input of
    no other numbers, in no machine's format, that nothing else takes."""

    kind: ClassVar[str] = "kept"

    def __str__(self) -> str:
        return self.kind


COMPARISONS: Mapping[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
"""What patterns compare elements by, by name."""


@dataclass(frozen=True)
class Pattern:
    """``p(i,j)=pattern[ne:0](t(j,i))``: 1 where an element of ``t`` is not 0, and nothing
    elsewhere."""

    kind: ClassVar[str] = "pattern"
    comparison: str
    number: float

    def of(self, values: np.ndarray) -> np.ndarray:
        """Which of the values are in the pattern: bool [n]."""
        return COMPARISONS[self.comparison](values, self.number)

    def __str__(self) -> str:
        return _head(self.kind, [f"{self.comparison}:{_number(self.number)}"])


How: TypeAlias = Reshape | Concat | Slice | Coo | Stored | Kept | Pattern

KINDS = tuple(each.kind for each in (Reshape, Concat, Slice, Coo, Stored, Kept, Pattern))
"""What moves elements, as texts name it; no tensor has such a name."""


def _number(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _head(kind: str, arguments: Iterable[str]) -> str:
    listed = ",".join(arguments)
    return f"{kind}[{listed}]" if listed else kind


@dataclass(frozen=True)
class Rearrangement:
    """``result = how(operands)``; ``place`` and ``layer`` are as those of ``Einsum``."""

    result: Access
    how: How
    operands: tuple[Access, ...]
    place: str = field(default="", compare=False)
    layer: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """The tensor that it makes, which no other statement does."""
        return self.result.tensor

    @property
    def order(self) -> tuple[str, ...]:
        """Of its loops: it has none."""
        return ()

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """Every index, those of the result first, then in order of appearance."""
        used = (*self.result.indices, *(i for each in self.operands for i in each.indices))
        return tuple(dict.fromkeys(used))

    @cached_property
    def made(self) -> tuple[str, ...]:
        """Indices that only the result has, in its order."""
        known = {index for each in self.operands for index in each.indices}
        return tuple(index for index in self.result.indices if index not in known)

    def own(self, operand: Access) -> tuple[str, ...]:
        """Indices that an operand has and the result lacks, in the operand's order."""
        return tuple(index for index in operand.indices if index not in self.result.indices)

    def __str__(self) -> str:
        return f"{self.result}={self.how}({','.join(map(str, self.operands))})"
