"""Runs: neighbouring words of a line that are neighbours in a stream's queue, too."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Mux, Value, unsigned
from amaranth.lib import data
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.config import MAX_LAYERS


def queue_layout(rows: int) -> data.StructLayout:
    """The rows of a stream's queue: from ``first`` to ``last``, and then from ``first`` again."""
    return data.StructLayout({"first": range(rows), "last": range(rows)})


def slot_layout(rows: int) -> data.StructLayout:
    """A row of a queue and the phase of its use."""
    return data.StructLayout({"row": range(rows), "phase": unsigned(1)})


def following(slot: Any, queue: Any) -> Value:
    """The slot behind ``slot`` in ``queue``, as bits of its layout."""
    is_last = slot.row == queue.last
    row = Mux(is_last, queue.first, slot.row + 1)[: len(slot.row)]
    return Cat(row, slot.phase ^ is_last)


def run_layout(lanes: int, rows: int, line_bits: int) -> data.StructLayout:
    """``count`` words from ``offset`` of line ``line`` on, for a queue.

    They go to ``slot`` from lane ``lane`` on; if the run is ``wide``, across the lanes and then to
    the next slots' lanes from 0 on, else all to that lane of slots that follow each other. If it
    ``pads``, lanes behind its last word get 0. ``is_coordinates``: the queue is one of layer
    ``layer`` for what it merges, not in the stream store. ``single``: it is one of a layer
    of one unit. ``cached``, ``temporal``: as a stream's.
    """
    return data.StructLayout(
        {
            "line": unsigned(line_bits),
            "offset": range(LINE_WORDS),
            "count": range(LINE_WORDS + 1),
            "lane": range(lanes),
            "wide": unsigned(1),
            "pads": unsigned(1),
            "slot": slot_layout(rows),
            "queue": queue_layout(rows),
            "cached": unsigned(1),
            "temporal": unsigned(1),
            "is_coordinates": unsigned(1),
            "single": unsigned(1),
            "layer": range(MAX_LAYERS),
        }
    )
