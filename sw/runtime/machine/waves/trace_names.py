"""Names of signals, from the header of a wave file in FST format.

Source: Tony Bybell, "FST: Fast Signal Trace", GTKWave's ``fstapi``, which Verilator writes with.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from gnarl.hw.lib.errors import WorkloadError

_HIERARCHY, _HIERARCHY_TWICE = 6, 7
"""Types of blocks: LZ4, which is applied twice to long ones."""

_HEAD = 9
"""Bytes before a block: its type, and its length with that of this number."""

_ATTRIBUTE, _ATTRIBUTE_END, _SCOPE, _SCOPE_END = 252, 253, 254, 255


@dataclass(frozen=True)
class Variable:
    """A signal of a trace.

    scope
        the names of the instances that it is in, outermost first.
    name
        its own, without ``bits``.
    bits
        range of its bits, ``[31:0]``; empty for a single one.
    """

    scope: tuple[str, ...]
    name: str
    bits: str

    @property
    def path(self) -> str:
        """The whole name, without the range of bits."""
        return ".".join((*self.scope, self.name))


def read_variables(path: Path) -> list[Variable]:
    """All signals of an FST file that a simulator has completed, in its order.

    Raises ``OSError`` for a file that is not whole, ``WorkloadError`` for one without names in the
    form that simulators write.
    """
    with path.open("rb") as file:
        found = b""
        for kind, length in _blocks(file, path):
            if kind == _HIERARCHY:
                found = _literals(file.read(length)[8:])
            elif kind == _HIERARCHY_TWICE:
                found = _literals(_literals(file.read(length)[16:]))
    if not found:
        raise WorkloadError(f"{path}: waves without names of signals")
    return list(_variables(found))


def _blocks(file: BinaryIO, path: Path) -> Iterator[tuple[int, int]]:
    """Type and length of each block, at whose begin the file is then."""
    end = file.seek(0, SEEK_END)
    start = 0
    while start < end:
        file.seek(start)
        head = file.read(_HEAD)
        length = int.from_bytes(head[1:]) - (_HEAD - 1)
        if len(head) < _HEAD or not 0 <= length <= end - start - _HEAD:
            raise cut_off(path)
        yield head[0], length
        start += _HEAD + length


def cut_off(path: Path) -> OSError:
    """The error of a file that ends too early: simulators do not notice a full disk."""
    return OSError(errno.ENOSPC, "waves are cut off: is the disk full?", str(path))


def _literals(block: bytes) -> bytes:
    """What an LZ4 block holds that is one sequence of literals: ``shim/fst/lz4.h`` writes such."""
    length, start = block[0] >> 4, 1
    if length == 15:
        while (more := block[start]) == 255:
            length, start = length + more, start + 1
        length, start = length + more, start + 1
    assert start + length == len(block)
    return block[start:]


def _variables(hierarchy: bytes) -> Iterator[Variable]:
    scope: list[str] = []
    place = 0
    while place < len(hierarchy):
        kind = hierarchy[place]
        place += 1
        if kind == _SCOPE:
            name, place = _text(hierarchy, place + 1)
            _component, place = _text(hierarchy, place)
            scope.append(name)
        elif kind == _SCOPE_END:
            scope.pop()
        elif kind == _ATTRIBUTE:
            _name, place = _text(hierarchy, place + 2)
            place = _behind_number(hierarchy, place)
        elif kind != _ATTRIBUTE_END:
            text, place = _text(hierarchy, place + 1)
            place = _behind_number(hierarchy, _behind_number(hierarchy, place))
            name, _, bits = text.partition(" ")
            yield Variable(tuple(scope), name, bits)


def _text(hierarchy: bytes, start: int) -> tuple[str, int]:
    end = hierarchy.index(0, start)
    return hierarchy[start:end].decode(), end + 1


def _behind_number(hierarchy: bytes, place: int) -> int:
    """The place behind a number, whose octets but the last have their highest bit set."""
    while hierarchy[place] >= 128:
        place += 1
    return place + 1
