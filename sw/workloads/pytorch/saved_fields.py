"""Fields of a saved program's JSON: what is missing or of another type is named by its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, quoted

_RIGHT = "must be as torch.export.save writes it"


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Around what takes fields: a missing one, or one of another type, is a ``WorkloadError`` that
    names ``place``, which has it."""
    try:
        yield
    except KeyError as error:
        raise WorkloadError(f"{place}: has no {quoted(error.args[0])}: {_RIGHT}") from error
    except (AttributeError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise WorkloadError(f"{place}: has a field of another type: {_RIGHT}") from error


def whole(field: Any) -> int:
    """A whole number, ``{"as_int": 3}``; raises what ``reading`` expects."""
    number = field["as_int"]
    if type(number) is not int:
        raise TypeError
    return number
