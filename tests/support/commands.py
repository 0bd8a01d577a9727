"""The ``gnarl`` command in this process, and how it refuses bad input.

A refusal is status 2 and one line that says where and what is right. Nothing may be on stdout, no
traceback on stderr, and no file may be left or changed.
"""

from __future__ import annotations

import signal
import sys
import warnings
from pathlib import Path
from unittest import mock

from click.testing import CliRunner, Result

from gnarl.sw.commands import progress
from gnarl.sw.commands.main import main

GNARL = Path(sys.executable).with_name("gnarl")
"""The command, for a process of its own."""


def default_interrupts() -> None:
    """In a child, before it starts: what a shell runs in the background ignores interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def gnarl(*arguments: str | Path) -> Result:
    """Without the times of stages that take long, as they do on a busy machine."""
    with warnings.catch_warnings(), mock.patch.object(progress, "PATIENCE_S", 3600):
        warnings.simplefilter("error")  # a process of its own would print them on stderr
        return CliRunner().invoke(main, [str(argument) for argument in arguments])


def state(folder: Path) -> dict[str, bytes | Path | None]:
    """Every file below a folder with its contents, links with what they name, folders ``None``."""

    def content(path: Path) -> bytes | Path | None:
        if path.is_symlink():
            return path.readlink()
        return None if path.is_dir() else path.read_bytes()

    return {str(path.relative_to(folder)): content(path) for path in folder.rglob("*")}


def refusal(folder: Path, *arguments: str | Path) -> str:
    """What stands on the one line of a command that is refused and leaves ``folder`` as it was."""
    before = state(folder)
    result = gnarl(*arguments)
    unhandled = result.exception
    assert isinstance(unhandled, SystemExit), repr(unhandled)
    assert (result.exit_code, result.stdout) == (2, "")
    assert state(folder) == before
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1
    return result.stderr.rstrip("\n")
