"""Random programs of commands."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS, Opcode
from gnarl.hw.sram_compute.pattern import LEVELS
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.runtime.sram_compute.model.layout_faults import first_fault

_WIDTHS = (1, 2, 3, 5, 8)
_OPERATIONS = ("move", "add", "subtract", "multiply", "relu", "select", "divide_unsigned", "fill")


def pattern(name: str, start: int, *levels: tuple[int, int]) -> dict[str, Any]:
    """Fields of a pattern: places from ``start`` on, and (stride, number of places) of levels."""
    padded = [*levels, *[(0, 1)] * (LEVELS - len(levels))]
    return {
        f"{name}_start": start,
        f"{name}_strides": tuple(stride for stride, _ in padded),
        f"{name}_counts": tuple(count - 1 for _, count in padded),
    }


def clearing(config: SramConfig) -> list[Command]:
    """All rows of all tiles become known."""
    step = min(32, config.wordlines)
    return [
        command(
            Opcode.FILL,
            d=row,
            n=step,
            value=0x9E3779B9 * (row + 1) & 0xFFFF_FFFF,
            **pattern("bitlines", 0, (1, config.bitlines)),
            **pattern("tiles", 0, (1, config.tiles)),
        )
        for row in range(0, config.wordlines, step)
    ]


class RandomProgram:
    """Commands, of which each has a meaning. Arrays are in memory from ``first_line`` on; ``cores``
    are where programs of the core begin."""

    def __init__(
        self,
        config: SramConfig,
        chance: random.Random,
        first_line: int,
        cores: Sequence[int] = (),
    ) -> None:
        self._config = config
        self._chance = chance
        self._first_line = first_line
        self._cores = cores
        self._layouts: dict[int, dict[str, Any]] = {}

    def commands(self, count: int) -> list[Command]:
        makers = (
            *[self._compute] * 3,
            *[self._move] * 3,
            self._fill,
            *[self._shift] * 2,
            *[self._broadcast] * 2,
            *[self._load] * 2,
            self._store,
            self._sync,
            *[self._core] * (8 if self._cores else 0),
        )
        found: list[Command] = []
        is_synced = True
        for _ in range(count):
            made = self._chance.choice(makers)()
            exchanges = (Opcode.SHIFT, Opcode.BROADCAST)
            if not is_synced and made[-1].opcode not in exchanges:
                made = [*self._sync(), *made]
            is_synced = made[-1].opcode not in exchanges
            found += made
        return [*found, *([] if is_synced else self._sync()), command(Opcode.END)]

    def _core(self) -> list[Command]:
        return [command(Opcode.CORE, first=self._chance.choice(self._cores))]

    def _sync(self) -> list[Command]:
        return [command(Opcode.SYNC)]

    def _compute(self) -> list[Command]:
        config, chance = self._config, self._chance
        names = [name for name in _OPERATIONS if name in config.operations]
        floats = [f"{format}.{name}" for format in config.formats for name in ("add", "less")]
        name = chance.choice([*names, *floats])
        operation = config.operations[name]
        n = chance.choice(_WIDTHS) if operation.is_parametric else 0
        places = chance.sample(range(0, config.wordlines - 64, 8), 4)
        entry = config.rom.entry(operation, n)
        bases = (*places, config.wordlines - 64)
        return [command(Opcode.COMPUTE, entry=entry, n=n, bases=bases)]

    def _rows(self, *, same: bool = False) -> dict[str, int]:
        n = self._chance.choice((1, 2, 4, 8, 16))
        places = range(0, self._config.wordlines - n + 1)
        while True:
            a, d = self._chance.choice(places), self._chance.choice(places)
            if same and self._chance.random() < 0.3:
                a = d
            if abs(a - d) >= n or same and a == d:
                return {"a": a, "d": d, "n": n, "distance": self._bitline()}

    def _bitline(self) -> int:
        return self._chance.randrange(self._config.bitlines)

    def _pattern(self, name: str, size: int) -> dict[str, Any]:
        levels = [
            (self._chance.choice((1, 2, 4, size // 2)) % size, self._chance.choice((1, 2, 3)))
            for _ in range(self._chance.randrange(LEVELS + 1))
        ]
        if self._chance.random() < 0.2:
            return pattern(name, 0, (1, size))
        while True:
            start = self._chance.randrange(size)
            last = start + sum(stride * (count - 1) for stride, count in levels)
            if name == "bitlines" or last < size:
                return pattern(name, start, *levels)
            levels = levels[1:]

    def _move(self) -> list[Command]:
        config = self._config
        return [
            command(
                Opcode.MOVE,
                **self._rows(same=True),
                **self._pattern("bitlines", config.bitlines),
                **self._pattern("tiles", config.tiles),
            )
        ]

    def _fill(self) -> list[Command]:
        config, rows = self._config, self._rows()
        return [
            command(
                Opcode.FILL,
                d=rows["d"],
                n=rows["n"],
                value=self._chance.getrandbits(32),
                **self._pattern("bitlines", config.bitlines),
                **self._pattern("tiles", config.tiles),
            )
        ]

    def _shift(self) -> list[Command]:
        config = self._config
        packed = self._chance.random() < 0.6
        most = config.arrays - 1 if packed else config.tiles
        return [
            command(
                Opcode.SHIFT,
                **self._rows(),
                **self._pattern("bitlines", config.bitlines),
                **self._pattern("tiles", config.tiles),
                between=self._chance.randint(-most, most) % config.tiles,
                packed=packed,
            )
        ]

    def _broadcast(self) -> list[Command]:
        config = self._config
        return [
            command(
                Opcode.BROADCAST,
                **self._rows(),
                **self._pattern("bitlines", config.bitlines),
                **self._pattern("sources", config.tiles),
                **self._pattern("copies", config.tiles),
            )
        ]

    def _layout(self, number: int) -> Command:
        config, chance = self._config, self._chance
        bits = (config.bitlines - 1).bit_length()
        cuts = sorted(chance.randrange(bits + 1) for _ in range(DIMENSIONS - 1))
        tile = (cuts[0], cuts[1] - cuts[0], bits - cuts[1])
        element = chance.randrange(3)
        elements = LINE_BYTES >> element
        # An array of as many tiles as there are, at most, in any of the dimensions.
        tiles = [1, 1, 1]
        tiles[chance.randrange(DIMENSIONS)] = chance.randrange(1, config.tiles + 1)
        extents = [count << bits for count, bits in zip(tiles, tile, strict=True)]
        row = max(1, extents[0] // elements)
        row_tiles = elements >> tile[0]  # of a line, where that is in several
        if row_tiles > config.tiles:
            return self._layout(number)
        if row_tiles > tiles[0]:
            extents[1:] = [1 << bits for bits in tile[1:]]
        sizes = [
            chance.randrange(1, row + 1),
            *(chance.randrange(1, min(4, extent) + 1) for extent in extents[1:]),
        ]
        strides = (sizes[0] + chance.randrange(2), 0)
        strides = (strides[0], strides[0] * sizes[1] + chance.randrange(2))
        self._layouts[number] = {"element": element}
        whole = command(
            Opcode.LAYOUT,
            layout=number,
            element=element,
            base=self._first_line + chance.randrange(16),
            sizes=sizes,
            line_strides=strides,
            tile=tile,
            first_tile=0,
            tile_strides=(1, 1),
        )
        return self._in_chunks(whole) if chance.random() < 0.6 else whole

    def _in_chunks(self, whole: Command) -> Command:
        """The same with random ones, in all of which there are tiles and lines."""
        chance, fields = self._chance, dict(whole.fields)
        chunked = chance.randrange(DIMENSIONS)
        fields |= {
            "chunked": chunked,
            "chunk": chance.randrange(1, fields["sizes"][chunked] + 1),
            "chunk_lines": chance.randrange(1, 9),
            "chunk_tiles": chance.randrange(self._config.tiles),
        }
        if first_fault(self._config, fields) is not None:
            return whole
        return replace(whole, fields=fields)

    def _named(self) -> tuple[list[Command], int]:
        number = self._chance.randrange(4)
        if number in self._layouts and self._chance.random() < 0.5:
            return [], number
        return [self._layout(number)], number

    def _transfer(self) -> tuple[Sequence[Command], dict[str, Any]]:
        made, number = self._named()
        n = self._chance.randrange(1, (8 << self._layouts[number]["element"]) + 1)
        row = self._chance.randrange(self._config.wordlines - n + 1)
        fields: dict[str, Any] = {"layout": number, "row": row, "n": n}
        if self._chance.random() < 0.6:
            most = (24, 2, 2)
            for name in ("before", "after"):
                fields[name] = [
                    self._chance.choice((0, self._chance.randrange(end))) for end in most
                ]
        return made, fields

    def _load(self) -> list[Command]:
        made, fields = self._transfer()
        fields["hollow"] = self._chance.randrange(2)
        return [*made, command(Opcode.LOAD, **fields)]

    def _store(self) -> list[Command]:
        made, fields = self._transfer()
        fields["is_signed"] = self._chance.randrange(2)
        return [*made, command(Opcode.STORE, **fields)]
