"""Reads text files whose errors name a place, ``file:line``."""

from __future__ import annotations

import io
import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.lib.text_lines import BLANKS, plain, text_lines, words_of
from gnarl.sw.program.unique_keys import unique_keys
from gnarl.sw.workloads.compressed_file import read_bytes
from gnarl.sw.workloads.refusals import FINITE, NOT_BELOW, refuse_first

Kind = type[np.int64] | type[np.float64]
"""The kind of whole and of real numbers."""

_NONZERO = re.compile("[^eE]*[1-9]")

_OTHER_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f"
"""Spaces of ASCII, besides those that stand between words and end lines."""

_INTEGER_DIGITS = 300
"""Whole numbers of JSON and GML with more are read as float64, which may not hold them."""


def comment_behind(mark: str) -> str:
    """A regular expression of a line's comment in tables: from a word on that begins with it."""
    return f"(?:^|[{BLANKS}]){re.escape(mark)}.*"


def table_words(line: str, mark: str) -> list[str]:
    """The words of a table's line, without its comment."""
    return words_of(
        re.sub(comment_behind(mark), "", line, flags=re.DOTALL) if mark in line else line
    )


def read_text(path: str | Path, comment: str | None = None) -> str:
    """The text of a file that may be compressed.

    ``comment`` is a regular expression of a line's comment, in which bytes of any encoding may be;
    what is not UTF-8 becomes U+FFFD there. Raises ``WorkloadError`` naming the line, or if the file
    cannot be read.
    """
    octets = read_bytes(path)
    try:
        return _decoded(octets, "strict")
    except UnicodeDecodeError as error:
        if comment is None:
            raise WorkloadError(f"{path}: byte {error.start} is not valid UTF-8") from None
    for number, line in enumerate(text_lines(_decoded(octets, "surrogateescape")), 1):
        if not _is_unicode(re.sub(comment, "", line)):
            raise WorkloadError(
                f"{path}:{number}: not valid UTF-8: only comments may be in another encoding"
            )
    return _decoded(octets, "replace")


def _decoded(octets: bytes, errors: str) -> str:
    """The text of UTF-8, perhaps with a byte order mark; all lines end with LF."""
    return io.TextIOWrapper(io.BytesIO(octets), encoding="utf-8-sig", errors=errors).read()


