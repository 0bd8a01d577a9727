"""Damage to the header and the elements of a ``.npy`` file."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from tests.fuzz.damage_text import TEXT
from tests.support.program_files import array_bytes, array_of

_TYPES = (
    *("|O", "|b1", "|i1", "|u1", "<i2", "<i4", ">i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"),
    *(">f8", "<f16", "<c8", "<c16", "<U0", "<U9", "|S4", "|V8", "<M8[s]", "<m8", "garbage", ""),
)
_SHAPES = ("()", "(0,)", "(-1,)", "(1,)", "(2**62,)", "(1000000000000,)", "(2, 0)", "(3, 4, 0)")
_MORE_SHAPES = ("(4294967296, 4294967296)", "(True,)", "(1.5,)", "5", "None", "[3]", "('a',)")
_ELEMENTS = (-1, 0, 1, 2, 2**31, 2**63, 1e39, 1e-320, 1e308, math.nan, math.inf, -math.inf)


def change_header(octets: bytes, random: Random) -> bytes:
    """Another type, shape or order than that of the data."""
    header, data = _parts(octets)
    kind = random.choice(("descr", "shape", "fortran_order", "text", "text"))
    if kind == "text":
        changed = random.choice(TEXT)(header, random)
    else:
        value = {
            "descr": f"'{random.choice(_TYPES)}'",
            "shape": random.choice(_SHAPES + _MORE_SHAPES),
            "fortran_order": random.choice(("True", "1", "None", "'x'")),
        }[kind]
        changed = _with_field(header, kind, value)
    return _joined(changed, data)


def change_prefix(octets: bytes, random: Random) -> bytes:
    """The magic, the version, or the header's length."""
    at = random.randrange(min(10, len(octets)) or 1)
    return octets[:at] + bytes([random.randrange(256)]) + octets[at + 1 :]


def change_elements(octets: bytes, random: Random) -> bytes:
    array = readable_array(octets)
    if array is None or not array.size or array.dtype.kind not in "iuf":
        return octets
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        for _ in range(random.choice((1, 1, 2, 2, 5))):
            at = random.choice((random.randrange(flat.size), 0, -1))
            value = random.choice((*_ELEMENTS, *_ELEMENTS, 10 ** random.randrange(12), len(flat)))
            if array.dtype.kind != "f":
                limits = np.iinfo(array.dtype)
                value = value if abs(value) < math.inf else 0
                flat[at] = min(max(int(value), int(limits.min)), int(limits.max))
            else:
                flat[at] = value
    return array_bytes(array)


def change_array(octets: bytes, random: Random) -> bytes:
    """Another type, shape or order of all elements, with a header that says so."""
    array = readable_array(octets)
    if array is None:
        return octets
    change = random.choice((_cast, _cast, _reversed, _longer, _shorter, _reshaped, _constant))
    with np.errstate(all="ignore"):
        return array_bytes(change(array, random))


def _cast(array: np.ndarray, random: Random) -> np.ndarray:
    types = (
        "i1",
        "u1",
        "i2",
        "i4",
        ">i4",
        "i8",
        "u8",
        "f2",
        "f4",
        "f8",
        "g",
        "c8",
        "?",
        "S3",
        "U5",
    )
    try:
        return array.astype(random.choice(types))
    except (TypeError, ValueError):
        return array


def _reversed(array: np.ndarray, random: Random) -> np.ndarray:
    return array.reshape(-1)[::-1].reshape(array.shape)


def _longer(array: np.ndarray, random: Random) -> np.ndarray:
    return np.resize(array, (array.size + random.choice((1, 2, 1000)),))


def _shorter(array: np.ndarray, random: Random) -> np.ndarray:
    return array[: random.randrange(len(array) + 1)] if array.ndim else array


def _reshaped(array: np.ndarray, random: Random) -> np.ndarray:
    return array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (1, 1, 1, -1), array.shape[::-1])))


def _constant(array: np.ndarray, random: Random) -> np.ndarray:
    return np.full_like(array, array.reshape(-1)[0] if array.size else 0)


def _parts(octets: bytes) -> tuple[str, bytes]:
    size = int.from_bytes(octets[8:10], "little")
    return octets[10 : 10 + size].decode("latin1"), octets[10 + size :]


def _joined(header: str, data: bytes) -> bytes:
    text = header.encode("utf-8", "replace")[:65_535]
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def _with_field(header: str, field: str, value: str) -> str:
    start = header.find(f"'{field}': ")
    if start < 0:
        return header
    start += len(field) + 4
    stop = header.find(", '" if field != "shape" else ", }", start)
    return header[:start] + value + header[stop:]


def readable_array(octets: bytes) -> np.ndarray | None:
    try:
        return array_of(octets).copy()
    except Exception:  # damaged already, in one way of many
        return None


NPY = (*(change_header, change_header, change_prefix, change_array), *[change_elements] * 4)
