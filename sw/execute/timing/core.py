"""The time that a vector core's program takes, from its start until all is in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnarl.sw.execute.fields import Fields
from gnarl.sw.execute.timing.lines import LINES_READ, LINES_WRITTEN, NEVER, Lines
from gnarl.sw.execute.timing.table import timing_table
from gnarl.sw.execute.timing.unit import NEXT, new_core
from gnarl.sw.execute.timing.walk import follow

_FIRST = 3
"""Cycles from a program's start to the issue of its first instruction."""


class CoreTime:
    """Times a program of so many ``lanes`` that starts in a cycle, on the ``lines`` that it finds
    (``empty_lines``), with ``loads`` under way at most.

    end
        once its last part was ``done``: the cycle in which all is, or in which the core stops with
        a fault; until then ``None``.
    """

    def __init__(self, fields: Fields, lanes: int, loads: int, lines: Lines, start: int) -> None:
        self._table = timing_table(fields, lanes)
        self._core = new_core(lines, loads, start + _FIRST)
        self.end: int | None = None

    def done(self, part: npt.NDArray[np.int64], limit: int = NEVER) -> None:
        """The next instructions, as ``trace`` has them, up to the first that may not issue by cycle
        ``limit``. O(instructions + lines)."""
        end = follow(self._core, self._table, part, limit)
        self.end = None if end < 0 else end

    @property
    def issued(self) -> int:
        """The cycle from which on the next instruction may issue."""
        return int(self._core.at[NEXT])

    @property
    def lines_read(self) -> int:
        return int(self._core.lines.at[LINES_READ])

    @property
    def lines_written(self) -> int:
        return int(self._core.lines.at[LINES_WRITTEN])