def _is_unicode(text: str) -> bool:
    """Whether it has no half of a surrogate pair, which stands for a byte that is not UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def parse_json(text: str, place: str) -> Any:
    """What the JSON text says; ``WorkloadError`` naming the line, or a repeated key.

    Numbers beyond float64 are infinite: who takes them refuses them with their names.
    """

    try:
        return json.loads(
            text,
            object_pairs_hook=unique_keys,
            parse_int=any_whole,
            parse_float=lambda number: any_real(number, place),
        )
    except json.JSONDecodeError as error:
        raise WorkloadError(
            f"{place}:{error.lineno}: invalid JSON at column {error.colno}: {error.msg}"
        ) from None
    except ValueError as error:  # of unique_keys
        raise WorkloadError(f"{place}: {error}") from None


def whole_number(text: str, place: str) -> int:
    """The number that ``text`` spells, within 63 bits; ``WorkloadError`` if it spells none."""
    try:
        number = int(plain(text))
    except ValueError:
        raise WorkloadError(f"{place}: {short(text)!r} is not a whole number") from None
    if not -(2**63) < number < 2**63:
        raise WorkloadError(f"{place}: {short(text)} has more than 63 bits")
    return number


def real_number(text: str, place: str) -> float:
    """The number that ``text`` spells, rounded to float64; ``WorkloadError`` if there is none that
    is finite, or if it is 0 and the text is not."""
    try:
        number = float(plain(text))
    except ValueError:
        raise WorkloadError(f"{place}: {short(text)!r} is not a number") from None
    if not math.isfinite(number):
        raise WorkloadError(f"{place}: {short(text)}: {FINITE}")
    if number == 0 and is_not_zero(text):
        raise WorkloadError(f"{place}: {short(text)}: {NOT_BELOW}")
    return number


def any_real(text: str, place: str) -> float:
    """The number that ``text`` spells, infinite beyond float64: who takes it refuses it with its
    name; ``WorkloadError`` if it is 0 and the text is not."""
    number = float(text)
    return number if number else real_number(text, place)


def any_whole(text: str) -> float:
    """The whole number that ``text`` spells, infinite beyond float64, where Python's ``float`` of
    it gives up."""
    return int(text) if len(text) <= _INTEGER_DIGITS else float(text)


def is_not_zero(text: str) -> bool:
    """Whether a number, spelled so, is not 0, whatever float64 makes of it."""
    return _NONZERO.match(text) is not None


def is_number(text: str) -> bool:
    """Whether ``real_number`` reads the text."""
    try:
        real_number(text, "")
    except WorkloadError:
        return False
    return True


_FORTRAN = re.compile("(?<=[0-9.])[dD](?=[+-]?[0-9])")
"""What begins the exponent of a number that Fortran writes in double precision."""


def _tabled_real(text: str, place: str) -> float:
    return real_number(_FORTRAN.sub("e", text), place)


READERS: dict[Kind, Callable[[str, str], float]] = {
    np.int64: whole_number,
    np.float64: _tabled_real,
}
"""What reads a number of each kind in a table; exponents of reals may begin with D."""


def number_table(lines: Sequence[str], kinds: Sequence[Kind]) -> list[np.ndarray] | None:
    """A column for each of ``kinds``, if every line but blank ones at the end is a row of them.

    Numbers as ``READERS`` read them. ``None`` if a line is anything else: readers of single lines
    then find out which one.
    """
    count = len(lines)
    while count and not lines[count - 1].strip(BLANKS):
        count -= 1
    if _has_other_spaces(lines[:count]):
        return None
    kind = np.dtype([(str(number), kind) for number, kind in enumerate(kinds)])
    try:
        # What NumPy warns of are whole numbers with a point, and no line at all.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(lines[:count], kind, comments=None, ndmin=1)
    except (ValueError, OverflowError, Warning):
        return None
    columns = [table[str(number)] for number in range(len(kinds))]
    if len(table) < count or any(map(_has_unreadable, columns)):
        return None  # blank lines, or numbers that have no readers
    for at, column in enumerate(columns):
        zeros = np.flatnonzero(column == 0).tolist() if column.dtype == np.float64 else []
        if any(is_not_zero(words_of(lines[row])[at]) for row in zeros):
            return None
    return columns


def read_table(
    lines: Sequence[str], first: int, kinds: Sequence[Kind], source: str, comment: str, form: str
) -> tuple[list[np.ndarray], np.ndarray]:
    """A column for each of ``kinds``, from ``lines[first:]``, and the number of each row's line.

    Blank lines are left out, and what is behind a word that starts with ``comment``. Raises
    ``WorkloadError`` with the file ``source`` and the line; ``form`` says what a row must be.
    """
    table = number_table(lines[first:], kinds)
    if table is not None:
        return table, first + 1 + np.arange(len(table[0]))
    ended = re.compile(comment_behind(comment), re.DOTALL)
    texts, numbers = [], []
    for number, line in enumerate(lines[first:], first + 1):
        text = ended.sub("", line, count=1) if comment in line else line
        if text.strip(BLANKS):
            texts.append(text)
            numbers.append(number)
    table = number_table([_FORTRAN.sub("e", text) for text in texts], kinds)
    if table is None:
        table = _read_by_line(texts, numbers, kinds, source, form)
    return table, np.array(numbers, np.int64)


def require_whole(values: np.ndarray, line: np.ndarray, source: str) -> None:
    """Raises ``WorkloadError`` for the first of a table's numbers [n] that has a fraction, where
    the file says that none has; ``line``: int64 [n], their lines."""
    refuse_first(
        values != np.rint(values),
        lambda at: f"{source}:{line[at]}: {values[at]}: must be a whole number, as integer says",
    )


def _read_by_line(
    texts: Sequence[str], numbers: Sequence[int], kinds: Sequence[Kind], source: str, form: str
) -> list[np.ndarray]:
    """A column for each of ``kinds``, as ``read_table``, from lines that are rows all."""
    rows = []
    for number, text in zip(numbers, texts, strict=True):
        words, place = words_of(text), f"{source}:{number}"
        if len(words) != len(kinds):
            raise WorkloadError(f"{place}: {len(words)} fields: must be {form}")
        rows.append([READERS[kind](word, place) for word, kind in zip(words, kinds, strict=True)])
    return [np.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]


def _has_other_spaces(lines: Sequence[str]) -> bool:
    """Whether there may be characters that NumPy takes for spaces, but are none."""
    text = "".join(lines)
    return not text.isascii() or any(each in text for each in _OTHER_SPACES)


def _has_unreadable(column: np.ndarray) -> bool:
    """Whether a column has numbers that ``whole_number`` or ``real_number`` refuses."""
    if column.dtype == np.float64:
        return not np.isfinite(column).all()
    return bool((column == -(2**63)).any())  # more than 63 bits
