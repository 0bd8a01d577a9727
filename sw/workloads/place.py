"""Locations in source files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar


@dataclass(frozen=True)
class Location:
    """A place in a source file. ``line`` and ``column`` are counted from 1, columns in characters;
    ``caller``: where the function that it is in is called, if that is not the nest's own."""

    NAME_IN_FILES: ClassVar[str] = "Place"

    file: str
    line: int
    column: int
    caller: Location | None = None

    def __str__(self) -> str:
        own = f"{self.file}:{self.line}:{self.column}"
        return own if self.caller is None else f"{own}, called at {self.caller}"

    def called_at(self, caller: Location) -> Location:
        """The location in a function that is called there."""
        outer = caller if self.caller is None else self.caller.called_at(caller)
        return replace(self, caller=outer)
