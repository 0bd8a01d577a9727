"""What a module has besides instructions: constants, global variables, where parameters are."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")
_NO_BITS = 8

_FORMAT_SIZED = 4
_PARAMETER, _PARAMETER_BANK = 0x17, 0x0A


@dataclass(frozen=True)
class Section:
    """A section; of one without bits, as many zeroes."""

    name: str
    content: bytes
    info: int


@dataclass(frozen=True)
class Relocation:
    """An address to be put at ``offset``: that of ``offset_in`` in section ``section``."""

    offset: int
    section: str
    offset_in: int


class Module:
    """A module of machine code: an ELF file."""

    def __init__(self, cubin: bytes) -> None:
        header = _HEADER.unpack_from(cubin)
        first, count, names = header[6], header[12], header[13]
        rows = [_SECTION.unpack_from(cubin, first + _SECTION.size * at) for at in range(count)]
        strings = cubin[rows[names][4] :]
        self.sections = [
            Section(
                _text(strings, row[0]),
                bytes(row[5]) if row[1] == _NO_BITS else cubin[row[4] : row[4] + row[5]],
                row[7],
            )
            for row in rows
        ]

    def section(self, name: str) -> bytes:
        """Its content; empty where there is none."""
        return next((each.content for each in self.sections if each.name == name), b"")

    def relocations(self, name: str) -> list[Relocation]:
        """Those of a section."""
        content = self.section(f".rel{name}")
        found = []
        for place, info in _RELOCATION.iter_unpack(content):
            section, value = self._symbols[info >> 32]
            found.append(Relocation(place, self.sections[section].name, value))
        return found

    def parameters(self, kernel: str) -> tuple[int, dict[int, int]]:
        """Where parameters are in bank 0, and each one's offset from there."""
        content = self.section(f".nv.info.{kernel}")
        begin, offsets, at = 0, {}, 0
        while at < len(content):
            format_, attribute, size = struct.unpack_from("<BBH", content, at)
            at += 4
            if format_ != _FORMAT_SIZED:
                continue
            if attribute == _PARAMETER:
                _, number, offset, _ = struct.unpack_from("<IHHI", content, at)
                offsets[number] = offset
            elif attribute == _PARAMETER_BANK:
                _, begin, _ = struct.unpack_from("<IHH", content, at)
            at += size
        return begin, offsets

    @cached_property
    def _symbols(self) -> list[tuple[int, int]]:
        """Section and value of each."""
        rows = _SYMBOL.iter_unpack(self.section(".symtab"))
        return [(section, value) for _, _, _, section, value, _ in rows]


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()
