"""Program files of any target."""

from __future__ import annotations

from pathlib import Path

from gnarl.hw.lib.errors import ProgramError, quoted
from gnarl.sw.program.program import Program
from gnarl.sw.program.schema import Schema
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.registry import TARGETS


def load_program(path: str | Path, configuration: NamedConfiguration | None = None) -> Program:
    """Reads a program's file and checks all of it, and that it is for ``configuration``, if given.

    Raises ``ProgramError``, which names the file and the field, and ``OSError`` if the file cannot
    be read.
    """
    if configuration is None:
        return Program.load(path, _schema)
    return Program.load(path, _schema, configuration.require)


def _schema(target: str) -> Schema:
    if target not in TARGETS:
        raise ProgramError(f"target {quoted(target)}: must be one of {', '.join(TARGETS)}")
    return TARGETS[target].compiler.schema
