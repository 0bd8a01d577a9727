"""Lines of text files, and words in them: the one rule of all readers.

``str.splitlines`` also ends lines at vertical tabs, form feeds, the separators of ASCII and those
of Unicode, and ``str.split`` without an argument takes all of these for spaces. Files mean neither:
such a character in a comment would make entries of the rest of the comment.
"""

from __future__ import annotations

BLANKS = " \t"
"""What stands between words."""


def text_lines(text: str) -> list[str]:
    """Lines without their ends, which are LF, CRLF or CR; the last one may have none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def words_of(line: str) -> list[str]:
    """What stands between spaces and tabs."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def plain(text: str) -> str:
    """The text of a number; ``ValueError`` for what only Python takes for one: 1_0, other scripts,
    or spaces around it."""
    if "_" in text or not text.isascii() or text != text.strip():
        raise ValueError
    return text
