"""Generated sections of text files: between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.

Not cogapp, which runs all generators of a file each time: figures here take hours to measure and
stay until they are measured again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnarl.hw.lib.errors import GnarlError


class MarkerError(GnarlError):
    """A file that cannot be read or lacks the markers of a section."""


def marked(name: str, body: str) -> str:
    """``body`` between the markers of section ``name``, without a newline at the end."""
    return f"{_begin(name)}{body.strip()}\n{_end(name)}"


def find_section(text: str, name: str) -> str | None:
    """What lies between the markers of section ``name``; ``None`` if ``text`` lacks one of them."""
    _, found, rest = text.partition(_begin(name))
    body, closed, _ = rest.partition(_end(name))
    return body if found and closed else None


def read_section(path: Path, name: str) -> str:
    """``find_section`` in a file.

    Raises ``MarkerError`` if the file cannot be read or lacks one of the markers.
    """
    return _require(path, _read(path), name)


def with_sections(path: Path, bodies: Mapping[str, str]) -> str:
    """The text of a file, with new ``bodies`` between the markers of the sections so named.

    Raises ``MarkerError`` if the file cannot be read or lacks one of the markers.
    """
    text = _read(path)
    for name, body in bodies.items():
        old = f"{_begin(name)}{_require(path, text, name)}{_end(name)}"
        text = text.replace(old, marked(name, body), 1)
    return text


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise MarkerError(f"{path}: cannot be read: {error.strerror}") from error


def _require(path: Path, text: str, name: str) -> str:
    body = find_section(text, name)
    if body is None:
        begin, end = _begin(name).strip(), _end(name)
        raise MarkerError(f"{path}: must have a line {begin} and, after it, a line {end}")
    return body


def _begin(name: str) -> str:
    return f"<!-- {name}:begin -->\n"


def _end(name: str) -> str:
    return f"<!-- {name}:end -->"
