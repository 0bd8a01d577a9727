"""Where a run's cycles go, by line of the source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class ArrayTraffic:
    """Lines of main memory that are moved for an array.

    lines
        how many, to and from memory.
    cycles
        in which the machine does nothing else.
    least
        cycles from the first to the last of so many, as fast as memory takes them.
    """

    lines: int
    cycles: int
    least: int


@dataclass(frozen=True)
class SourceLine:
    """A store in the source, and what is done for it.

    place
        ``file:line:column``.
    kinds
        cycles by what they are spent on; kinds exclude one another.
    arrays
        by name.
    """

    place: str
    kinds: Mapping[str, int]
    arrays: Mapping[str, ArrayTraffic]

    @property
    def cycles(self) -> int:
        return sum(self.kinds.values())


@dataclass(frozen=True)
class SourceLines:
    """All, those of the most cycles first: together they have each cycle once.

    fetch
        the kind that is about arrays.
    note
        whose cycles these are, where they are not the machine's.
    """

    lines: Sequence[SourceLine]
    fetch: str
    note: str = ""

    @property
    def cycles(self) -> int:
        return sum(each.cycles for each in self.lines)

    @property
    def limit(self) -> str:
        """What takes the most cycles, and where."""
        line = max(self.lines, key=lambda each: max(each.kinds.values()))
        kind = what = max(line.kinds, key=lambda each: line.kinds[each])
        if kind == self.fetch and any(each.cycles for each in line.arrays.values()):
            name, array = max(line.arrays.items(), key=lambda each: each[1].cycles)
            what += (
                f" of {name}, {array.lines:,} lines in {array.cycles:,} cycles (at least "
                f"{array.least:,}),"
            )
        return f"{what} at {line.place}: {line.kinds[kind]:,} of {self.cycles:,} cycles"

    def to_json(self) -> dict[str, object]:
        return {
            "limit": self.limit,
            "note": self.note,
            "places": [{"cycles": line.cycles, **asdict(line)} for line in self.lines],
        }

    def drawn(self) -> RenderableType:
        """A table for people."""
        kinds = self.lines[0].kinds
        names = [name for name in kinds if any(each.kinds[name] for each in self.lines)]
        table = Table(box=None, pad_edge=False)
        table.add_column("line", overflow="fold")
        for title in ("cycles", "%", *names):
            table.add_column(title, justify="right", overflow="fold")
        table.add_column("lines of memory", overflow="fold")
        for line in self.lines:
            share = f"{100 * line.cycles / max(1, self.cycles):.0f}"
            counts = [f"{line.kinds[name]:,}" for name in names]
            moved = ", ".join(f"{name} {each.lines:,}" for name, each in line.arrays.items())
            table.add_row(_short(line.place), f"{line.cycles:,}", share, *counts, moved)
        limited = Text(f"Limited by {self.limit}")
        if self.note:
            return Group(table, limited, Text(f"! {self.note}", "yellow"))
        return Group(table, limited)


def _short(place: str) -> str:
    """A place without the file's folder."""
    return place.replace(f"{os.path.dirname(place.partition(':')[0])}/", "")
