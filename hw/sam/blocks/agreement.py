"""Whether the heads of streams that belong together fit each other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Value
from gnarl.hw.sam.step import is_data, is_done, is_stop
from gnarl.hw.sam.token import LEVEL_BITS


def level_of(stream: Any) -> Value:
    """Level of the stop at the head of ``stream``."""
    return stream.payload.payload[:LEVEL_BITS]


def agree(left: Any, right: Any) -> Value:
    """Both heads are data or empty, or both are the same stop, or both are done.

    This is what the heads of streams of one level do.
    """
    return (
        (is_data(left) & is_data(right))
        | (is_stop(left) & is_stop(right) & (level_of(left) == level_of(right)))
        | (is_done(left) & is_done(right))
    )


def is_closed_by(outer: Any, inner: Any) -> Value:
    """The stop at the head of ``inner`` ends the fiber of the level around it, too.

    That one's stop, one level lower, is then the head of ``outer``.
    """
    return is_stop(outer) & is_stop(inner) & (level_of(outer) + 1 == level_of(inner))
