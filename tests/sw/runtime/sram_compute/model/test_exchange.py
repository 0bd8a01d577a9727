"""Rows that go from tile to tile and from bank to bank, on RTL and in the model, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.programs import pattern
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.tile_elements import run_on_elements

NAMED = load_configuration("sram_b2")
CONFIG = NAMED.config
TILES, BITLINES = CONFIG.tiles, CONFIG.bitlines
N, ROW, KEPT, UP = 8, 40, 0x5A, 3

SHIFTS = {
    "to the next tile": (1, range(TILES)),
    "to the next bank": (CONFIG.arrays, range(TILES)),
    "down": (TILES - 1, range(TILES)),
    "to tiles of a bank": (1, range(CONFIG.arrays)),
    "to tiles of both banks": (1, range(0, TILES, CONFIG.arrays)),
    "to a tile of the other bank": (CONFIG.arrays, range(TILES - 1, TILES)),
}
"""Tiles between, and those that change."""

PACKED = [each for each, (by, _) in SHIFTS.items() if min(by, TILES - by) < CONFIG.arrays]
"""Those of which all arrays may send at once."""

BROADCASTS = {
    "to all": (range(1), range(TILES)),
    "to the next": (range(TILES), range(1, 2)),
    "to the other bank": (range(CONFIG.arrays), range(CONFIG.arrays, CONFIG.arrays + 1)),
    "to those around": (range(2, TILES), range(1, 3)),
    "of the same array of both banks": (range(0, TILES, CONFIG.arrays), range(1, 2)),
}
"""Sources and copies."""


@pytest.fixture(scope="module", params=["model", "rtl"])
def device(request: pytest.FixtureRequest) -> Iterator[Device[Any]]:
    with Device(NAMED, request.param) as found:
        yield found


def places(name: str, given: range) -> dict[str, Any]:
    return pattern(name, given.start, (given.step, len(given)))


def exchanged(opcode: Opcode, bitlines: range, **fields: Any) -> list[Command]:
    """Behind what all elements of the rows were."""
    everywhere = places("bitlines", range(BITLINES)) | places("tiles", range(TILES))
    rows = {"a": 0, "d": ROW, "n": N, "distance": UP}
    return [
        command(Opcode.FILL, d=ROW, n=N, value=KEPT, **everywhere),
        command(opcode, **rows, **places("bitlines", bitlines), **fields),
        command(Opcode.SYNC),
    ]


def check(device: Device[Any], commands: list[Command], bitlines: range, sources: dict[int, int]):
    """``sources``: the tile from which each tile takes rows."""
    before, after, found = run_on_elements(device, CONFIG, commands, ROW, N)
    expected = np.full((TILES, BITLINES), KEPT, np.uint32)
    for target, source in sources.items():
        expected[target, bitlines] = np.roll(before[source], UP)[bitlines]
    np.testing.assert_array_equal(after, expected)
    with Device(NAMED, "model") as model:
        assert found == run_on_elements(model, CONFIG, commands, ROW, N)[2]


@pytest.mark.parametrize("bitlines", [range(BITLINES), range(5, 50, 9)])
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(device: Device[Any], name: str, bitlines: range):
    between, tiles = SHIFTS[name]
    commands = exchanged(Opcode.SHIFT, bitlines, between=between, **places("tiles", tiles))
    check(device, commands, bitlines, {tile: (tile - between) % TILES for tile in tiles})


@pytest.mark.parametrize("bitlines", [range(BITLINES), range(63, 64), range(5, 50, 9)])
@pytest.mark.parametrize("name", PACKED)
def test_packed_shifts(device: Device[Any], name: str, bitlines: range):
    between, tiles = SHIFTS[name]
    fields = places("tiles", tiles)
    commands = exchanged(Opcode.SHIFT, bitlines, between=between, packed=1, **fields)
    check(device, commands, bitlines, {tile: (tile - between) % TILES for tile in tiles})


@pytest.mark.parametrize("bitlines", [range(BITLINES), range(5, 50, 9)])
@pytest.mark.parametrize("name", BROADCASTS)
def test_broadcasts(device: Device[Any], name: str, bitlines: range):
    sources, copies = BROADCASTS[name]
    fields = places("sources", sources) | places("copies", copies)
    commands = exchanged(Opcode.BROADCAST, bitlines, **fields)
    taken = {(source + copy) % TILES: source for source in sources for copy in copies}
    check(device, commands, bitlines, taken)
