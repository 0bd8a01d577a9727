"""What comes of a point where it is run: an object of one entry, called as these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

RESULT = "result"
"""Its figures or its error, which a sweep keeps."""

STOPPED = "stopped"
"""Why no point can run here."""

DEFECT = "defect"
"""The traceback of an error of Gnarl itself."""

TRIES = 2
"""How often a point is run whose process is killed."""

LEFT_OUT = "left_out"
"""The entry of a result that says that its point was not run, but only estimated."""

NOTE = "note"
"""What a point is at: such objects may come before what comes of it."""

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def note(text: str) -> None:
    """Says what the point is at that runs here, to whoever has it run and wants to know."""
    hear = _listener.get()
    if hear is not None:
        hear(text)


@contextmanager
def notes_heard(hear: Callable[[str], None]) -> Iterator[None]:
    """Notes of what runs in the block go to ``hear``."""
    token = _listener.set(hear)
    try:
        yield
    finally:
        _listener.reset(token)
