"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnarl.sw.program.command_files import check_output, note_output

WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Errors of writing, which Python raises without a file's name."""

_temporaries: set[Path] = set()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to, renamed to it if the block ends well.

    What was written is on the disk before it is renamed. If the block raises, or is interrupted,
    what it wrote is removed and an older ``path`` stays. Folders above must exist: ``OSError`` if
    not, which names ``path``, as do errors of writing. A link stays, and what it names is written;
    anything that is neither a link nor a regular file is refused with an ``OSError``, a file that
    the running command reads or has written with a ``WorkloadError``.
    """
    check_output(path)
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    # Same extension: some writers go by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    _temporaries.add(temporary)
    try:
        with naming(path, temporary):
            yield temporary
            flush(temporary)
            temporary.replace(path)
        note_output(path)
    finally:
        temporary.unlink(missing_ok=True)
        _temporaries.discard(temporary)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder beside ``path`` to write to, renamed to it if the block ends well.

    An older folder ``path`` is replaced, and stays if the block raises or is interrupted. Folders
    above are made where there are none. ``OSError`` where they cannot be written to.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary, older = (path.with_name(f".{path.name}.{os.getpid()}{end}") for end in ("", ".old"))
    _temporaries.add(temporary)
    try:
        with naming(path, temporary):
            temporary.mkdir()
            yield temporary
            for each in [*temporary.rglob("*"), temporary]:
                flush(each)
            if path.exists():
                path.rename(older)
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(older, ignore_errors=True)
        _temporaries.discard(temporary)


@contextmanager
def naming(path: Path, written: Path) -> Iterator[None]:
    """Around code that writes to ``written``: errors of that name ``path``."""
    try:
        yield
    except OSError as error:
        if error.filename == str(written) or (not error.filename and error.errno in WRITING):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def flush(path: Path) -> None:
    """Returns when a file's contents, or a folder's list of names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries() -> None:
    """Removes what open blocks of this module have written, for a process that ends within one."""
    for temporary in list(_temporaries):
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
