"""Programs of commands: from fields to words, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.lib.encoding import pack, unpack
from hw.sram_compute.isa import COMMANDS, UNIT_WORDS, UNITS, Opcode

_OPCODE_BITS = 4
_UNIT_OCTETS = 4 * UNIT_WORDS


@dataclass(frozen=True)
class Command:
    """A command, and its fields but the opcode: numbers, and tuples of numbers."""

    opcode: Opcode
    fields: Mapping[str, Any]


def command(opcode: Opcode, **fields: Any) -> Command:
    """A command; fields that are left out are 0. ``ValueError`` for one that it doesn't have."""
    found: dict[str, Any] = {}
    for name, field in COMMANDS[opcode]:
        if name != "opcode":
            length = getattr(field.shape, "length", None)
            found[name] = 0 if length is None else (0,) * length
    for name, value in fields.items():
        if name not in found:
            raise ValueError(f"{opcode.name} has no field {name}; there are {', '.join(found)}")
        found[name] = tuple(value) if isinstance(value, Sequence) else value
    return Command(opcode, found)


def encode(opcode: Opcode, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Commands of one kind: uint32 [n, words], whole units.

    ``columns``: for each field but the opcode integers [n], or [n, length]; of those without
    fields, ``opcode`` alone. ``ValueError`` as ``hw.lib.encoding.pack`` raises it.
    """
    count = len(next(iter(columns.values())))
    kinds = np.full(count, opcode.value)
    octets = pack(COMMANDS[opcode], {**columns, "opcode": kinds})
    whole = np.zeros((count, UNITS[opcode] * _UNIT_OCTETS), np.uint8)
    whole[:, : octets.shape[1]] = octets
    return whole.view("<u4")


def assemble(commands: Iterable[Command]) -> np.ndarray:
    """A program: uint32 [units, words of a unit]. ``ValueError`` for a number that does not fit."""
    parts = []
    for each in commands:
        columns = {name: np.array([value]) for name, value in each.fields.items()}
        words = encode(each.opcode, columns or {"opcode": np.zeros(1, np.int64)})
        parts.append(words.reshape(-1, UNIT_WORDS))
    return np.concatenate(parts) if parts else np.zeros((0, UNIT_WORDS), np.uint32)


def opcode_of(unit: np.ndarray) -> Opcode | None:
    """Of the command whose first unit this is; ``None`` if there is none such."""
    number = int(unit[0]) & (1 << _OPCODE_BITS) - 1
    return Opcode(number) if number in COMMANDS else None


def decode(units: np.ndarray) -> Command:
    """The command that is in ``units``, uint32 [units of it, words], alone."""
    opcode = opcode_of(units[0])
    assert opcode is not None
    layout = COMMANDS[opcode]
    octets = np.ascontiguousarray(units, "<u4").view(np.uint8).reshape(1, -1)
    columns = unpack(layout, octets[:, : -(-layout.size // 8)])
    fields = {
        name: int(column[0]) if column.ndim == 1 else tuple(column[0].tolist())
        for name, column in columns.items()
        if name != "opcode"
    }
    return Command(opcode, fields)


def disassemble(units: np.ndarray) -> Iterator[tuple[int, Command]]:
    """Commands of a program, uint32 [units, words of a unit], with the number of their first unit,
    up to the first that is none or isn't whole."""
    place = 0
    while place < len(units):
        opcode = opcode_of(units[place])
        if opcode is None or place + UNITS[opcode] > len(units):
            return
        yield place, decode(units[place : place + UNITS[opcode]])
        place += UNITS[opcode]
