"""Where in a program errors are: the statement, and the column or the user's line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.columns import NotationError


@contextmanager
def located(statement: str | int, place: str = "") -> Iterator[None]:
    """Errors of the notation inside name the statement, by its tensor or number, and the column; or
    ``place``, where the statement is from elsewhere."""
    try:
        yield
    except NotationError as error:
        where = f", column {error.column}"
        if place:
            where, place = "", f"{place}: "
        raise WorkloadError(f"{place}statement {statement}{where}: {error.problem}") from None


@contextmanager
def in_program() -> Iterator[None]:
    """Errors of the notation inside are of the program as a whole."""
    try:
        yield
    except NotationError as error:
        raise WorkloadError(f"program, column {error.column}: {error.problem}") from None
