"""Damage to the members of a zip archive, and to what the archive says of them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np

from tests.fuzz.damage_bytes import BYTES, flip_bits
from tests.fuzz.damage_json import TREE
from tests.fuzz.damage_npy import NPY, readable_array
from tests.fuzz.damage_text import ODD, TEXT, Change
from tests.support.program_files import array_bytes

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)

BOMB_BYTES = 4 << 30

_LARGEST = 1 << 22
"""Octets of an archive's members that are damaged once more."""

_TEXTS = ("plan.npy", "graphs.npy")
"""Members whose array is a JSON text."""

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")


@dataclass(frozen=True)
class _Entry:
    """A member as it is stored; ``size`` is what it says to expand to."""

    name: bytes
    stream: bytes
    flags: int
    method: int
    crc: int
    size: int
    offset: int | None = None


def change_member(octets: bytes, random: Random) -> bytes:
    """A member whose checksum is right, but whose contents are not."""
    members = members_of(octets)
    if not members:
        return octets
    at = random.randrange(len(members))
    name, content = members[at]
    if name.endswith(".json"):
        content = _of_text(content, random, TREE * len(TEXT) + TEXT)
    elif name in _TEXTS and random.random() < 0.8:
        array = readable_array(content)
        text = b"" if array is None else array.tobytes()
        changed = _of_text(text, random, TREE * len(TEXT) + TEXT)
        content = array_bytes(np.frombuffer(changed, np.uint8))
    else:
        content = random.choice((*NPY, *NPY, *NPY, *NPY, *BYTES))(content, random)
    members[at] = name, content
    return packed(members)


def rearrange(octets: bytes, random: Random) -> bytes:
    """Members that are missing, twice there, called differently, or in another order."""
    members = members_of(octets)
    if not members:
        return octets
    at, other = random.randrange(len(members)), random.randrange(len(members))
    name, content = members[at]
    match random.choice(("drop", "double", "rename", "add", "move", "swap")):
        case "drop":
            del members[at]
        case "double":
            members.append((name, random.choice((content, b"", content[:-1]))))
        case "rename":
            names = ("../x.npy", "/x.npy", f"{name}/", name.upper(), "x.npy", name[:-4], *ODD)
            members[at] = random.choice(names)[:60_000], content
        case "add":
            members.append((random.choice(("extra.npy", "extra", "a/b.npy")), content))
        case "move":
            members.append(members.pop(at))
        case "swap":
            members[at], members[other] = (name, members[other][1]), (members[other][0], content)
    return packed(members)


def recompress(octets: bytes, random: Random) -> bytes:
    return packed(members_of(octets), random.choice(METHODS))


def change_entry(octets: bytes, random: Random) -> bytes:
    """Encrypted, of an unknown method, or with another checksum, size or place."""
    entries = _entries(octets, random.choice(METHODS))
    if not entries:
        return octets
    at = random.randrange(len(entries))
    numbers = (0, 1, 8, 9, 12, 14, 93, 99, 255, 1000, 1 << 30, (1 << 32) - 1)
    match random.choice(("flags", "method", "crc", "size", "offset")):
        case "flags":
            changed = replace(entries[at], flags=random.choice((1, 8, 32, 64, 2048, 8192)))
        case "method":
            changed = replace(entries[at], method=random.choice(numbers) & 0xFFFF)
        case "crc":
            changed = replace(entries[at], crc=entries[at].crc ^ 1)
        case "size":
            near = entries[at].size + 1, max(0, entries[at].size - 1)
            changed = replace(entries[at], size=random.choice(numbers + near))
        case _:
            changed = replace(entries[at], offset=random.choice(numbers))
    return _pack([*entries[:at], changed, *entries[at + 1 :]])


def damage_compressed(octets: bytes, random: Random) -> bytes:
    """Compressed members that decompressors stumble over."""
    entries = _entries(octets, random.choice(METHODS[1:]))
    if not entries:
        return octets
    at = random.randrange(len(entries))
    changed = replace(entries[at], stream=flip_bits(entries[at].stream, random))
    return _pack([*entries[:at], changed, *entries[at + 1 :]])


def bomb(octets: bytes, random: Random) -> bytes:
    """A member of gigabytes in a few megabytes, which says so, or says that it is small."""
    entries = _entries(octets, zipfile.ZIP_STORED)
    if not entries:
        return octets
    at = random.randrange(len(entries))
    size = random.choice((BOMB_BYTES - 2, 100, 1 << 20))
    changed = replace(entries[at], stream=_zeros(), method=zipfile.ZIP_DEFLATED, size=size)
    return _pack([*entries[:at], changed, *entries[at + 1 :]])


@cache
def _zeros() -> bytes:
    """``BOMB_BYTES`` zeros, deflated."""
    piece = 1 << 20
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (BOMB_BYTES // piece) + b"\x03\0"


def _of_text(octets: bytes, random: Random, changes: Sequence[Change]) -> bytes:
    text = octets.decode("utf-8", "surrogateescape")
    return random.choice(changes)(text, random).encode("utf-8", "surrogateescape")


def members_of(octets: bytes) -> list[tuple[str, bytes]]:
    """Names and contents; none of what cannot be read, or is too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(octets)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _LARGEST:
                return []
            return [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # damaged already, in one way of many
        return []


def packed(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            archive.writestr(entry, content)
    return file.getvalue()


def _entries(octets: bytes, method: int) -> list[_Entry]:
    whole = packed(members_of(octets), method)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        found = archive.infolist()
    entries = []
    for each in found:
        local = _LOCAL.unpack_from(whole, each.header_offset)
        start = each.header_offset + _LOCAL.size + local[9] + local[10]
        stream = whole[start : start + each.compress_size]
        name = each.orig_filename.encode("utf-8", "surrogateescape")
        entries.append(
            _Entry(name, stream, each.flag_bits, each.compress_type, each.CRC, each.file_size)
        )
    return entries


def _pack(entries: Sequence[_Entry]) -> bytes:
    found, directory = b"", b""
    for entry in entries:
        common = (
            *(20, entry.flags, entry.method, 0, 33, entry.crc),
            *(len(entry.stream), entry.size, len(entry.name), 0),
        )
        offset = len(found) if entry.offset is None else entry.offset
        found += _LOCAL.pack(b"PK\x03\x04", *common) + entry.name + entry.stream
        directory += _CENTRAL.pack(b"PK\x01\x02", 20, *common, 0, 0, 0, 0, offset) + entry.name
    count = len(entries)
    end = _END.pack(b"PK\x05\x06", 0, 0, count, count, len(directory), len(found), 0)
    return found + directory + end


ARCHIVE = (
    *[change_member] * 6,
    *(rearrange, recompress, change_entry, damage_compressed, bomb),
)
"""Some more often than others."""
