"""Entries of sparse matrices and arrays as SciPy stores them.

Pointers and indices are checked here, and SciPy's compiled code, which trusts them, is not called.
Names of parts are those of SciPy's attributes and of ``scipy.sparse.save_npz``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.refusals import refuse_first

PARTS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}
"""Arrays of each format; ``coo`` may have other coordinates than those of a matrix."""

Entries = tuple[np.ndarray, np.ndarray]
"""Coordinates, int64 [entries, order], and values, as they are stored."""


def entries(format: str, shape: tuple[int, ...], parts: Mapping[str, np.ndarray]) -> Entries:
    """The stored elements of a matrix, in stored order; zeros of ``dia`` are none.

    ``parts`` has the arrays of ``PARTS[format]``, or of ``coo`` ``data`` and those of the
    coordinates in each mode. Raises ``WorkloadError`` naming the array, and the index, that is
    wrong. Coordinates may still be there twice. O(entries).
    """
    if format != "coo" and len(shape) != 2 and (format, len(shape)) != ("csr", 1):
        raise WorkloadError(f"shape {list(shape)}: must be of a matrix, in format {format}")
    for size in shape:
        if not 0 <= size < 2**63:
            raise WorkloadError(f"shape {list(shape)}: sizes must be from 0 to {2**63 - 1}")
    data = parts["data"]
    match format:
        case "coo":
            return _coordinates(shape, parts, data)
        case "dia":
            return _diagonals(shape, parts["offsets"], data)
        case "bsr":
            return _blocks(shape, parts["indptr"], parts["indices"], data)
    fibers, size = (1, *shape)[-2:] if format == "csr" else shape[::-1]
    outer, inner = _compressed(fibers, size, parts["indptr"], parts["indices"])
    _require_dimensions("data", data, 1, len(inner))
    coordinates = (outer, inner) if format == "csr" else (inner, outer)
    return np.stack(coordinates[-len(shape) :], axis=1), data


def _coordinates(
    shape: tuple[int, ...], parts: Mapping[str, np.ndarray], data: np.ndarray
) -> Entries:
    modes = [name for name in parts if name != "data"]
    if len(modes) != len(shape):
        raise WorkloadError(f"shape {list(shape)}: must be of {len(modes)} dimensions, as entries")
    count = parts[modes[0]].size if modes else None
    for name, size in zip(modes, shape, strict=True):
        _require_whole(name, parts[name], 1, count)
        _require_below(name, parts[name], size)
    _require_dimensions("data", data, 1, count)
    columns = [parts[name].astype(np.int64) for name in modes]
    return np.stack(columns, axis=1) if modes else np.zeros((len(data), 0), np.int64), data


def _diagonals(shape: tuple[int, ...], offsets: np.ndarray, data: np.ndarray) -> Entries:
    """Entries of diagonals: of diagonal d, ``data[d, j]`` is in column j and row j -
    ``offsets[d]``, if that is a row. A diagonal outside of the matrix has none."""
    rows, columns = shape
    _require_whole("offsets", offsets, 1)
    _require_dimensions("data", data, 2, len(offsets))
    diagonal, column = np.nonzero(data[:, :columns])
    offset = offsets[diagonal]
    inside = (offset <= column) & (offset > column - rows)
    diagonal, column, offset = diagonal[inside], column[inside], offset[inside]
    row = column - offset.astype(np.int64)
    return np.stack([row, column], axis=1), data[diagonal, column]


def _blocks(
    shape: tuple[int, ...], indptr: np.ndarray, indices: np.ndarray, data: np.ndarray
) -> Entries:
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise WorkloadError(f"data: has shape {list(data.shape)}: must be blocks of a matrix")
    sides = data.shape[1:]
    for mode, (size, side) in enumerate(zip(shape, sides, strict=True)):
        if size % side:
            raise WorkloadError(f"shape[{mode}] = {size}: must be a multiple of {side}, as blocks")
    _require_dimensions("data", data, 3, indices.size)
    block = _compressed(shape[0] // sides[0], shape[1] // sides[1], indptr, indices)
    inside = np.indices(sides)
    places = [
        outer[:, np.newaxis, np.newaxis] * side + place
        for outer, side, place in zip(block, sides, inside, strict=True)
    ]
    return np.stack([place.reshape(-1) for place in places], axis=1), data.reshape(-1)


def _compressed(
    fibers: int, size: int, indptr: np.ndarray, indices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The fiber, and the coordinate in it, of each index: int64 [n] both."""
    _require_whole("indptr", indptr, 1)
    _require_whole("indices", indices, 1)
    if len(indptr) != fibers + 1:
        raise WorkloadError(f"indptr: has {len(indptr)} numbers: must have {fibers + 1}")
    count = len(indices)
    if indptr[0] != 0:
        raise WorkloadError(f"indptr[0] = {indptr[0]}: must be 0")
    refuse_first(
        (indptr < 0) | (indptr > count),
        lambda at: f"indptr[{at}] = {indptr[at]}: must be from 0 to {count}, the number of indices",
    )
    refuse_first(
        indptr[1:] < indptr[:-1],
        lambda at: (
            f"indptr[{at + 1}] = {indptr[at + 1]}: must be at least {indptr[at]}, as the one before"
        ),
    )
    if indptr[-1] != count:
        raise WorkloadError(
            f"indptr[{fibers}] = {indptr[-1]}: must be {count}, the number of indices"
        )
    _require_below("indices", indices, size)
    pointers = indptr.astype(np.int64)
    fiber = np.repeat(np.arange(fibers), pointers[1:] - pointers[:-1])
    return fiber, indices.astype(np.int64)


def _require_whole(name: str, array: np.ndarray, order: int, length: int | None = None) -> None:
    if array.dtype.kind not in "iu":
        raise WorkloadError(f"{name}: is {array.dtype}: must be whole numbers")
    _require_dimensions(name, array, order, length)


def _require_dimensions(name: str, array: np.ndarray, order: int, length: int | None) -> None:
    """Requires an array [length, …]; any length for ``None``."""
    if array.ndim != order or (length is not None and len(array) != length):
        first = "any" if length is None else str(length)
        wanted = ", ".join([first, *["any"] * (order - 1)])
        raise WorkloadError(f"{name}: has shape {list(array.shape)}: must be [{wanted}]")


def _require_below(name: str, array: np.ndarray, size: int) -> None:
    refuse_first(
        (array < 0) | (array >= size),
        lambda at: f"{name}[{at}] = {array[at]}: must be from 0 to {size - 1}",
    )
