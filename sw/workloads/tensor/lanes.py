"""How many lanes a loop may have, and how blocks deal it to them."""

from __future__ import annotations

from gnarl.hw.sam.block_types import MAX_LANES

MAX_DEALT = 64
"""Lanes of a loop."""

ALLOWED_LANES = f"2 to {MAX_LANES}, or a product of two such numbers up to {MAX_DEALT}"


def ways_of(lanes: int) -> tuple[int, ...]:
    """The lanes of each level of a tree of blocks that deals to ``lanes``, as equal as can be.

    At most two levels, of ``MAX_LANES`` at most; empty for numbers that are not ``ALLOWED_LANES``.
    """
    if 2 <= lanes <= MAX_LANES:
        return (lanes,)
    pairs = [(lanes // one, one) for one in range(2, MAX_LANES + 1) if lanes % one == 0]
    fitting = [(one, other) for one, other in pairs if one <= other]
    return min(fitting, key=max) if fitting and 2 <= lanes <= MAX_DEALT else ()
