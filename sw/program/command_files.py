"""The files that a command reads and writes: no output overwrites an input or another output.

Outside of ``command_files``, as in a Python program of a user's own, nothing is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError


@dataclass
class _Files:
    """Inputs by device and inode, which links share; outputs by their path without links."""

    inputs: set[tuple[int, int]] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)


_files: ContextVar[_Files | None] = ContextVar("command_files", default=None)


@contextmanager
def command_files() -> Iterator[None]:
    """Around one command."""
    token = _files.set(_Files())
    try:
        yield
    finally:
        _files.reset(token)


def note_input(path: str | Path) -> None:
    """The command reads this file, or the files in this folder, if there is any of that name."""
    files = _files.get()
    if files is None:
        return
    for each in [path, *(Path(path).iterdir() if os.path.isdir(path) else ())]:
        identity = _identity(each)
        if identity is not None:
            files.inputs.add(identity)


def note_output(path: str | Path) -> None:
    """The command has written this file."""
    files = _files.get()
    if files is not None:
        files.outputs.add(os.path.realpath(path))


def check_output(path: str | Path) -> None:
    """Raises ``WorkloadError`` for a file that the command reads or has written."""
    files = _files.get()
    if files is None:
        return
    if _identity(path) in files.inputs:
        raise WorkloadError(f"{path}: is an input of this command: must be another file")
    if os.path.realpath(path) in files.outputs:
        raise WorkloadError(f"{path}: is another output of this command: must be another file")


def _identity(path: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a zero byte in the name
        return None
    return status.st_dev, status.st_ino
