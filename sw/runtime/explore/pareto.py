"""Which points no other dominates."""

from __future__ import annotations

from collections.abc import Sequence

Cost = tuple[float, ...]


def dominates(one: Cost, other: Cost) -> bool:
    """Whether a point costs no more than another in anything, and less in something."""
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))


def front(costs: Sequence[Cost | None]) -> list[bool]:
    """Whether each point is dominated by none of the others, by costs of which lower is better.

    A point that has none, ``None``, is not on the front; of equal ones all are.
    """
    # By costs in order, none dominates one before it: only the front so far has to be asked.
    order = sorted((cost, at) for at, cost in enumerate(costs) if cost is not None)
    found: list[Cost] = []
    is_on = [False] * len(costs)
    for cost, at in order:
        if not any(dominates(each, cost) for each in found):
            is_on[at] = True
            if cost not in found[-1:]:
                found.append(cost)
    return is_on
