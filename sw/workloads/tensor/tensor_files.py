"""Tensors from files and to files, by their suffix.

.mtx, .ttx
    Matrix Market: coordinate or array, real, integer or pattern, general or (skew-)symmetric;
    tensors of any order, see ``ttx_file``.
.tns
    FROSTT, see ``tns_file``.
.mtx.gz, .mtx.bz2, …
    One of these texts, compressed.
.npz, .npz:NAME
    A sparse matrix or array that ``scipy.sparse.save_npz`` wrote, or one of several arrays and
    tensors by name, see ``array_archive``. Compiled programs have this suffix too; their contents
    decide.
.npy
    A dense NumPy array; its nonzeros become entries.
folder, folder/tensor_B
    A fibertree folder of the SAM tools, see ``fibertree_files``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.io
import scipy.sparse

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.program.atomic import atomic_path, write_text
from gnarl.sw.program.npz import ArrayFileError, Npz, read_array
from gnarl.sw.program.python_files import split_name
from gnarl.sw.program.tensor_spec import SparseArray
from gnarl.sw.workloads import matrix_entries
from gnarl.sw.workloads.compressed_file import suffix_of
from gnarl.sw.workloads.tensor.array_archive import read_named
from gnarl.sw.workloads.tensor.fibertree_files import load_fibertree, tensors_in
from gnarl.sw.workloads.tensor.sparse_file import is_sparse, read_sparse, save_sparse
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tns_file import COMMENT, format_tns, parse_tns
from gnarl.sw.workloads.tensor.ttx_file import parse_ttx
from gnarl.sw.workloads.text_file import read_text

_FOLDER_PREFIX = "tensor_"


def load_tensor(
    path: str | Path, name: str | None = None, modes: Sequence[int] | None = None
) -> Tensor:
    """The tensor of a file, or the one called ``name`` of a fibertree folder or of a file with
    several.

    ``name`` may be left out if there is only one; ``modes`` is for ``load_fibertree``. Raises
    ``WorkloadError`` naming the file and, in texts, the line.
    """
    file, part = split_name(path)
    path = Path(file)
    if path.is_dir():
        return load_fibertree(path, name or _only_tensor(path), modes)
    if path.name.startswith(_FOLDER_PREFIX) and path.parent.is_dir() and not path.exists():
        return load_fibertree(path.parent, path.name.removeprefix(_FOLDER_PREFIX), modes)
    reader = _READERS.get(suffix_of(path))
    if not path.suffix and not path.exists():
        raise WorkloadError(f"{path}: no such file or folder")
    if reader is None:
        raise WorkloadError(
            f"{path}: suffix {path.suffix!r}: a tensor must be {', '.join(_READERS)}, a fibertree "
            "folder or folder/tensor_NAME"
        )
    if part and path.suffix.lower() != ".npz":
        raise WorkloadError(f"{file}:{part}: only .npz files have tensors by name: must be {file}")
    with damaged_as(WorkloadError, path):
        if path.suffix.lower() == ".npz":
            return _read_npz(path, part, name)
        return reader(path)


def load_array(path: str | Path, name: str | None = None) -> np.ndarray:
    """The dense array of a file, see ``load_tensor``: in its own type where it is stored dense,
    else float32 where that holds all values, and float64.

    Raises ``WorkloadError`` naming the file, and ``CapacityError``.
    """
    file, part = split_name(path)
    suffix = Path(file).suffix.lower()
    if not os.path.exists(file):
        raise WorkloadError(f"{file}: no such file")
    if suffix == ".npy" and not part:
        with reading(Path(file)) as stream:
            return read_array(stream, Path(file).stat().st_size)
    if suffix == ".npz":
        with damaged_as(WorkloadError, file), reading(Path(file)) as stream:
            array = _in_archive(Npz(stream), file, part, name)
            if isinstance(array, np.ndarray):
                return array
            dense = array.to_dense(array.values.dtype)
    else:
        dense = load_tensor(path, name).to_dense()
    with np.errstate(over="ignore"):
        rounded = dense.astype(np.float32)
    return rounded if np.array_equal(rounded, dense, equal_nan=True) else dense


def save_tensor(path: str | Path, tensor: Tensor) -> None:
    """Writes a .tns, .mtx (matrices) or .npz (order 1 and up) file, whole or not at all.

    Values are written so that the same float64 is read back. Raises ``WorkloadError`` for what
    the format cannot hold, and ``OSError``.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".tns":
            write_text(path, format_tns(tensor))
        case ".mtx":
            if tensor.order != 2:
                raise WorkloadError(
                    f"{path}: a tensor of order {tensor.order}: .mtx holds matrices only"
                )
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                # In float64, as readers take it: the digits of narrower types are rounded.
                scipy.io.mmwrite(file, as_scipy(tensor).astype(np.float64), symmetry="general")
        case ".npz":
            if tensor.order == 0:
                raise WorkloadError(f"{path}: SciPy has no sparse scalars: save it as .tns")
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                save_sparse(file, as_scipy(tensor))
        case suffix:
            raise WorkloadError(f"{path}: suffix {suffix!r}: must be .tns, .mtx or .npz")


