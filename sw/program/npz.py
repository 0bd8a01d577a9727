"""Arrays and archives of arrays, ``.npy`` and ``.npz``, from files that anyone may have written.

Sizes come first: a header says how large its array is, an archive's directory how large its
members are, and nothing is expanded before both agree, or if it is too large. Source: NumPy
Enhancement Proposal 1, "A Simple File Format for NumPy Arrays".
"""

from __future__ import annotations

import ast
import math
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

import numpy as np

from gnarl.hw.lib.errors import GnarlError, one_line, quoted

EXPANDED = 2**29
"""Bytes that an archive may expand to, where they are more than its own."""

SAMPLE = 1 << 16
"""Bytes of a member by which it is seen whether compressing it is worth while."""

_SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
"""Bit of a member's flags."""

_MAGIC = b"\x93NUMPY"
_VERSIONS = {b"\1\0": ("<H", "latin1"), b"\2\0": ("<I", "latin1"), b"\3\0": ("<I", "utf-8")}
"""How the header's length is stored, and its text."""
_LONGEST = 4096
"""Bytes of a header; one of 64 dimensions needs 1,400."""
_TYPE = re.compile(r"[<>|][?biufcSUV][1-9]\d*")
"""Numbers, texts and plain bytes: no objects, no records."""
_PIECE = 1 << 20
"""Bytes that are read at a time."""


class ArrayFileError(GnarlError):
    """An archive or array that is damaged, or too large; names the member, not the file."""


class Npz:
    """An archive, open for reading.

    arrays
        names of its arrays, in order: members without ``.npy``.
    others
        names of other members.

    ``limit``: bytes that the members may expand to, where they are more than the file's. Raises
    ``ArrayFileError`` for a file that is no archive, one that is larger, and one with a member that
    NumPy does not write: there twice, encrypted, or compressed by another method.
    """

    def __init__(self, file: BinaryIO, limit: int = EXPANDED) -> None:
        with _damage():
            self._archive = zipfile.ZipFile(file)
            own = file.seek(0, 2)
        self._members: dict[str, zipfile.ZipInfo] = {}
        for member in self._archive.infolist():
            name = member.filename
            if not name.isprintable():
                raise ArrayFileError(f"{quoted(name)}: must be named by printable characters")
            if name in self._members:
                raise ArrayFileError(f"{quoted(name)} is there twice")
            if member.flag_bits & _ENCRYPTED:
                raise ArrayFileError(f"{quoted(name)} is encrypted: not supported")
            if member.compress_type not in _METHODS:
                raise ArrayFileError(
                    f"{quoted(name)} is compressed by method {member.compress_type}: must be "
                    "stored or deflated"
                )
            self._members[name] = member
        total = sum(member.file_size for member in self._members.values())
        if total > max(own, limit):
            raise ArrayFileError(
                f"expands to {total:,} bytes: must be at most {max(own, limit):,}, or not "
                "compressed"
            )
        self.arrays = array_names(self._members)
        self.others = [name for name in self._members if not name.endswith(_SUFFIX)]

    def read(self, name: str) -> bytes:
        """The contents of one of ``others``. Raises ``ArrayFileError``."""
        with self._open(name) as (stream, size):
            return _take(stream, size)

    def array(self, name: str) -> np.ndarray:
        """One of ``arrays``. Raises ``ArrayFileError`` as ``read_array`` does."""
        with self._open(name + _SUFFIX) as (stream, size):
            return read_array(stream, size)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[BinaryIO, int]]:
        """A member's contents and their size; reading to the end compares the checksum."""
        member = self._members[name]
        try:
            with _damage(), self._archive.open(member) as stream:
                yield cast(BinaryIO, stream), member.file_size
        except ArrayFileError as error:
            raise ArrayFileError(f"{quoted(name)} is damaged: {error}") from error


def read_array(stream: BinaryIO, size: int) -> np.ndarray:
    """The array in a stream of ``size`` bytes, its last dimension the fastest.

    Raises ``ArrayFileError`` for a header that is not as NumPy writes it, objects and records, and
    another number of bytes than the header says.
    """
    magic = _take(stream, min(size, len(_MAGIC) + 2))
    version = magic[len(_MAGIC) :]
    if not magic.startswith(_MAGIC) or version not in _VERSIONS:
        raise ArrayFileError("not an array of NumPy")
    stored, encoding = _VERSIONS[version]
    octets = _take(stream, struct.calcsize(stored))
    (length,) = struct.unpack(stored, octets)
    if length > _LONGEST:
        raise ArrayFileError(f"header of {length:,} bytes: must be at most {_LONGEST:,}")
    type, shape, order = _header(_take(stream, length), encoding)
    elements = size - len(magic) - len(octets) - length
    needed = math.prod(shape) * type.itemsize
    if elements != needed:
        raise ArrayFileError(
            f"{elements:,} bytes of elements: must be {needed:,}, as {type} {list(shape)}"
        )
    with _damage():
        array = np.empty(shape, type, order)
    _fill(stream, array.reshape(-1, order="A").view(np.uint8))
    return np.asarray(array, order="C")


