"""Errors that a user can correct. The command line prints their text and exits with status 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

_SHOWN = 40
"""Characters of a text that error texts quote, at most."""


class GnarlError(Exception):
    """Bad input of any kind; the text is one line that names the place and what would be right."""


class Violation(str):
    """What is wrong with the ``field`` of a configuration: its name and then ``problem``."""

    field: str

    def __new__(cls, field: str, problem: str) -> Self:
        violation = super().__new__(cls, field + problem)
        violation.field = field
        return violation


class ConfigError(GnarlError):
    """A configuration that no hardware can be generated for.

    ``violations`` lists every problem, as a ``Violation`` where one field is to blame:
    ``field = value: what is allowed``.
    """

    def __init__(self, violations: Sequence[str]) -> None:
        self.violations = tuple(violations)
        super().__init__("; ".join(self.violations))


class WorkloadError(GnarlError):
    """A workload that means nothing or cannot be compiled; names the file, line, node or value."""


class ProgramError(GnarlError):
    """A program file that is damaged, or made for another configuration; names the field."""


class CapacityError(GnarlError):
    """A workload that needs more than the configuration has; names what is short, by how much."""


def one_line(error: BaseException) -> str:
    """The text of an error, which may have several lines, or its type where it has none."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # of a class of the user's own
        text = ""
    return text or type(error).__name__


def short(value: object, most: int = _SHOWN) -> str:
    """The text of a value as error texts quote what files say: where it is long, only so many
    characters of it."""
    text = _text(value, str)
    return text if len(text) <= most else f"{text[:most]}…"


def quoted(value: object, most: int = _SHOWN) -> str:
    """Text like ``short``'s, in Python's notation: in quotes, where it is a text."""
    return short(_text(value, repr), most)


def _text(value: object, spelled: Callable[[object], str]) -> str:
    """The text of a value; hexadecimal for whole numbers that Python does not write in decimal."""
    try:
        return spelled(value)
    except ValueError:
        return hex(value) if isinstance(value, int) else type(value).__name__


FEWER_DIGITS = f"must have at most {sys.get_int_max_str_digits()}"
"""What is right of whole numbers that Python's ``int`` does not read, to save time."""


def has_too_many_digits(error: BaseException) -> bool:
    return str(error).startswith("Exceeds the limit (")


@contextmanager
def damaged_as(kind: type[GnarlError], place: object) -> Iterator[None]:
    """Around readers of files: whatever a parser trips over becomes one error that names the place.

    Parsers name what they expect; this is for contents that no one expected, such as brackets
    nested beyond the stack or numbers beyond memory.
    """
    try:
        yield
    except GnarlError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
        Warning,
    ) as error:
        text = " ".join(str(error).split())[:200] or "nothing more is known"
        reason = f"cannot be understood: {type(error).__name__}: {text}"
        if has_too_many_digits(error):
            reason = f"a whole number has too many digits: {FEWER_DIGITS}"
        if kind is ConfigError:
            raise ConfigError([f"{place}: {reason}"]) from error
        raise kind(f"{place}: {reason}") from error
