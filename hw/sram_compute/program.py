"""Programs of commands: from fields to words, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from gnarl.hw.lib.encoding.packing import pack
from gnarl.hw.sram_compute.isa import COMMANDS, UNIT_WORDS, UNITS, Opcode

_UNIT_OCTETS = 4 * UNIT_WORDS


@dataclass(frozen=True)
class Command:
    """A command, and its fields but the opcode: numbers, and tuples of numbers."""

    opcode: Opcode
    fields: Mapping[str, Any]


class Number(NamedTuple):
    """A number of a command: its field, one of several of it where that ``is_array``; first bit and
    width."""

    field: str
    is_array: bool
    offset: int
    width: int


@cache
def numbers(opcode: Opcode) -> tuple[Number, ...]:
    """The numbers of a command, in order, the opcode first."""
    found = []
    for name, field in COMMANDS[opcode]:
        length = getattr(field.shape, "length", None)
        width = field.width // (length or 1)
        for at in range(length or 1):
            found.append(Number(name, length is not None, field.offset + at * width, width))
    return tuple(found)


def command(opcode: Opcode, **fields: Any) -> Command:
    """A command; fields that are left out are 0. ``ValueError`` for one that it doesn't have."""
    values: dict[str, Any] = {}
    for name, field in COMMANDS[opcode]:
        if name != "opcode":
            length = getattr(field.shape, "length", None)
            values[name] = 0 if length is None else (0,) * length
    for name, value in fields.items():
        if name not in values:
            raise ValueError(f"{opcode.name} has no field {name}; there are {', '.join(values)}")
        values[name] = tuple(value) if isinstance(value, Sequence) else value
    return Command(opcode, values)


def encode(opcode: Opcode, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Commands of one kind: uint32 [n, words], whole units.

    ``columns``: for each field but the opcode integers [n], or [n, length]; of those without
    fields, ``opcode`` alone. ``ValueError`` as ``gnarl.hw.lib.encoding.packing.pack`` raises it.
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
    """The opcode of the command whose first unit this is; ``None`` if there is no such command."""
    number = int(unit[0]) & (1 << Opcode.as_shape().width) - 1
    return Opcode(number) if number in COMMANDS else None


def decode(units: np.ndarray) -> Command:
    """The command that is in ``units``, uint32 [units of it, words], alone."""
    opcode = opcode_of(units[0])
    assert opcode is not None
    whole = int.from_bytes(np.ascontiguousarray(units, "<u4").tobytes(), "little")
    fields: dict[str, Any] = {}
    for name, is_array, offset, width in numbers(opcode):
        number = whole >> offset & (1 << width) - 1
        fields[name] = (*fields.get(name, ()), number) if is_array else number
    del fields["opcode"]
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
