"""Orders of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def spread(slots: Sequence[Sequence[str]], others: Sequence[str]) -> Iterator[str]:
    """``others`` evenly between ``slots``."""
    done = 0
    for number, slot in enumerate(slots, 1):
        yield from slot
        until = len(others) * number // len(slots)
        yield from others[done:until]
        done = until
