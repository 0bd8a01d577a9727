"""The type of options that name a file or folder to write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class OutputPath(click.Path):
    """A path to write to. Refused, before any work is done for it: a file that the command reads or
    writes otherwise, and one in a folder that does not exist or cannot be written to."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(path_type=Path, **attributes)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.dir_okay and not self.file_okay:  # made where there is none, with those above
            return path
        if not path.parent.is_dir():
            self.fail(f"{path.parent}: no such folder.", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path.parent}: permission denied.", param, ctx)
        return path
