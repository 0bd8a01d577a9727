"""The first fault of a layout is the one that a walk through all lines would meet."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.sw.runtime.sram_compute.model.layout_faults import first_fault
from gnarl.sw.runtime.sram_compute.model.transfer import Layout, line_mapping
from gnarl.sw.runtime.target.configuration import load_configuration

CONFIG = load_configuration("sram_b2").config


def layout(chance: random.Random) -> dict[str, Any]:
    """One of arrays that begin near the ends of memory and tiles."""
    cuts = sorted(chance.randrange(7) for _ in range(2))
    return {
        "element": chance.randrange(3),
        "base": CONFIG.memory_lines - chance.randrange(-1, 80),
        "sizes": tuple(chance.randrange(1, 8) for _ in range(3)),
        "line_strides": tuple(chance.choice((0, 1, 4, 30)) for _ in range(2)),
        "tile": (cuts[0], cuts[1] - cuts[0], 6 - cuts[1]),
        "first_tile": chance.randrange(CONFIG.tiles + 1),
        "tile_strides": tuple(chance.randrange(3) for _ in range(2)),
        "chunked": chance.randrange(3),
        "chunk": chance.randrange(7),
        "chunk_lines": chance.choice((0, 1, 7, 40)),
        "chunk_tiles": chance.randrange(3),
    }


def walked(entry: dict[str, Any]) -> tuple[ErrorCause, int] | None:
    """The first fault, and how many lines come before it."""
    where = line_mapping(Layout(entry, 1))
    outside = where.lines >= CONFIG.memory_lines
    bad = np.flatnonzero(outside | (where.tiles.max(axis=1) >= CONFIG.tiles))
    if not len(bad):
        return None
    return ErrorCause.ADDRESS if outside[bad[0]] else ErrorCause.LAYOUT, int(bad[0])


def found(entry: dict[str, Any]) -> tuple[ErrorCause, int] | None:
    fault = first_fault(CONFIG, entry)
    if fault is None:
        return None
    before = len(line_mapping(Layout(entry, 1), fault.place).lines)
    assert fault.place <= 2 * before + 1
    return fault.cause, before


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_first_fault_is_that_of_a_walk(seed: int):
    chance = random.Random(seed)
    met = set()
    for _ in range(20_000 if seed else 1_500):
        entry = layout(chance)
        met.add(walked(entry) and walked(entry)[0])
        assert found(entry) == walked(entry), entry
    assert met == {None, ErrorCause.ADDRESS, ErrorCause.LAYOUT}


@pytest.mark.parametrize("far", ["chunk_lines", "chunk_tiles"])
@pytest.mark.parametrize("dimension", range(3))
def test_the_last_chunk_alone_may_be_outside(dimension: int, far: str):
    """The last chunk has less than the others."""
    sizes = tuple(4 if each == dimension else 1 for each in range(3))
    inside = {"element": 2, "base": 0, "sizes": sizes, "line_strides": (1, 1), "tile": (6, 0, 0)}
    inside |= {"first_tile": 0, "tile_strides": (0, 0), "chunked": dimension, "chunk": 3}
    inside |= {"chunk_lines": 0, "chunk_tiles": 0}
    assert found(inside) is None
    cause = ErrorCause.ADDRESS if far == "chunk_lines" else ErrorCause.LAYOUT
    entry = inside | {far: 1 << 13}
    assert found(entry) == walked(entry) == (cause, 1)


def test_the_largest_array_is_refused_at_once():
    most = (1 << 20) - 1
    entry = layout(random.Random(0)) | {"base": 0, "first_tile": 0, "chunk": 0}
    entry |= {"sizes": (most,) * 3, "line_strides": (0, 0), "tile_strides": (0, 0)}
    assert first_fault(CONFIG, entry) is not None
