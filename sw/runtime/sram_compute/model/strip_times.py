"""When stream engines do operations on strips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES


@dataclass
class Times:
    """When the operation before went through: the cycles in which the accesses of its last three
    steps ended; all but the last let others go on."""

    ends: tuple[int, int, int] = (-4, -4, -4)

    def begin(self, offered: int, drains: bool) -> int:
        """The cycle in which an operation begins that is offered from a cycle on."""
        return max(offered, self.ends[0], self.ends[2] + 3 if drains else 0)

    def first_address(self, begun: int) -> int:
        """The first cycle in which the first step's address is known."""
        return self._next(begun) + 1

    def first_access(self, begun: int) -> int:
        """The first cycle of the first step's access."""
        return self._next(self._next(begun)) + 1

    def accessed(self, begins: Sequence[int]) -> None:
        """Notes the accesses of an operation. ``begins``: when the access of each step begins, and
        when that behind the last may."""
        self.ends = (begins[-3] - 1, begins[-2] - 1, begins[-1] - 1)

    def _next(self, cycle: int) -> int:
        """The first cycle behind one in which steps go on."""
        for end in self.ends[1:]:
            if cycle < end:
                return end
        return cycle + 1

    @property
    def through(self) -> int:
        """The first cycle in which nothing is under way."""
        return self.ends[2] + 3 + FLOAT_STAGES