def _header(octets: bytes, encoding: str) -> tuple[np.dtype, tuple[int, ...], Literal["C", "F"]]:
    """Type, shape and order of the elements."""
    try:
        with warnings.catch_warnings():  # of the parser
            warnings.simplefilter("ignore")
            fields = ast.literal_eval(octets.decode(encoding))
        described, transposed, shape = map(fields.pop, ("descr", "fortran_order", "shape"))
        sizes = [size for size in shape if type(size) is int and size >= 0]
        known = type(transposed) is bool and type(shape) is tuple and not fields
        if not known or len(sizes) < len(shape) or not _TYPE.fullmatch(described):
            raise ValueError
        return np.dtype(described), shape, "F" if transposed else "C"
    except (
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        text = octets.decode(errors="replace").strip()
        raise ArrayFileError(
            f"header {quoted(text, most=100)}: must be that of plain numbers"
        ) from error


def _take(stream: BinaryIO, size: int) -> bytes:
    octets = np.empty(size, np.uint8)
    _fill(stream, octets)
    return octets.tobytes()


def _fill(stream: BinaryIO, octets: np.ndarray) -> None:
    """Fills uint8 [n]. Raises ``ArrayFileError`` where the stream ends before."""
    at = 0
    while at < len(octets):
        piece = stream.read(min(_PIECE, len(octets) - at))
        if not piece:
            raise ArrayFileError(f"ends {len(octets) - at:,} bytes too early")
        octets[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)


def write_npz(
    file: str | Path | BinaryIO,
    arrays: Mapping[str, np.ndarray],
    others: Mapping[str, bytes] = {},
) -> None:
    """Writes an archive that ``Npz`` and ``numpy.load`` read; ``others``, in front, are members
    that are no arrays.

    Equal contents are equal bytes: no member has a date. One is compressed, quickly, where that
    saves a quarter of its first ``SAMPLE`` bytes, and none where all together are more than
    readers expand. Not ``numpy.savez``, whose own arguments' names no array could have.
    """
    total = sum(map(len, others.values())) + sum(array.nbytes for array in arrays.values())
    fits = total + _LONGEST * len(arrays) <= EXPANDED
    with zipfile.ZipFile(file, "w", compresslevel=1) as archive:
        for name, octets in others.items():
            with _member(archive, name, octets, fits) as member:
                member.write(octets)
        for name, array in arrays.items():
            # Scalars stay scalars: ``ascontiguousarray`` would give them a dimension.
            ordered = np.asarray(array, order="C")
            octets = ordered.reshape(-1)[: SAMPLE // max(1, ordered.itemsize)].tobytes()
            with _member(archive, name + _SUFFIX, octets, fits) as member:
                np.lib.format.write_array(member, ordered, allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str, octets: bytes, fits: bool) -> IO[bytes]:
    """A new member to write to, which begins with such bytes."""
    info = zipfile.ZipInfo(name)  # of a fixed date
    sample = octets[:SAMPLE]
    if fits and 4 * len(zlib.compress(sample, 1)) < 3 * len(sample):
        info.compress_type = zipfile.ZIP_DEFLATED
    return archive.open(info, "w", force_zip64=True)


def array_names(members: Iterable[str]) -> list[str]:
    """Names of the arrays among an archive's members, without ``.npy``."""
    return [name.removesuffix(_SUFFIX) for name in members if name.endswith(_SUFFIX)]


def member_names(path: str | Path) -> list[str]:
    """Names of all that is in a zip file. Raises ``ArrayFileError`` for a file that is none."""
    with _damage(), zipfile.ZipFile(path) as archive:
        return archive.namelist()


@contextmanager
def _damage() -> Iterator[None]:
    """Makes an ``ArrayFileError`` of what zipfile, and NumPy, raise for some damage or other."""
    try:
        yield
    except (
        ArithmeticError,
        EOFError,
        LookupError,
        OSError,
        RuntimeError,
        ValueError,
        struct.error,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ArrayFileError(one_line(error)) from error
