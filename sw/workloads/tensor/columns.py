"""Errors in the notation of tensor expressions and programs, which name a column."""

from __future__ import annotations

from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError


class NotationError(WorkloadError):
    """What is wrong with a text, and the column, from 1, where it is."""

    def __init__(self, column: int, problem: str) -> None:
        super().__init__(column, problem)
        self.column, self.problem = column, problem

    def __str__(self) -> str:
        return f"expression, column {self.column}: {self.problem}"


def fail(column: int, problem: str) -> NoReturn:
    """Raises ``NotationError``."""
    raise NotationError(column, problem)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with what it counts."""
    return f"{number} {one if number == 1 else many or one + 's'}"
