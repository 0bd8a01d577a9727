"""What timing needs to know of instructions that were done: int64 [n, 2], in order.

``INSTRUCTION``: ``FLAGS`` times its address, plus ``ENDS_BODY`` where it is the last of the body of
the innermost loop that runs, and ``TURNS`` where it is a branch that is taken or a ``LOOP`` that
does not run. ``REQUEST``, of memory alone: ``MOST_LANES`` bits of those lanes whose words it wants,
and above them the address of the first lane's word.
"""

from __future__ import annotations

INSTRUCTION, REQUEST = range(2)
COLUMNS = 2

FLAGS = 4
ENDS_BODY, TURNS = 1, 2

MOST_LANES = 16

LONGEST = 1 << 14
"""Instructions of a part of a run that are interpreted, and then timed."""
