"""Errors in the notation of tensor expressions, which name a column."""

from __future__ import annotations

from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError


def fail(column: int, problem: str) -> NoReturn:
    """Raises ``WorkloadError``; columns count from 1."""
    raise WorkloadError(f"expression, column {column}: {problem}")


def counted(number: int, one: str, many: str = "") -> str:
    """A number with what it counts."""
    return f"{number} {one if number == 1 else many or one + 's'}"
