"""The types of arguments and options that name files and folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class _NamedPath(click.Path):
    """A path with a name: an empty text would be the current folder."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(path_type=Path, **attributes)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not os.fspath(value):
            kind = "folder" if not self.file_okay else "file or folder" if self.dir_okay else "file"
            self.fail(f"an empty path: must name a {kind}.", param, ctx)
        return super().convert(value, param, ctx)


class InputFile(_NamedPath):
    """A file to read."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)


class OutputPath(_NamedPath):
    """A path to write to. Refused, before any work is done for it: a file that the command reads or
    writes otherwise, and one in a folder that does not exist or cannot be written to."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.dir_okay and not self.file_okay:  # made where there is none, with those above
            return path
        if not path.parent.is_dir():
            self.fail(f"{path.parent}: no such folder.", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path.parent}: permission denied.", param, ctx)
        return path
