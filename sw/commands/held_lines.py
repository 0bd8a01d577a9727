"""Lines on stderr that are only worth printing if the command ends well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

_held: list[tuple[IO[str], str]] | None = None


@contextmanager
def held_lines() -> Iterator[Callable[[], None]]:
    """Lines that no terminal shows wait until the function that this gives is called, and are else
    dropped: of a command that is refused there is one line, which says why."""
    global _held
    before, _held = _held, []
    try:
        yield _print_held
    finally:
        _held = before


def print_or_hold(file: IO[str], line: str, *, is_terminal: bool) -> None:
    if _held is None or is_terminal:
        _print(file, line)
    else:
        _held.append((file, line))


def _print_held() -> None:
    while _held:
        _print(*_held.pop(0))


def _print(file: IO[str], line: str) -> None:
    with suppress(OSError):  # nobody reads it
        file.write(line)
        file.flush()
