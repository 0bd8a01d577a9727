"""Sparse matrices and arrays in archives, as ``scipy.sparse.save_npz`` writes them."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
import scipy.sparse

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.program.archive import MANIFEST, has_sparse_matrix
from gnarl.sw.program.npz import Npz, write_npz
from gnarl.sw.workloads.tensor.sparse_matrix import PARTS
from gnarl.sw.workloads.tensor.tensor import Tensor

_COORDS = "coords"
"""The member of arrays of other orders than 2: [order, entries]."""

_MAX_ORDER = 64
"""The order of NumPy's arrays, and so of SciPy's."""


def is_sparse(archive: Npz) -> bool:
    """Whether ``read_sparse`` reads the archive, or says why it does not: programs are refused."""
    return MANIFEST in archive.others or has_sparse_matrix(archive.arrays)


def read_sparse(archive: Npz, source: str) -> Tensor:
    """Every stored element of the file ``source`` is an entry; those of one place are added, with
    a warning. Values must be finite.

    Raises ``WorkloadError`` naming the member, and ``ArrayFileError``.
    """
    if MANIFEST in archive.others:
        raise WorkloadError("a compiled program: must be a sparse matrix of SciPy")
    format = _format(archive.array("format"))
    names = PARTS[format]
    if format == "coo" and _COORDS in archive.arrays:
        names = "data", _COORDS
    known = ("format", "shape", *names, "_is_array")
    for name in (*archive.arrays, *archive.others):
        if name not in known:
            raise WorkloadError(f"{name!r:.60}: format {format} has {', '.join(known)}")
    for name in ("shape", *names):
        if name not in archive.arrays:
            raise WorkloadError(f"{name}: is missing")
    shape = archive.array("shape")
    if shape.ndim != 1 or shape.dtype.kind not in "iu" or len(shape) > _MAX_ORDER:
        raise WorkloadError(
            f"shape: is {shape.dtype} {list(shape.shape)}: must be whole numbers, at most "
            f"{_MAX_ORDER}"
        )
    parts = {name: archive.array(name) for name in names}
    if _COORDS in parts:
        columns = parts.pop(_COORDS)
        if columns.ndim != 2:
            raise WorkloadError(f"coords: has shape {list(columns.shape)}: must be [any, any]")
        parts |= {f"{_COORDS}[{mode}]": column for mode, column in enumerate(columns)}
    return Tensor.from_any(Tensor.from_sparse(format, tuple(shape.tolist()), parts, source))


def save_sparse(file: BinaryIO, matrix: scipy.sparse.coo_array) -> None:
    """Writes what ``scipy.sparse.load_npz`` reads, quicker than SciPy compresses it."""
    coordinates = {_COORDS: np.stack(matrix.coords)}
    if matrix.ndim == 2:
        coordinates = dict(zip(PARTS["coo"][1:], matrix.coords, strict=True))
    marks = {
        "format": np.array(b"coo"),
        "shape": np.array(matrix.shape),
        "_is_array": np.array(True),
    }
    write_npz(file, {"data": matrix.data, **coordinates, **marks})


def _format(given: np.ndarray) -> str:
    format = given.item() if given.ndim == 0 else None
    if isinstance(format, bytes):
        format = format.decode("latin1")
    if format not in PARTS:
        raise WorkloadError(f"format {short(repr(format))}: must be one of {', '.join(PARTS)}")
    return format
