"""Reads files that may be compressed, as ``matrix.mtx.gz``.

Sources: Deutsch, "GZIP file format specification version 4.3", RFC 1952; Seward, "bzip2 and
libbzip2".
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from gnarl.hw.lib.errors import WorkloadError, one_line
from gnarl.sw.program.command_files import note_input
from gnarl.sw.program.npz import EXPANDED

_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),  # type: ignore[dict-item,return-value]
    ".bz2": lambda file: bz2.BZ2File(file),  # type: ignore[dict-item,return-value]
}
"""What expands a file, by its last suffix in lower case."""

_PIECE = 1 << 20
"""Bytes that are read at a time."""


def suffix_of(path: str | Path) -> str:
    """The suffix in lower case that says what is in the file, be it compressed or not."""
    path = Path(path)
    return Path(path.stem if is_compressed(path) else path.name).suffix.lower()


def stem_of(path: str | Path) -> str:
    """The file's name without that suffix, and without the one of compression."""
    path = Path(path)
    return Path(path.stem).stem if is_compressed(path) else path.stem


def is_compressed(path: str | Path) -> bool:
    """Whether the file's name says so."""
    return Path(path).suffix.lower() in _OPENERS


def read_bytes(path: str | Path) -> bytes:
    """The file's contents, expanded where its name says that it is compressed.

    Raises ``WorkloadError`` for a file that cannot be read, is truncated or damaged, or expands to
    more than ``EXPANDED`` bytes and its own size.
    """
    note_input(path)
    suffix = Path(path).suffix.lower()
    try:
        with Path(path).open("rb") as file:
            if suffix not in _OPENERS:
                return file.read()
            limit = max(Path(path).stat().st_size, EXPANDED)
            return _expanded(_OPENERS[suffix](file), limit, str(path))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WorkloadError(f"{path}: not a {suffix} file, or damaged: {one_line(error)}") from None
    except OSError as error:
        if error.strerror is None:  # of bz2
            raise WorkloadError(
                f"{path}: not a {suffix} file, or damaged: {one_line(error)}"
            ) from None
        raise WorkloadError(f"{path}: {error.strerror}") from None


def _expanded(stream: BinaryIO, limit: int, source: str) -> bytes:
    contents = bytearray()
    while piece := stream.read(_PIECE):
        contents += piece
        if len(contents) > limit:
            raise WorkloadError(
                f"{source}: expands to more than {limit:,} bytes: must be at most that many, or "
                "not compressed"
            )
    return bytes(contents)
