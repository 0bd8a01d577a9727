"""What a machine costs: one JSON object for programs, a page for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from gnarl.hw.lib.memory.size import MemorySize
from gnarl.sw.runtime.area.component import Component, Cost, plain_name
from gnarl.sw.runtime.area.liberty import CellLibrary
from gnarl.sw.runtime.area.macros import Fit
from gnarl.sw.runtime.area.netlist import identifier
from gnarl.sw.runtime.area.timing import LongestPath
from gnarl.sw.runtime.area.treemap import Tile

VERSION = 1
"""Version of the JSON object's fields; rises when one changes its meaning or goes."""

OWN = "(own)"
"""Name of a component's gates outside of its parts."""


@dataclass(frozen=True)
class Memory:
    """Equal memories at one place: ``count`` of them in the whole machine; ``fit`` if macros can
    make one."""

    path: str
    size: MemorySize
    count: int
    fit: Fit | None

    @property
    def bits(self) -> int:
        return self.count * self.size.bits

    @property
    def area(self) -> float | None:
        return None if self.fit is None else self.count * self.fit.area


@dataclass(frozen=True)
class Row:
    """A component, or the gates of one outside of its parts.

    depth
        in the tree, 0 for the whole.
    copies, cost, memory_bits, watts
        of all copies in the whole machine, so that rows below one another add up.
    path
        the longest in one copy.
    """

    depth: int
    name: str
    module: str
    copies: int
    cost: Cost
    memory_bits: int
    path: LongestPath | None
    watts: float | None
    parts: tuple[Row, ...] = ()

    def walk(self) -> Iterator[Row]:
        """This row and all below, in order."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class AreaReport:
    """Cost of a configuration's hardware, before layout.

    library
        of cells, or ``None``: then gates are generic, and there is no area.
    clock
        the longest path of the whole; ``None`` without OpenSTA, as are the rows' paths.
    activity
        what power is computed from: ``default``, or the file of a run, in which ``switching``
        outputs of registers and memories were found.
    computing, compute_bits
        as ``TargetConfig`` has them.
    """

    config: str
    target: str
    digest: str
    overrides: Mapping[str, Any]
    root: Row
    memories: Sequence[Memory]
    library: CellLibrary | None
    clock: LongestPath | None
    activity: str
    switching: int | None
    computing: str = ""
    compute_bits: int = 0

    @property
    def memory_area(self) -> float | None:
        """Area of all memories; ``None`` where macros lack for one."""
        return _sum(memory.area for memory in self.memories)

    def to_json(self) -> dict[str, Any]:
        """What ``gnarl area --json`` prints; docs/area.md explains the fields."""
        return {
            "version": VERSION,
            "config": self.config,
            "target": self.target,
            "digest": self.digest,
            "overrides": dict(self.overrides),
            "stage": "before layout",
            "library": self.library and self.library.name,
            "gate": self._gate(),
            "components": self._row_json(self.root),
            "memories": [
                {
                    "path": memory.path,
                    **asdict(memory.size),
                    "count": memory.count,
                    "bits": memory.bits,
                    "macro": memory.fit and memory.fit.macro.name,
                    "macros": memory.fit and memory.count * memory.fit.count,
                    "area": memory.area,
                }
                for memory in self.memories
            ],
            "memory_bits": self.root.memory_bits,
            "memory_area": self.memory_area,
            "bit": self._bit(),
            "clock": self.clock
            and {**asdict(self.clock), "mhz": 1000 / self.clock.delay_ns, "wires": "ideal"},
            "power": None
            if self.root.watts is None
            else {
                "watts": self.root.watts,
                "activity": self.activity,
                "switching": self.switching,
                "memories": "not included",
            },
        }

    def _bit(self) -> dict[str, Any] | None:
        """What the components that compute have for each bit."""
        bits = self.compute_bits
        if not bits:
            return None
        rows = [row for row in self.root.walk() if row.name.startswith(self.computing)]
        memories = [each for each in self.memories if f"/{self.computing}" in f"/{each.path}"]
        area = _sum([*(row.cost.area for row in rows), *(each.area for each in memories)])
        return {
            "bits": bits,
            "gates": sum(row.cost.gates for row in rows) / bits,
            "memory_bits": sum(row.memory_bits for row in rows) / bits,
            "area": area / bits if self.library and area is not None else None,
        }

    def _row_json(self, row: Row) -> dict[str, Any]:
        return {
            "name": row.name,
            "module": row.module,
            "copies": row.copies,
            "cells": row.cost.cells,
            "flip_flops": row.cost.flip_flops,
            "gates": row.cost.gates,
            "share": self._share(row),
            "area": row.cost.area if self.library else None,
            "memory_bits": row.memory_bits,
            "longest_path": row.path and asdict(row.path),
            "watts": row.watts,
            "parts": [self._row_json(part) for part in row.parts],
        }

    def _share(self, row: Row) -> float:
        """The row's share of all gates, 0 to 1."""
        return row.cost.gates / self.root.cost.gates if self.root.cost.gates else 0.0

    def _gate(self) -> str:
        if self.library is None:
            return "transistors of Yosys's generic cells in static CMOS / 4 (two-input NAND)"
        return f"area / {self.library.gate:g} (smallest two-input NAND)"

    def print(self, console: Console) -> None:
        """The page."""
        where = f"library {self.library.name}" if self.library else "generic gates, no library"
        console.print(f"{self.config}: {where}; before layout", highlight=False)
        console.print(f"gates: {self._gate()}", highlight=False)
        console.print()
        console.print(self._component_table(), crop=False)
        if self.memories:
            console.print()
            console.print(self._memory_table(), crop=False)
        for line in self._notes():
            console.print(line, highlight=False, soft_wrap=True)

    def _component_table(self) -> Table:
        has_paths = self.clock is not None
        has_power = self.root.watts is not None
        names = ["component", "cells", "FFs", "gates", "%"]
        names += ["area"] * bool(self.library) + ["path, ns"] * has_paths + ["mW"] * has_power
        body = []
        for row in self.root.walk():
            cells = ["  " * row.depth + _label(row.name, row.copies)]
            cells += [f"{each:,}" for each in (row.cost.cells, row.cost.flip_flops)]
            cells += [f"{row.cost.gates:,.0f}", f"{100 * self._share(row):.1f}"]
            if self.library:
                cells.append(f"{row.cost.area:,.0f}")
            if has_paths:
                cells.append(f"{row.path.delay_ns:.2f}" if row.path else "")
            if has_power:
                cells.append("" if row.watts is None else f"{1000 * row.watts:.2f}")
            body.append(cells)
        return _table(names, body)

    def _memory_table(self) -> Table:
        body = []
        for memory in self.memories:
            size, fit = memory.size, memory.fit
            cells = [_label(memory.path, memory.count)]
            cells += [f"{each:,}" for each in (size.rows, size.width, size.ports, memory.bits)]
            macros = f"{memory.count * fit.count:,} x {fit.macro.name}" if fit else ""
            area = "" if memory.area is None else f"{memory.area:,.0f}"
            body.append([*cells, macros, area])
        return _table(("memory", "rows", "width", "ports", "bits", "macros", "area"), body)

    def _notes(self) -> list[str]:
        notes = [""]
        if self.memories:
            area = "unknown" if self.memory_area is None else f"{self.memory_area:,.0f}"
            notes.append(f"memories: {self.root.memory_bits:,} bits, area {area}")
        if (bit := self._bit()) is not None:
            area = "" if bit["area"] is None else f", area {bit['area']:.3g} with memories"
            notes.append(
                f"{self.computing}*, for each of {bit['bits']:,} bits that compute: "
                f"{bit['gates']:.3g} gates, {bit['memory_bits']:.3g} bits of memory{area}"
            )
        if self.clock is not None:
            start, end = (text or self.config for text in (self.clock.start, self.clock.end))
            notes.append(
                f"clock: {self.clock.delay_ns:.2f} ns, {1000 / self.clock.delay_ns:.1f} MHz: "
                f"{start} -> {end}"
            )
        elif self.library is not None:
            notes.append("clock, paths and power: need OpenSTA (sta), which Debian has in opensta")
        if self.root.watts is not None:
            activity = (
                "default activity (registers change in every tenth cycle), not that of a run"
                if self.switching is None
                else f"activity of {self.activity} ({self.switching:,} outputs)"
            )
            notes.append(
                f"power: {1000 * self.root.watts:.3g} mW at that clock, without memories; "
                f"{activity}"
            )
        return notes

    def tile(self) -> Tile:
        """A tile for a treemap: gates; by area and with the memories, where areas of all are
        known."""
        if self.library is None or not self.memory_area:
            return _tile(self.root, lambda cost: cost.gates)
        gates = _tile(self.root, lambda cost: cost.area)
        memories = tuple(
            Tile(_label(memory.path, memory.count), memory.area or 0.0) for memory in self.memories
        )
        return Tile("", gates.size + self.memory_area, (gates, *memories))

    @property
    def tile_title(self) -> str:
        """What ``tile`` shows."""
        with_memories = self.library is not None and self.memory_area
        sizes = "area, with memories" if with_memories else "gates, without memories"
        return f"{self.config}: {sizes}, before layout"


