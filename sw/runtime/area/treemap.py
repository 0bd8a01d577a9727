"""A picture of what components cost: rectangles of their size, within their parents'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from gnarl.sw.runtime.report.timeline import PALETTE, save_figure, set_title

_SIZE = (11, 7)
"""Inches."""

_WIDTH, _HEIGHT = 110.0, 66.0
"""Size of the whole, in units of which a character of the labels is about one and a half wide."""

_CHARACTER = 0.95
_LINE = 2.6


class Box(NamedTuple):
    """A rectangle: its lower left corner, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Tile:
    """What a rectangle is of: ``size`` is the sum of that of its ``parts``, if it has any."""

    label: str
    size: float
    parts: tuple[Tile, ...] = ()


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Rectangles of areas in proportion to ``sizes``, which fill ``box`` and are near squares.

    Sizes are above 0 and fall. Source: Bruls, Huizing, van Wijk, "Squarified treemaps", 2000.
    """
    scale = box.width * box.height / sum(sizes) if sizes else 0.0
    areas = [size * scale for size in sizes]
    boxes: list[Box] = []
    while areas:
        side = min(box.width, box.height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(
            areas[:count], side
        ):
            count += 1
        row, areas = areas[:count], areas[count:]
        depth = sum(row) / side
        along = 0.0
        for area in row:
            length = area / depth
            if box.width >= box.height:
                boxes.append(Box(box.x, box.y + along, depth, length))
            else:
                boxes.append(Box(box.x + along, box.y, length, depth))
            along += length
        if box.width >= box.height:
            box = Box(box.x + depth, box.y, box.width - depth, box.height)
        else:
            box = Box(box.x, box.y + depth, box.width, box.height - depth)
    return boxes


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of sides in a row of areas along a side."""
    depth = sum(row) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in row)


def draw_treemap(tile: Tile, title: str, path: Path) -> None:
    """Writes a PNG, whole or not at all; neighbours have different colours."""
    # Not at the top: it takes half a second, which no other command should wait for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, _WIDTH), ylim=(0, _HEIGHT), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    colors = cycle(PALETTE)
    for part, box in _placed(tile.parts or (tile,), Box(0, 0, _WIDTH, _HEIGHT)):
        _draw(axes, part, box, colors, tile.size)
    set_title(axes, title)
    save_figure(figure, path)


def _placed(tiles: Sequence[Tile], box: Box) -> list[tuple[Tile, Box]]:
    shown = sorted((tile for tile in tiles if tile.size > 0), key=lambda each: -each.size)
    return list(zip(shown, squarify([tile.size for tile in shown], box), strict=True))


def _draw(axes: Any, tile: Tile, box: Box, colors: Iterator[str], whole: float) -> None:
    """A tile without parts, or an outline around its parts, with a heading if there is room.

    Each tile without parts takes the next of ``colors``.
    """
    if not tile.parts:
        _rectangle(axes, box, facecolor=next(colors), alpha=0.7, linewidth=0.6)
        _label(axes, tile, box, whole)
        return
    inside = box
    if box.height > 3 * _LINE and box.width > _CHARACTER * len(_text(tile, whole)):
        inside = Box(box.x, box.y, box.width, box.height - _LINE)
        _write(axes, _text(tile, whole), box.x + 0.5, box.y + box.height - _LINE / 2, "left")
    for part, place in _placed(tile.parts, inside):
        _draw(axes, part, place, colors, whole)
    _rectangle(axes, box, facecolor="none", linewidth=1.8)


def _rectangle(axes: Any, box: Box, **style: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(box[:2], box.width, box.height, edgecolor="white", **style))


def _text(tile: Tile, whole: float) -> str:
    return f"{tile.label}  {100 * tile.size / whole:.1f} %"


def _label(axes: Any, tile: Tile, box: Box, whole: float) -> None:
    """Name and share, on two lines or one, upright or turned; or the share alone; if that fits."""
    share = f"{100 * tile.size / whole:.1f} %"
    for lines in ((tile.label, share), (f"{tile.label}  {share}",), (share,)):
        along, across = _CHARACTER * max(map(len, lines)), _LINE * len(lines)
        for turned, width, height in ((0, along, across), (90, across, along)):
            if width < box.width and height < box.height:
                middle = box.x + box.width / 2, box.y + box.height / 2
                _write(axes, "\n".join(lines), *middle, "center", turned)
                return


def _write(axes: Any, text: str, x: float, y: float, side: str, turned: int = 0) -> None:
    axes.text(
        *(x, y, text),
        horizontalalignment=side,
        verticalalignment="center",
        rotation=turned,
        fontsize=8,
        parse_math=False,
        clip_on=True,
    )
