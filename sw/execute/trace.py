"""What timing needs to know of instructions that were done: int64 [n, 2], in order.

``INSTRUCTION``: ``FLAGS`` times its address, plus ``ENDS_BODY`` where it is the last of the body of
the innermost loop that runs, ``TURNS`` where it is a branch that is taken or a ``LOOP`` that does
not run, and ``FAULTS`` where a run ends with it, which is not done. ``REQUEST``, of memory alone:
``MOST_LANES`` bits of those lanes whose words it wants, and above them the address of the first
lane's word; of what faults: whether the fault is its address, so that it waits for all that it
needs, else it waits for nothing.
"""

from __future__ import annotations

INSTRUCTION, REQUEST = range(2)
COLUMNS = 2

FLAGS = 8
ENDS_BODY, TURNS, FAULTS = 1, 2, 4

MOST_LANES = 16

LONGEST = 1 << 14
"""Instructions of a part of a run that are interpreted, and then timed."""
