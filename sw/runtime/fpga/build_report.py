"""The report of a build for a board: one JSON object for programs, a page for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gnarl.hw.fpga.family import RESOURCE_NAMES, Resources
from gnarl.hw.fpga.pll import mhz
from gnarl.sw.runtime.fpga.place import CriticalPath
from gnarl.sw.runtime.fpga.synthesis import MappedMemory
from gnarl.sw.runtime.report.report import INDENT, bar, duration, titled

VERSION = 1
"""Version of the JSON object's fields; rises when one changes its meaning or goes."""

POWER_UP = (
    "reset until the clock is stable; registers have their first values, memories are undefined "
    "until they are written"
)

JSON_FIELDS = {
    "version": "of these fields; rises when one changes its meaning or goes",
    "config": "the configuration's name",
    "target": "its target",
    "digest": "of the configuration with all fields: SHA-256, hexadecimal",
    "overrides": "object: fields changed by `--set`",
    "board": "the board's name",
    "part": "its device",
    "source_hz": "the board's clock",
    "clock_hz": "the machine's clock, which the tools were asked for",
    "clock_met_hz": "the fastest clock that the placed design works with; null for projects",
    "meets_clock": "whether `clock_met_hz` is `clock_hz` or more; null for projects",
    "baud": "bits a second on the serial port",
    "seed": "of the placement",
    "used": "object: `luts`, `flip_flops`, `dsps`, `block_rams` of the design",
    "available": "object: the same of the device",
    "critical_path": "object: `begin` and `end`, a register or memory by its path, `ns` from one "
    "to the other, and `logic_ns` of them in cells; null for projects",
    "memories": "array: `path`, `rows`, `width` in bits, `place` (`block RAM`, `look-up tables` or "
    "`flip-flops`) and `cells` of each memory that is written to",
    "power_up": "what there is before the first write",
    "files": "array: names in the folder",
    "tools": "array: names and versions",
    "cpu_s": "object: processor seconds by stage, also where its result was kept from before",
    "seconds": "object: seconds of this run by stage",
}
"""What each field of the JSON object is."""


@dataclass(frozen=True)
class BuildReport:
    """One build: a bitstream, or a project for a vendor's tool, which has no placement."""

    config: str
    target: str
    digest: str
    overrides: Mapping[str, Any]
    board: str
    part: str
    source_hz: int
    clock_hz: int
    clock_met_hz: int | None
    baud: int
    seed: int
    used: Resources
    available: Resources
    critical_path: CriticalPath | None
    memories: Sequence[MappedMemory]
    files: Sequence[str]
    tools: Sequence[str]
    cpu_s: Mapping[str, float]
    seconds: Mapping[str, float]

    @property
    def meets_clock(self) -> bool | None:
        return None if self.clock_met_hz is None else self.clock_met_hz >= self.clock_hz

    def to_json(self) -> dict[str, Any]:
        """The JSON object of ``--json`` and ``report.json``."""
        own = {
            "version": VERSION,
            "meets_clock": self.meets_clock,
            "used": self.used.to_dict(),
            "available": self.available.to_dict(),
            "critical_path": self.critical_path and asdict(self.critical_path),
            "memories": [_memory_to_json(each) for each in self.memories],
            "power_up": POWER_UP,
        }
        return {
            name: own[name] if name in own else _plain(getattr(self, name)) for name in JSON_FIELDS
        }

    def print(self, console: Console) -> None:
        """The page for people."""
        console.print(Group(*self._parts()))

    def _parts(self) -> Iterator[RenderableType]:
        overrides = "".join(f" {name}={value}" for name, value in self.overrides.items())
        yield Text()
        yield Text.assemble(
            (self.config + overrides, "bold"), " on ", (self.board, "bold"), f" ({self.part})"
        )
        yield Padding(self._verdict(), INDENT, expand=False)
        yield titled("Device", self._resources())
        if self.memories:
            yield titled("Memories", self._memories())
        if self.critical_path is not None:
            yield titled("Critical path", self._path(self.critical_path))
        yield titled("Power-up", Text(POWER_UP))
        yield titled("Files", Text(" · ".join(self.files)))
        stages = [f"{name} {duration(seconds)}" for name, seconds in self.cpu_s.items()]
        yield titled("Processor time", Text(" · ".join(stages)))
        yield Text()

    def _verdict(self) -> Text:
        asked = f"clock {mhz(self.clock_hz)} MHz from {mhz(self.source_hz)} MHz"
        if self.clock_met_hz is None:
            return Text(f"{asked}; the vendor's tool says whether it is met")
        met = f"{self.clock_met_hz / 1e6:.1f} MHz are met"
        if self.meets_clock:
            return Text(f"✔ {asked}: {met}", "green")
        slower = int(self.clock_met_hz / 1e6)
        return Text(f"✘ {asked}: {met}: must be slower: --clock {slower}", "bold red")

    def _resources(self) -> Table:
        table = _columns("left", "right", "right", "right", "left")
        available = self.available.to_dict()
        for name, count in self.used.to_dict().items():
            share = count / available[name] if available[name] else 0.0
            shown = f"{count:,}", f"of {available[name]:,}", f"{100 * share:.0f} %"
            table.add_row(RESOURCE_NAMES[name], *shown, Text(bar(min(1.0, share)), "cyan"))
        return table

    def _memories(self) -> Table:
        """A table of memories; those of equal size and place whose paths differ only in numbers
        share a line."""
        groups: dict[tuple[str, ...], list[MappedMemory]] = {}
        for each in self.memories:
            path = re.sub(r"\d+(?=\.|$)", "*", each.memory.path)
            size = f"{each.memory.rows:,} × {each.memory.width}"
            groups.setdefault((path, size, each.resource.value), []).append(each)
        table = _columns("left", "right", "right", "left")
        for (path, size, place), members in groups.items():
            cells = sum(each.cells for each in members)
            shown = path if len(members) > 1 else members[0].memory.path
            many = f"{len(members)} × " if len(members) > 1 else ""
            table.add_row(shown, many, size, f"{place}, {cells} cells" if cells else place)
        return table

    def _path(self, path: CriticalPath) -> Text:
        return Text(
            f"{path.begin} → {path.end}\n{path.ns:.2f} ns, of which {path.logic_ns:.2f} ns logic"
        )


def _columns(*sides: Any) -> Table:
    """A table without frames; the first folds where a terminal is too narrow."""
    table = Table.grid(padding=(0, 2))
    for at, side in enumerate(sides):
        table.add_column(justify=side, no_wrap=at > 0, overflow="fold")
    return table


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple | list) else value


def _memory_to_json(placed: MappedMemory) -> dict[str, Any]:
    memory = placed.memory
    return {
        "path": memory.path,
        "rows": memory.rows,
        "width": memory.width,
        "place": placed.resource.value,
        "cells": placed.cells,
    }