def make_rows(
    tree: Component,
    paths: Mapping[str, LongestPath],
    power: Mapping[str, float] | None,
    name: str,
) -> Row:
    """The rows of a machine called ``name``.

    ``paths`` by module; ``power``, watts of instances without their parts, by paths in the netlist.
    """

    def watts(instances: Sequence[str]) -> float | None:
        return None if power is None else sum(power.get(path, 0.0) for path in instances)

    def row(component: Component, instances: list[str], depth: int) -> Row:
        copies = len(instances)
        parts = [
            row(
                part,
                [_join(path, each) for path in instances for each in part.instances],
                depth + 1,
            )
            for part in component.parts
            if part.memory is None
        ]
        own_watts = watts(instances)
        if parts and component.own.cells:
            own = component.own * copies
            parts.append(Row(depth + 1, OWN, component.module, copies, own, 0, None, own_watts))
        return Row(
            depth,
            component.name if depth else name,
            component.module,
            copies,
            component.total * copies,
            component.memory_bits * copies,
            paths.get(component.module),
            _sum(part.watts for part in parts) if parts else own_watts,
            tuple(parts),
        )

    return row(tree, [""], 0)


def _sum(values: Iterable[float | None]) -> float | None:
    """``None`` where one is unknown."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def instance_names(tree: Component) -> dict[str, str]:
    """Instances' paths as designers gave them, by those in the netlist of OpenSTA."""
    names: dict[str, str] = {}

    def visit(component: Component, path: str, name: str) -> None:
        names[path] = name
        for part in component.parts:
            for each in part.instances:
                below = f"{name}/{plain_name(each)}" if name else plain_name(each)
                visit(part, _join(path, each), below)

    visit(tree, "", "")
    return names


def _table(names: Sequence[str], body: Sequence[Sequence[str]]) -> Table:
    """The first column is of names. None is narrower than its texts, however narrow the console."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for at, name in enumerate(names):
        width = max(map(len, (name, *(cells[at] for cells in body))))
        table.add_column(name, justify="right" if at else "left", min_width=width, no_wrap=True)
    for cells in body:
        table.add_row(*cells)
    return table


def _label(name: str, copies: int) -> str:
    return name if copies == 1 else f"{name} x {copies}"


def _join(path: str, instance: str) -> str:
    return f"{path}/{identifier(instance)}" if path else identifier(instance)


def _tile(row: Row, size: Callable[[Cost], float]) -> Tile:
    """A component with one part and nothing else is one tile with it."""
    name = row.name
    while len(row.parts) == 1:
        (row,) = row.parts
        name = f"{name}/{row.name}"
    return Tile(
        _label(name, row.copies), size(row.cost), tuple(_tile(part, size) for part in row.parts)
    )
