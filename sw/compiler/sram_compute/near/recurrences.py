"""Locals that a loop carries from one iteration to the next, in any way: such as the place of the
least element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import For, Variable
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.place import Location


@dataclass(frozen=True, eq=False)
class Carried:
    """The locals of a ``loop``, which has no body any more.

    markers
        how they are called in an iteration.
    initials, nexts
        values before the loop, and behind an iteration.
    """

    loop: For
    markers: tuple[Variable, ...]
    initials: tuple[Any, ...]
    nexts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The value of local ``number`` behind the loop."""

    carried: Carried
    number: int

    @property
    def type(self) -> ScalarType:
        return self.carried.markers[self.number].type

    @property
    def place(self) -> Location:
        return self.carried.loop.place


def carry(loop: For, changed: Mapping[str, tuple[Variable, Any, Any]]) -> dict[str, Recurrence]:
    """A ``tdfg.statements.Carry``."""
    markers, initials, nexts = zip(*changed.values(), strict=True)
    carried = Carried(replace(loop, body=()), markers, initials, nexts)
    return {name: Recurrence(carried, number) for number, name in enumerate(changed)}
