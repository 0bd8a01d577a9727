"""Whether Python files of workloads may be executed: only at the user's word.

A Python file that is named as ``FILE.py:NAME`` may be, too: who names what it makes knows that it
is code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_allowed: ContextVar[bool] = ContextVar("python_files", default=False)


@contextmanager
def python_allowed() -> Iterator[None]:
    """Around what may execute Python files, as ``--allow-python`` is around a command."""
    token = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(token)


def is_python_allowed() -> bool:
    return _allowed.get()


def split_name(source: str | Path) -> tuple[str, str]:
    """The file, and the name behind it if there is one: ``nest.py:function``."""
    if os.path.exists(source):
        return str(source), ""
    file, _, name = str(source).partition(":")
    return file, name