def _only_tensor(folder: Path) -> str:
    names = tensors_in(folder)
    if len(names) == 1:
        return names[0]
    if not names:
        raise WorkloadError(f"{folder}: no file tensor_NAME_mode_vals: not a fibertree folder")
    raise WorkloadError(
        f"{folder}: tensors {', '.join(names)}: one must be named, as in {folder / 'tensor_'}"
        f"{names[0]}"
    )


def _read_mtx(path: Path) -> Tensor:
    source = str(path)
    lines = text_lines(read_text(path, matrix_entries.COMMENT))
    header = matrix_entries.read_header(lines, source)
    shape = header.rows, header.columns
    if min(shape) < 0:
        raise WorkloadError(
            f"{source}:{header.line}: {shape[0]} x {shape[1]}: must not be negative"
        )
    entries = matrix_entries.read_entries(lines, header, source)
    coordinates = np.stack([entries.row, entries.column], axis=1)

    def name(at: int) -> str:
        return f"entry {tuple((coordinates[at] + 1).tolist())} in line {entries.line[at]}"

    return Tensor.from_entries(shape, coordinates, entries.value, source, name)


def _read_npz(path: Path, part: str = "", name: str | None = None) -> Tensor:
    with reading(path) as file:
        return Tensor.from_any(_in_archive(Npz(file), str(path), part, name))


def _in_archive(archive: Npz, source: str, part: str, name: str | None) -> Tensor | np.ndarray:
    """The tensor ``part`` of an archive; without one, the one called ``name``, or the only one."""
    if is_sparse(archive):  # which has no name
        return read_sparse(archive, source)
    return read_named(archive, part or name or "", must=bool(part))


def _read_npy(path: Path) -> Tensor:
    with reading(path) as file:
        return Tensor.from_any(read_array(file, path.stat().st_size))


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """The open file; errors name it."""
    try:
        with path.open("rb") as file:
            yield file
    except ArrayFileError as error:
        kind = path.suffix.lower()
        raise WorkloadError(f"{path}: not a {kind} file, or damaged: {error}") from None
    except WorkloadError as error:
        raise WorkloadError(f"{path}: {error}") from None
    except OSError as error:
        raise WorkloadError(f"{path}: {error.strerror}") from None


def as_scipy(tensor: SparseArray) -> scipy.sparse.coo_array:
    """The tensor for SciPy, with values in their own type, or float64 where SciPy's arrays lack it,
    as for float16."""
    values = tensor.values
    if values.dtype.isbuiltin == 2 or values.dtype == np.float16:
        values = values.astype(np.float64)
    return scipy.sparse.coo_array((values, tuple(tensor.coordinates.T)), shape=tensor.shape)


_READERS: dict[str, Callable[[Path], Tensor]] = {
    ".mtx": _read_mtx,
    ".ttx": lambda path: parse_ttx(read_text(path, matrix_entries.COMMENT), str(path)),
    ".tns": lambda path: parse_tns(read_text(path, COMMENT), str(path)),
    ".npz": _read_npz,
    ".npy": _read_npy,
}
