"""How a step of a session ended."""

from __future__ import annotations

from dataclasses import dataclass

DONE = "done"
WRONG = "wrong"
NOT_POSSIBLE = "not possible"
UNFINISHED = "unfinished"
FAILED = "failed"

FINAL = (DONE, WRONG)
"""What is not tried again with the same kernel."""


@dataclass(frozen=True)
class Outcome:
    """How a step ended, and why.

    status
        ``DONE``; ``WRONG``: measured, but results are not bit-exact; ``NOT_POSSIBLE`` on this
        machine; ``UNFINISHED``: goes on when it is run again; ``FAILED``.
    """

    status: str
    reason: str = ""
