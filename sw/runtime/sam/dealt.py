"""What lanes have written, in the order of what was dealt to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import ProgramError


@dataclass(frozen=True)
class Dealt:
    """Units that a parallelizer has dealt to lanes in turn, and how many rows of some array each of
    them has become.

    rows
        int64 [units].
    """

    lanes: int
    rows: np.ndarray

    @classmethod
    def units(cls, count: int, lanes: int) -> Dealt:
        """Of a level further in: a lane makes one fiber of each unit."""
        return cls(lanes, np.ones(count, np.int64))

    def joined(self, parts: Sequence[np.ndarray], what: str) -> np.ndarray:
        """The rows of all units, of the rows [rows, ...] that each lane has.

        Raises ``ProgramError`` naming ``what`` of a lane with other rows than its units have.
        """
        begins = np.cumsum(self.rows) - self.rows
        joint = np.zeros((int(self.rows.sum()), *parts[0].shape[1:]), parts[0].dtype)
        for lane, part in enumerate(parts):
            own = self.rows[lane :: self.lanes]
            if own.sum() != len(part):
                raise ProgramError(
                    f"{what}: lane {lane} wrote {len(part)} rows: must be {own.sum()}, as it was "
                    "dealt"
                )
            shift = begins[lane :: self.lanes] - (np.cumsum(own) - own)
            joint[np.arange(len(part)) + np.repeat(shift, own)] = part
        return joint

    def within(self, rows: np.ndarray) -> Dealt:
        """The same units, each row of which has become so many, int64 [rows]."""
        sums = np.concatenate([[0], np.cumsum(rows)])
        ends = np.cumsum(self.rows)
        return Dealt(self.lanes, sums[ends] - sums[ends - self.rows])
