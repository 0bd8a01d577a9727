"""Draws the way of a model's layer to its graph: ``python -m manual.sam_models``.

The first layer of ``examples/gcn.py`` on the karate club: its statements, the order of its loops,
and its fusion table, each cell of which is a block and each arrow a stream. All of it is what the
compiler makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from gnarl.hw.sam.block_types import CRD, REF
from gnarl.sw.compiler.sam.fuse.regions import LoweredRegion, lower_regions
from gnarl.sw.compiler.sam.fuse.schedule import chosen
from gnarl.sw.compiler.sam.table.table import Cell, FusionTable
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.runtime.sam.sources import workload
from gnarl.sw.workloads.einsum.text import program_text

ROOT = Path(__file__).parents[1]
PATH = ROOT / "docs" / "sam_models.svg"
MODEL = ROOT / "examples" / "gcn.py"

_COLUMN, _CELL, _LINE, _LEFT, _TOP = 158, 22, 20, 60, 226
_GAP = 12
"""Between two rows of the table, where arrows pass."""

_STYLE = """
    .read { fill: #fdf1df; stroke: #b26a00 } .made { fill: #e8f1f4; stroke: #1f6f8b }
    .written { fill: #eef2e6; stroke: #5c7f3f }
    .row { fill: none; stroke: #cfd8dc; stroke-dasharray: 4 4 }
    .places { fill: none; stroke: #90a4ae; stroke-width: 1.1; marker-end: url(#arrow) }
    .values { fill: none; stroke: #b26a00; stroke-width: 1.4; marker-end: url(#arrow) }
    .loop { fill: #fff; stroke: #37474f }
    text { text-anchor: middle } .left { text-anchor: start } .code { font-family: monospace }
    .head { font-weight: bold } .small { font-size: 11px; fill: #455a64 }
"""


def drawing() -> str:
    """The picture, as SVG."""
    region = _region()
    table = region.table
    boxes = _boxes(table)
    width = _LEFT + _COLUMN * len(table.columns) + 10
    height = max(box.y for box in boxes.values()) + _CELL + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12">',
        "  <title>A layer of a graph network: statements, the order of loops, and the blocks that "
        "they become</title>",
        '  <defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="#546e7a"/></marker>'
        "</defs>",
        f"  <style>{_STYLE}  </style>",
        *_words(region),
        *_rows(table, boxes, width),
        *_arrows(table, boxes),
        *(box.shown() for box in boxes.values()),
        _text(
            _LEFT,
            height - 14,
            "Arrows: coordinates and references grey, values orange. Read from memory: "
            "yellow; written: green. Signals that say how often to repeat are left out.",
            "left small",
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _region() -> LoweredRegion:
    model = workload(f"{MODEL}:karate")
    assert isinstance(model, SamModel)
    return lower_regions(chosen(model, fuse="layer"))[0]


@dataclass(frozen=True)
class _Box:
    """A block, at its place in the table."""

    cell: Cell
    x: float
    y: float

    def shown(self) -> str:
        kind = "made"
        if self.cell.type in ("fiberlookup", "arrayvals"):
            kind = "read"
        elif self.cell.type in ("fiberwrite", "valwrite"):
            kind = "written"
        return (
            f'  <rect class="{kind}" x="{self.x}" y="{self.y}" width="{_COLUMN - 46}" '
            f'height="{_CELL - 4}" rx="3"/>'
            + _text(self.x + (_COLUMN - 46) / 2, self.y + 13, _label(self.cell))
        )


def _label(cell: Cell) -> str:
    names = {
        "fiberlookup": f"look up {cell.row}",
        "arrayvals": "fetch values",
        "spaccumulator": f"sum over {cell.row}",
        "reduce": f"{cell.parameters.get('op')} over {cell.row}",
        "fiberwrite": f"write {cell.row}",
        "valwrite": "write values",
    }
    if cell.type in ("alu", "function"):
        return str(cell.parameters["op"])
    return names.get(cell.type, f"{cell.type} in {cell.row}")


def _boxes(table: FusionTable) -> dict[str, _Box]:
    """The blocks of the graph that are drawn, row by row of the table."""
    kept = {block.name for block in table.emit().blocks}
    cells = [
        cell
        for cell in table.cells
        if cell.name.replace(" ", "_") in kept and cell.type not in ("root", "repsiggen")
    ]
    boxes: dict[str, _Box] = {}
    y = _TOP
    for row in (*table.rows, "val"):
        deepest = 0
        for place, column in enumerate(table.columns):
            own = [cell for cell in cells if (cell.row, cell.column) == (row, column)]
            deepest = max(deepest, len(own))
            for number, cell in enumerate(own):
                boxes[cell.name] = _Box(cell, _LEFT + _COLUMN * place + 10, y + _CELL * number)
        y += _CELL * deepest + _GAP + 8
    return boxes


def _words(region: LoweredRegion) -> Iterator[str]:
    """Statements, and the order of loops."""
    yield _text(_LEFT, 22, "1  PyTorch", "left head")
    yield _text(_LEFT, 42, "h = torch.relu(self.conv1(adj @ x))", "left code")
    yield _text(_LEFT, 72, "2  statements", "left head")
    statements = program_text(region.kernel.program).partition(" -")[0].split("; ")
    for number, statement in enumerate(statements):
        yield _text(_LEFT, 92 + _LINE * number, statement, "left code")
    order = region.kernel.order
    yield _text(_LEFT + 640, 22, "3  order of loops", "left head")
    for number, index in enumerate(order):
        x = _LEFT + 664 + 74 * number
        yield f'  <circle class="loop" cx="{x}" cy="50" r="16"/>' + _text(x, 54, index)
        if number:
            yield f'  <path class="places" d="M{x - 58} 50 L{x - 17} 50"/>'
    stored = {}
    for access in region.kernel.operands:
        indices = ", ".join(access.indices)
        stored[access.tensor] = f"{access.tensor}({indices}) {region.kernel.formats[access.tensor]}"
    for number, text in enumerate(stored.values()):
        yield _text(_LEFT + 650, 92 + 16 * number, f"stored: {text}", "left small")
    yield _text(_LEFT, _TOP - 52, "4  fusion table, and 5  graph", "left head")


def _rows(table: FusionTable, boxes: Mapping[str, _Box], width: float) -> Iterator[str]:
    for place, column in enumerate(table.columns):
        yield _text(_LEFT + _COLUMN * place + 66, _TOP - 22, column, "code")
    for row in (*table.rows, "val"):
        own = [box.y for box in boxes.values() if box.cell.row == row]
        if own:
            name = "values" if row == "val" else row
            yield _text(8, min(own) + 14, name, "left head")
            yield f'  <path class="row" d="M8 {min(own) - 9} L{width - 8} {min(own) - 9}"/>'


def _arrows(table: FusionTable, boxes: Mapping[str, _Box]) -> Iterator[str]:
    for box in boxes.values():
        for port, stream in box.cell.inputs.items():
            feeder = boxes.get(stream.block)
            if feeder is None or port == "repsig":
                continue
            is_place = stream.output.startswith(("out_crd", "out_ref")) and port.rstrip(
                "0123456789"
            ) in (CRD, REF)
            carries = "places" if is_place and not _is_value(table, stream.block) else "values"
            yield f'  <path class="{carries}" d="{_path(feeder, box)}"/>'


def _is_value(table: FusionTable, name: str) -> bool:
    """Whether what a repeat repeats is a value."""
    cell = table[name]
    return cell.type == "repeat" and cell.inputs["ref"].output == "out_val"


def _path(one: _Box, other: _Box) -> str:
    """From the side of a box that is nearer to the other one, to that one's."""
    wide, middle = _COLUMN - 46, (_CELL - 4) / 2
    if one.x == other.x:
        x = one.x + wide
        bend = x + 16 + (abs(other.y - one.y) > _CELL) * 8
        return (
            f"M{x} {one.y + middle} C{bend} {one.y + middle} {bend} {other.y + middle} "
            f"{x} {other.y + middle}"
        )
    goes_right = other.x > one.x
    start, end = (one.x + wide, other.x) if goes_right else (one.x, other.x + wide)
    pull = 30 if goes_right else -30
    return (
        f"M{start} {one.y + middle} C{start + pull} {one.y + middle} {end - pull} "
        f"{other.y + middle} {end} {other.y + middle}"
    )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'  <text{named} x="{x:g}" y="{y:g}">{escape(text, quote=False)}</text>'


if __name__ == "__main__":
    PATH.write_text(drawing(), encoding="utf-8")
