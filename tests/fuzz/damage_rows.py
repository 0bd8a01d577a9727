"""Damage to fields of the rows of programs: of access programs, instructions and commands."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from amaranth.lib import data

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION
from gnarl.hw.sram_compute.isa import COMMANDS, UNIT_BITS
from gnarl.hw.sram_compute.program import opcode_of
from gnarl.hw.tmu import access_isa
from tests.fuzz.damage_archive import members_of, packed
from tests.fuzz.damage_npy import readable_array
from tests.support.program_files import array_bytes

ROWS: dict[str, data.StructLayout] = {
    "layers.npy": access_isa.LAYER,
    "units.npy": access_isa.UNIT,
    "streams.npy": access_isa.STREAM,
    "events.npy": access_isa.EVENT,
    "instructions.npy": INSTRUCTION,
}
"""Sections whose rows all have one layout, by their members of the file."""

_COMMANDS = "commands.npy"


def change_field(octets: bytes, random: Random) -> bytes:
    """Another number in a field of a row of a program's file."""
    members = members_of(octets)
    places = [at for at, (name, _) in enumerate(members) if name in ROWS or name == _COMMANDS]
    random.shuffle(places)
    for at in places:
        name, content = members[at]
        rows = readable_array(content)
        if rows is None or rows.ndim != 2 or rows.dtype != np.uint32 or not rows.size:
            continue
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            row = random.randrange(len(rows))
            layout = ROWS.get(name) or _command_at(rows, row)
            if layout is not None:
                _change(rows.reshape(-1), row * rows.shape[1], layout, random)
        members[at] = name, array_bytes(rows)
        return packed(members)
    return octets


def exchange_rows(octets: bytes, random: Random) -> bytes:
    """A row in another's place, or one more or one less."""
    members = members_of(octets)
    places = [at for at, (name, _) in enumerate(members) if name in ROWS or name == _COMMANDS]
    if not places:
        return octets
    at = random.choice(places)
    name, content = members[at]
    rows = readable_array(content)
    if rows is None or rows.ndim != 2 or not len(rows):
        return octets
    one, other = random.randrange(len(rows)), random.randrange(len(rows))
    match random.choice(("swap", "copy", "double", "drop")):
        case "swap":
            rows[[one, other]] = rows[[other, one]]
        case "copy":
            rows[one] = rows[other]
        case "double":
            rows = np.insert(rows, one, rows[other], axis=0)
        case "drop":
            rows = np.delete(rows, one, axis=0)
    members[at] = name, array_bytes(rows)
    return packed(members)


def _command_at(units: np.ndarray, row: int) -> data.StructLayout | None:
    """The layout of the command that begins in a unit; none for another unit of a command."""
    if units.shape[1] * 32 != UNIT_BITS:
        return None
    opcode = opcode_of(units[row])
    layout = None if opcode is None else COMMANDS[opcode]
    return (
        layout if layout is not None and row * UNIT_BITS + layout.size <= units.size * 32 else None
    )


def _change(words: np.ndarray, first: int, layout: data.Layout, random: Random) -> None:
    """A field of the row whose words begin at ``first``."""
    fields = list(_numbers(layout, 0))
    offset, width = random.choice(fields)
    bits = int.from_bytes(words[first:].astype("<u4").tobytes()[: (layout.size + 7) // 8], "little")
    before = bits >> offset & (1 << width) - 1
    value = random.choice(
        (0, 1, 2, (1 << width) - 1, 1 << width - 1, before ^ 1 << random.randrange(width))
        + (before + 1, before - 1, random.getrandbits(width), random.randrange(64))
    )
    bits += ((value & (1 << width) - 1) - before) << offset
    count = -(-layout.size // 32)
    for word in range(count):
        mask = (1 << min(32, layout.size - 32 * word)) - 1
        old = int(words[first + word])
        words[first + word] = old & ~mask & 0xFFFF_FFFF | bits >> 32 * word & mask


def _numbers(layout: data.Layout, offset: int) -> Iterator[tuple[int, int]]:
    """First bit and width of each number in a layout."""
    for _, field in layout:
        shape = field.shape
        if isinstance(shape, data.Layout):
            yield from _numbers(shape, offset + field.offset)
        elif field.width:
            yield offset + field.offset, field.width


ROW_DAMAGE = (change_field, change_field, change_field, change_field, exchange_rows)
