"""What compilers build, kept between runs.

A cache entry is a folder named by its kind and the SHA-256 digest of everything that goes in, and
appears whole or not at all: it is made in ``<kind>-<digest>.work``, flushed to the disk, then
renamed. A file lock for each entry makes a second process that wants the same one wait for the
first. What a failed build leaves in its work folder, logs included, stays until the next attempt,
or until the cache is pruned (``cache_contents.py``).

An entry has a list of its files' own digests, with which every use compares them: one that is
damaged is made again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from gnarl.sw.program.atomic import WRITING, flush, naming
from gnarl.sw.program.cache_contents import (
    LOCK,
    SUMS,
    WORK,
    cache_folder,
    note_use,
    prune_if_due,
)
from gnarl.sw.program.paths import files_in


def digest_of(*parts: str) -> str:
    """Hexadecimal digest, different for any two sequences of parts."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def file_texts(folder: Path, pattern: str = "*") -> list[str]:
    """Names and texts of the files in a folder and below, for digests.

    Raises ``MissingFilesError`` where there are none.
    """
    return [
        text
        for path in files_in(folder, pattern)
        for text in (path.relative_to(folder).as_posix(), path.read_text(errors="replace"))
    ]


def cached(
    kind: str, digest: str, make: Callable[[Path], None], keep: tuple[str, ...]
) -> list[Path]:
    """The files ``keep`` of entry ``digest``; if there is none, ``make`` writes them.

    ``kind``: one word of small letters for what it is, by which people see it listed. Other files
    that ``make`` writes are removed, and all of them when it is interrupted, or where disk or
    memory have no room for more. If it raises anything else its folder stays until the next
    attempt, for errors to refer to. Warns of a damaged entry, which is replaced. Raises what
    ``make`` does, and ``OSError``.
    """
    cache = cache_folder()
    name = f"{kind}-{digest}"
    entry = cache / name
    if not _is_whole(entry, keep):
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f"{name}{LOCK}"):
            if not _is_whole(entry, keep):
                if os.path.lexists(entry):
                    warnings.warn(f"{entry}: damaged cache entry: made again", stacklevel=2)
                build_entry(entry, cache / f"{name}{WORK}", make, keep)
        prune_if_due()
    return [entry / name for name in keep]


def build_entry(
    entry: Path, folder: Path, make: Callable[[Path], None], keep: tuple[str, ...]
) -> None:
    """Makes the entry in ``folder``, and moves it to its place."""
    _remove(folder)
    folder.mkdir()
    try:
        with naming(folder, folder):
            make(folder)
            for path in folder.iterdir():
                if path.name not in keep:
                    _remove(path)
            (folder / SUMS).write_text(_sums(folder, keep))
        for name in (*keep, SUMS, ""):
            flush(folder / name)
        _remove(entry)
        folder.rename(entry)
        flush(entry.parent)
    except BaseException as error:
        is_unwritten = isinstance(error, OSError) and error.errno in WRITING
        if is_unwritten or isinstance(error, KeyboardInterrupt | MemoryError):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _is_whole(entry: Path, keep: tuple[str, ...]) -> bool:
    note_use(entry / SUMS)
    try:
        return (entry / SUMS).read_bytes() == _sums(entry, keep).encode()
    except OSError:
        return False


def _sums(folder: Path, names: tuple[str, ...]) -> str:
    lines = []
    for name in names:
        with (folder / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return "".join(lines)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
