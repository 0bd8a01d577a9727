"""Programs that end in an error, and why."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cocotb_tests.sram_compute.programs import pattern
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import STRIP, Opcode
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.program import Command, command


@dataclass(frozen=True)
class Broken:
    """Commands before the bad one, which is the last; how it ends."""

    commands: Sequence[Command]
    cause: ErrorCause


def broken(config: SramConfig) -> dict[str, Broken]:
    """One of each kind, by a name."""
    one = pattern("bitlines", 0) | pattern("tiles", 0)
    rows = {"a": 0, "d": 32, "n": 8}
    shift = command(Opcode.SHIFT, **rows, **one, between=1)
    copies = pattern("bitlines", 0) | pattern("sources", 0) | pattern("copies", 0)
    load = command(Opcode.LOAD, layout=1, n=8)
    bits = (config.bitlines - 1).bit_length()
    operands: dict[str, Command] = {
        "no row": command(Opcode.MOVE, n=0, **one),
        "33 rows": command(Opcode.FILL, n=33, **one),
        "rows beyond the last": command(Opcode.MOVE, **rows | {"d": config.wordlines - 7}, **one),
        "overlapping rows": command(Opcode.MOVE, **rows | {"d": 7}, **one),
        "a shift in place": command(Opcode.SHIFT, **rows | {"d": 0}, **one),
        "a bitline beyond the last": command(
            Opcode.FILL, d=0, n=1, **one | pattern("bitlines", config.bitlines)
        ),
        "a count of tiles beyond the last": command(
            Opcode.FILL, d=0, n=1, **one | pattern("tiles", 0, (1, config.tiles + 1))
        ),
        "a tile beyond the last": command(
            Opcode.BROADCAST, **rows, **copies | pattern("sources", config.tiles)
        ),
        "a stride beyond the last tile": command(
            Opcode.BROADCAST, **rows, **copies | pattern("copies", 0, (config.tiles, 1))
        ),
        "a distance beyond the last tile": command(
            Opcode.SHIFT, **rows, **one, between=config.tiles
        ),
        "a packed shift by as many tiles as arrays": command(
            Opcode.SHIFT, **rows, **one, between=config.arrays, packed=1
        ),
        "a distance beyond the last bitline": command(
            Opcode.MOVE, **rows, **one, distance=config.bitlines
        ),
        "a width of 33": command(Opcode.COMPUTE, n=33),
        "an entry beyond the ROM": command(Opcode.COMPUTE, entry=len(config.rom.words)),
        "an instruction beyond the last": command(Opcode.CORE, first=config.core_instructions),
        "no line to copy": command(Opcode.COPY),
        "words beyond the last": command(
            Opcode.COPY, words=config.banks * config.bank_words // LINE_WORDS, lines=1
        ),
        "an operation that engines lack": command(Opcode.OPERATION),
        "a rotation by more than half a strip": operation(ExecuteOpcode.ADD, offset=17),
        "an operand from nowhere": operation(ExecuteOpcode.ADD, b_source=3),
        "a store that reads": operation(ExecuteOpcode.STORE, reads=1),
        "a store to the transposer": operation(ExecuteOpcode.STORE, d_is_turned=1),
        "a quotient of an element": operation(ExecuteOpcode.FDIV, reads=1),
        "a quotient of what is transposed": operation(ExecuteOpcode.FDIV, a_is_turned=1),
        "a loop without an iteration": command(Opcode.NEAR, counts=(1, 0, 1)),
        "a loop of operations that were never set": command(Opcode.NEAR, counts=(1, 1, 1)),
        "a base beyond the last row": command(Opcode.COMPUTE, bases=(0, 0, 0, 0, config.wordlines)),
    }
    layouts: dict[str, Command] = {
        "elements of 8 bytes": layout(config, element=3),
        "a tile that is too large": layout(config, tile=(bits, 1, 0)),
        "a tile that is too small": layout(config, tile=(bits - 1, 0, 0)),
        "an array without elements": layout(config, sizes=(1, 0, 1)),
    }
    found = {name: Broken([each], ErrorCause.OPERAND) for name, each in operands.items()}
    found |= {name: Broken([each], ErrorCause.LAYOUT) for name, each in layouts.items()}
    return found | {
        "a layout that was never set": Broken(
            [command(Opcode.LOAD, layout=15, n=8)], ErrorCause.LAYOUT
        ),
        "more rows than an element has bits": Broken(
            [layout(config, element=0), command(Opcode.LOAD, layout=1, n=9)], ErrorCause.OPERAND
        ),
        "tiles beyond the last": Broken(
            [layout(config, first_tile=config.tiles - 1, sizes=(16, 1, 1)), load],
            ErrorCause.LAYOUT,
        ),
        "lines beyond memory": Broken(
            [layout(config, base=config.memory_lines - 1, sizes=(1, 2, 1)), load],
            ErrorCause.ADDRESS,
        ),
        "stored lines beyond memory": Broken(
            [
                layout(config, base=config.memory_lines, sizes=(1, 1, 1)),
                command(Opcode.STORE, layout=1, n=8),
            ],
            ErrorCause.ADDRESS,
        ),
        "a move behind a shift": Broken(
            [shift, command(Opcode.MOVE, **rows, **one)], ErrorCause.UNSYNCED
        ),
        "a transfer behind a shift": Broken([layout(config), shift, load], ErrorCause.UNSYNCED),
        "copied lines beyond memory": Broken(
            [command(Opcode.COPY, line=config.memory_lines - 1, lines=2)], ErrorCause.ADDRESS
        ),
        "a copy behind a shift": Broken(
            [shift, command(Opcode.COPY, lines=1)], ErrorCause.UNSYNCED
        ),
        "streams behind a shift": Broken(
            [shift, command(Opcode.NEAR, counts=(1, 1, 1))], ErrorCause.UNSYNCED
        ),
        "a core behind a shift": Broken([shift, command(Opcode.CORE)], ErrorCause.UNSYNCED),
        "an end behind a shift": Broken([shift, command(Opcode.END)], ErrorCause.UNSYNCED),
    }


def broken_streams(config: SramConfig) -> dict[str, tuple[list[Command], int]]:
    """Loops of stream engines, and the stream that is wrong with each, by a name."""
    words = config.banks * config.bank_words
    last_row = {"is_transposed": 1, "row": config.wordlines - STRIP + 1}
    found: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
        "a word beyond the last": ({"base": words - 40, "strides": (1, 0, 0)}, (41, 1, 1)),
        "a word before the first": ({"base": 1, "strides": (0, -2 % (1 << 28), 0)}, (1, 2, 1)),
        "a word of the second z": ({"base": words - 1, "strides": (0, 0, 1)}, (1, 1, 2)),
        "a row beyond the last": ({"strides": (1, 0, 0), **last_row}, (1, 1, 1)),
        "a bitline beyond the last": (
            {"base": config.tiles * config.bitlines - 32, "strides": (1, 0, 0), "is_transposed": 1},
            (33, 1, 1),
        ),
        "an index beyond the last": ({"is_indirect": 1, "length": 7}, (8, 1, 1)),
        "a negative index": ({"is_indirect": 1, "length": 7}, (1, 1, 1)),
    }
    made = {}
    for number, (name, (fields, counts)) in enumerate(found.items()):
        first = -1 if name.startswith("a negative") else 0
        made[name] = (
            [
                command(Opcode.STREAM, stream=number, **fields),
                operation(ExecuteOpcode.AND, d=1, a=1, b_source=1),
                operation(ExecuteOpcode.ADD, slot=1, d=1, a=1, b_source=2),
                operation(
                    ExecuteOpcode.ADD, slot=2, d=1, a=1, b_source=1, immediate=first % (1 << 32)
                ),
                operation(ExecuteOpcode.OR, slot=3, a=1, reads=1, stream=number),
                command(Opcode.NEAR, last=3, counts=counts, owner=number),
            ],
            number,
        )
    unset = [
        operation(ExecuteOpcode.STORE, stream=15),
        command(Opcode.NEAR, counts=(1, 1, 1)),
    ]
    return made | {"a stream that was never set": (unset, 15)}


def operation(operation: ExecuteOpcode, **fields: Any) -> Command:
    return command(Opcode.OPERATION, operation=operation.value, **fields)


def layout(config: SramConfig, **fields: Any) -> Command:
    """Entry 1, of an array of a line for each row of a tile."""
    bits = (config.bitlines - 1).bit_length()
    usual: dict[str, Any] = {
        "layout": 1,
        "base": 0,
        "sizes": (1, 1, 1),
        "line_strides": (1, 1),
        "tile": (bits, 0, 0),
        "tile_strides": (1, 1),
        "element": 2,
    }
    return command(Opcode.LAYOUT, **usual | fields)


def unknown(chance: random.Random) -> np.ndarray:
    """A unit that is no command."""
    unit = np.array([[chance.getrandbits(32) for _ in range(4)]], np.uint32)
    known = [opcode.value for opcode in Opcode]
    opcode = chance.choice([number for number in range(16) if number not in known])
    unit[0, 0] = unit[0, 0] & ~np.uint32(15) | opcode
    return unit
