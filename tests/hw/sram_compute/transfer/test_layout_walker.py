"""Lines of arrays and their places, against those that NumPy finds."""

from __future__ import annotations

import random
from typing import Any

from amaranth.sim import Simulator

from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import command
from gnarl.hw.sram_compute.transfer.layout_walker import ENTRY, LayoutWalker
from gnarl.sw.runtime.sram_compute.model.transfer import Layout, line_mapping

LINES, TILES, BITLINES = 512, 16, 64


def entries(chance: random.Random) -> list[dict[str, Any]]:
    usual = {"sizes": (1, 1, 1), "tile": (6, 0, 0), "element": 2}
    corners = [
        {},
        {"sizes": (4, 1, 1)},
        {"sizes": (2, 5, 3), "tile": (2, 2, 2), "line_strides": (3, 20), "tile_strides": (8, 1)},
        {"sizes": (1, 4, 1), "tile": (4, 2, 0), "element": 0, "first_tile": 12},
        {"sizes": (1, 3, 2), "tile": (0, 6, 0), "tile_strides": (0, 0)},
    ]
    corners += [
        {"sizes": (4, 8, 1), "chunked": 1, "chunk": 2, "chunk_lines": 8, "chunk_tiles": 3},
        {"sizes": (7, 2, 1), "chunked": 0, "chunk": 3, "chunk_lines": 3, "chunk_tiles": 4},
        {"sizes": (2, 2, 5), "chunked": 2, "chunk": 5, "chunk_lines": 9, "chunk_tiles": 9},
        {"sizes": (2, 2, 5), "chunked": 2, "chunk": 4, "chunk_lines": 9, "chunk_tiles": 9},
    ]
    for _ in range(40):
        cuts = sorted(chance.randrange(7) for _ in range(2))
        corners.append(
            {
                "element": chance.randrange(3),
                "base": chance.randrange(200),
                "sizes": tuple(chance.randrange(1, 6) for _ in range(3)),
                "tile": (cuts[0], cuts[1] - cuts[0], 6 - cuts[1]),
                "line_strides": (chance.randrange(8), chance.randrange(40)),
                "tile_strides": (chance.randrange(3), chance.randrange(3)),
                "chunked": chance.randrange(3),
                "chunk": chance.randrange(6),
                "chunk_lines": chance.randrange(30),
                "chunk_tiles": chance.randrange(4),
            }
        )
    return [dict(command(Opcode.LAYOUT, **usual | each).fields) for each in corners]


def test_lines_and_their_places():
    dut = LayoutWalker(LINES, TILES, BITLINES)
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    chance = random.Random(5)

    async def testbench(ctx: Any) -> None:
        for entry in entries(chance):
            where = line_mapping(Layout(entry, 1))
            ctx.set(dut.entry, {name: entry[name] for name, _ in ENTRY})
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.next, 1)
            for number, line in enumerate(where.lines.tolist()):
                tiles, bitlines = where.tiles[number], where.bitlines[number]
                assert ctx.get(dut.valid)
                assert ctx.get(dut.is_outside) == (line >= LINES)
                assert ctx.get(dut.is_beyond) == (tiles.max() >= TILES)
                if line >= LINES or tiles.max() >= TILES:
                    break
                assert ctx.get(dut.line) == line
                assert (ctx.get(dut.tile), ctx.get(dut.bitline)) == (tiles[0], bitlines[0])
                assert ctx.get(dut.last_tile) == tiles.max()
                assert list(ctx.get(dut.place)) == where.numbers[number].tolist()
                await ctx.tick()
            else:
                assert not ctx.get(dut.valid)
            ctx.set(dut.next, 0)

    simulator.add_testbench(testbench)
    simulator.run()
