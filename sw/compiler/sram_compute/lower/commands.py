"""Collects commands, with a ``SYNC`` where one is due, and encodes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hw.sram_compute.isa import UNIT_WORDS, UNITS, Opcode
from hw.sram_compute.program import command, encode

_SENDING = (Opcode.SHIFT, Opcode.BROADCAST)


class Commands:
    """A program that grows. Source of syncs: Infinity Stream, section 4.2."""

    def __init__(self) -> None:
        self._opcodes: list[Opcode] = []
        self._fields: list[dict[str, Any]] = []
        self._arriving: list[tuple[int, int]] = []

    def add(self, opcode: Opcode, **fields: Any) -> None:
        """Fields that are left out are 0. Rows on their way between tiles arrive before anything
        but other rows that are sent, and before these where they are the same."""
        found = dict(command(opcode, **fields).fields)
        if self._arriving and opcode != Opcode.LAYOUT:
            if opcode not in _SENDING or self._touches_arriving(found):
                self._append(Opcode.SYNC, {})
                self._arriving = []
        if opcode in _SENDING:
            self._arriving.append((found["d"], found["n"]))
        self._append(opcode, found)

    def _touches_arriving(self, fields: dict[str, Any]) -> bool:
        """Whether rows that are read are on their way."""
        return any(
            first < fields["a"] + fields["n"] and fields["a"] < first + count
            for first, count in self._arriving
        )

    def _append(self, opcode: Opcode, fields: dict[str, Any]) -> None:
        self._opcodes.append(opcode)
        self._fields.append(fields)

    def __iter__(self) -> Iterator[tuple[Opcode, dict[str, Any]]]:
        return zip(self._opcodes, self._fields, strict=True)

    def __len__(self) -> int:
        return len(self._opcodes)

    @property
    def unit_count(self) -> int:
        return sum(UNITS[opcode] for opcode in self._opcodes)

    def units(self, first_line: int) -> np.ndarray:
        """uint32 [units, words of a unit], with all arrays by ``first_line`` lines further on.
        Commands of a kind are encoded at once."""
        counts = np.array([UNITS[opcode] for opcode in self._opcodes])
        places = np.cumsum(np.concatenate([[0], counts]))
        found = np.zeros((int(places[-1]), UNIT_WORDS), np.uint32)
        for opcode in sorted(set(self._opcodes)):
            numbers = [at for at, each in enumerate(self._opcodes) if each == opcode]
            names = self._fields[numbers[0]]
            columns = {
                name: np.array([self._fields[at][name] for at in numbers], np.int64)
                for name in names
            } or {"opcode": np.zeros(len(numbers), np.int64)}
            if opcode == Opcode.LAYOUT:
                columns["base"] = columns["base"] + first_line
            words = encode(opcode, columns).reshape(len(numbers), UNITS[opcode], UNIT_WORDS)
            for unit in range(UNITS[opcode]):
                found[places[:-1][numbers] + unit] = words[:, unit]
        return found
