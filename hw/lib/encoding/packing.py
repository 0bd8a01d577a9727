"""Packing columns of fields into words of an ``amaranth.lib.data`` layout, and back.

A column holds one field of many words as a NumPy array, so that a program of a hundred thousand
instructions is encoded without a Python loop over them. Amaranth's own ``Layout.const`` encodes one
word at a time and wraps numbers that are too large; here a number that doesn't fit is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data

_CHUNK_BITS = 1 << 20
"""Bits, a byte each, that are held unpacked at one time."""


def pack(
    layout: data.StructLayout, columns: Mapping[str, np.ndarray], rows: np.ndarray | None = None
) -> np.ndarray:
    """Bytes of one word for each row of the columns: uint8 [n, bytes], little-endian bit order.

    ``columns`` has one array for each field of ``layout``: integers [n] for a number, integers
    [n, length] for an array of numbers; a number may also be given bit by bit, as bool [n, width].
    Elements are at most 64 bits wide, numbers given as bits of any width. ``rows`` (int [m]) packs
    just those rows. Bits of the last byte beyond the layout are 0.

    Raises ``ValueError`` if a column is missing, is none of the layout's, or has another shape or
    type, and if a value doesn't fit its field: the text names field, index, value and limit.
    """
    for name in columns:
        if name not in layout.members:
            raise ValueError(f"column {name!r}: no such field; there are {_names(layout)}")
    counts = set()
    for name, field in layout:
        if name not in columns:
            raise ValueError(f"no column for field {name!r}")
        _check_column(name, field.shape, columns[name])
        counts.add(len(columns[name]))
    if len(counts) > 1:
        lengths = ", ".join(f"{name}: {len(columns[name])}" for name, _ in layout)
        raise ValueError(f"columns of different lengths: {lengths}")
    picked = np.arange(counts.pop()) if rows is None else rows
    words = np.empty((len(picked), -(-layout.size // 8)), np.uint8)
    for chunk in _chunks(len(picked), layout.size):
        bits = np.zeros((chunk.stop - chunk.start, layout.size), np.uint8)
        for name, field in layout:
            values = columns[name][picked[chunk]]
            if not _given_as_bits(field.shape, values):
                _check_range(name, _element(name, field.shape), values, picked[chunk])
                values = _bits(values, _element(name, field.shape))
            bits[:, field.offset : field.offset + field.width] = values.reshape(len(bits), -1)
        words[chunk] = np.packbits(bits, axis=1, bitorder="little")
    return words


def unpack(
    layout: data.StructLayout,
    words: np.ndarray,
    as_bits: Collection[str] = (),
    *,
    only: Collection[str] | None = None,
) -> dict[str, np.ndarray]:
    """The columns of ``words`` (uint8 [n, bytes]), or some of them; inverse of ``pack``.

    Numbers come as the smallest unsigned type that holds them, the fields named in ``as_bits`` as
    bool [n, width]. Raises ``ValueError`` for words of another length.
    """
    expected = -(-layout.size // 8)
    if words.dtype != np.uint8 or words.ndim != 2 or words.shape[1] != expected:
        raise ValueError(
            f"words are {words.dtype} {list(words.shape)}: must be uint8 [n, {expected}]"
        )
    wanted = [(name, field) for name, field in layout if only is None or name in only]
    columns = {}
    for name, field in wanted:
        if name in as_bits:
            columns[name] = np.empty((len(words), field.width), np.bool_)
        else:
            width = _element(name, field.shape)
            shape = (len(words), *_inner_shape(field.shape))
            columns[name] = np.empty(shape, f"<u{_bytes(width)}")
    for chunk in _chunks(len(words), layout.size):
        bits = np.unpackbits(words[chunk], axis=1, count=layout.size, bitorder="little")
        for name, field in wanted:
            part = bits[:, field.offset : field.offset + field.width]
            column = columns[name][chunk]
            if name in as_bits:
                column[:] = part
            else:
                width = _element(name, field.shape)
                column[:] = _numbers(part.reshape(*column.shape, width), width)
    return columns


def _names(layout: data.StructLayout) -> str:
    return ", ".join(layout.members)


def _element(name: str, shape: Any) -> int:
    """Width in bits of a field's numbers."""
    inner = shape.elem_shape if isinstance(shape, data.ArrayLayout) else shape
    element = Shape.cast(inner)
    if element.signed or isinstance(inner, data.Layout):
        raise ValueError(f"field {name!r} is {shape!r}: must be unsigned, or an array of unsigned")
    return element.width


def _inner_shape(shape: Any) -> tuple[int, ...]:
    """Shape of one row of the field's column."""
    return (shape.length,) if isinstance(shape, data.ArrayLayout) else ()


def _given_as_bits(shape: Any, column: np.ndarray) -> bool:
    return not isinstance(shape, data.ArrayLayout) and column.dtype == np.bool_ and column.ndim == 2


def _check_column(name: str, shape: Any, column: np.ndarray) -> None:
    width, inner = _element(name, shape), _inner_shape(shape)
    if _given_as_bits(shape, column):
        inner = (width,)
    elif width > 64:
        raise ValueError(f"column {name!r}: a number of {width} bits must be bool [n, {width}]")
    if column.shape[1:] != inner or column.ndim == 0 or column.dtype.kind not in "bui":
        expected = ", ".join(["n", *map(str, inner)])
        raise ValueError(
            f"column {name!r} is {column.dtype} {list(column.shape)}: "
            f"must be whole numbers [{expected}]"
        )


def _check_range(name: str, width: int, values: np.ndarray, rows: np.ndarray) -> None:
    largest = (1 << width) - 1
    if values.size and (values.min() < 0 or values.max() > largest):
        first = tuple(np.argwhere((values < 0) | (values > largest))[0])
        place = ", ".join(str(index) for index in (rows[first[0]], *first[1:]))
        raise ValueError(f"{name}[{place}] = {values[first]}: must be from 0 to {largest}")


def _chunks(rows: int, bits: int) -> Iterator[slice]:
    step = max(1, _CHUNK_BITS // max(bits, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def _bytes(width: int) -> int:
    """Bytes of the smallest NumPy integer of ``width`` bits."""
    return next(count for count in (1, 2, 4, 8) if width <= 8 * count)


def _bits(values: np.ndarray, width: int) -> np.ndarray:
    """Bits, lowest first, along a new last axis."""
    octets = values.astype(f"<u{_bytes(width)}").view(np.uint8)
    octets = octets.reshape(*values.shape, _bytes(width))
    return np.unpackbits(octets, axis=-1, count=width, bitorder="little")


def _numbers(bits: np.ndarray, width: int) -> np.ndarray:
    """Inverse of ``_bits``."""
    octets = np.zeros((*bits.shape[:-1], _bytes(width)), np.uint8)
    octets[..., : -(-width // 8)] = np.packbits(bits, axis=-1, bitorder="little")
    return octets.view(f"<u{_bytes(width)}")[..., 0]
