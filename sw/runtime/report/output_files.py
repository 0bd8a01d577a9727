"""Outputs of a run as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.atomic import atomic_path
from gnarl.sw.program.command_files import check_output
from gnarl.sw.program.npz import write_npz
from gnarl.sw.program.tensor_spec import Array, Labelled, Sparse, TensorSpec
from gnarl.sw.workloads.tensor.array_archive import COORDINATES, LABELS, SHAPE, VALUES
from gnarl.sw.workloads.tensor.fibertree_files import save_fibertree
from gnarl.sw.workloads.tensor.sparse_file import save_sparse
from gnarl.sw.workloads.tensor.storage import TensorFormat, store
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import as_scipy


def check_output_path(path: Path, specs: Sequence[TensorSpec] = ()) -> None:
    """Raises ``WorkloadError`` where ``save_outputs`` cannot write such a file, or these to it."""
    if path.suffix not in ("", ".npz"):
        raise WorkloadError(
            f"{path}: outputs are not written to {path.suffix} files: must be an .npz file, or a "
            "folder for fibertrees"
        )
    for spec in specs:
        if isinstance(spec.storage, Labelled) and not path.suffix:
            raise WorkloadError(
                f"{path}: fibertrees have no labels, which {spec.name} has: must be an .npz file"
            )
        for file in path.glob(f"tensor_{spec.name}_mode_*") if not path.suffix else ():
            check_output(file)


def save_outputs(path: Path, specs: Sequence[TensorSpec], outputs: Mapping[str, Array]) -> None:
    """Writes all outputs, in their own shape and type; float64 in ``.npz`` files where NumPy has
    no such type.

    An ``.npz`` file has dense arrays by name, and the labels of named scalars as ``NAME.labels``. A
    sparse matrix that is the only output is in SciPy's form (``scipy.sparse.load_npz``); other
    sparse tensors are ``NAME.coordinates`` int64 [nnz, order], ``NAME.values`` [nnz] and
    ``NAME.shape``. A path without ending is a folder of fibertree files, see
    ``gnarl.sw.workloads.tensor.fibertree_files``. All of it is read as an input again, see
    ``gnarl.sw.workloads.tensor.tensor_files``.
    """
    check_output_path(path, specs)
    if path.suffix:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            _save_npz(file, specs, outputs)
        return
    for spec in specs:
        _save_fibertree(path, spec, outputs[spec.name])


def _save_npz(file: BinaryIO, specs: Sequence[TensorSpec], outputs: Mapping[str, Array]) -> None:
    only = outputs[specs[0].name] if len(specs) == 1 else None
    if only is not None and not isinstance(only, np.ndarray) and len(only.shape) == 2:
        save_sparse(file, as_scipy(only))
        return
    arrays: dict[str, np.ndarray] = {}
    for spec in specs:
        array = outputs[spec.name]
        if isinstance(array, np.ndarray):
            arrays[spec.name] = _readable(array)
            if isinstance(spec.storage, Labelled):
                labels = spec.storage.labels
                longest = int(np.strings.str_len(labels).max(initial=1))
                arrays[spec.name + LABELS] = labels.astype(f"U{longest}")
        else:
            arrays[spec.name + COORDINATES] = array.coordinates
            arrays[spec.name + VALUES] = _readable(array.values)
            arrays[spec.name + SHAPE] = np.array(array.shape, np.int64)
    write_npz(file, arrays)


def _readable(values: np.ndarray) -> np.ndarray:
    """The values in a type that files of arrays hold, which is NumPy's own; float64 holds all
    others'."""
    return values.astype(np.float64) if values.dtype.isbuiltin == 2 else values


def _save_fibertree(folder: Path, spec: TensorSpec, array: Array) -> None:
    if isinstance(array, np.ndarray):
        places = np.stack(np.unravel_index(np.arange(array.size), array.shape or (1,)), axis=1)
        tensor = Tensor(array.shape, places[:, : array.ndim], array.reshape(-1))
    else:
        tensor = Tensor(array.shape, array.coordinates, array.values)
    format = TensorFormat(("dense",) * tensor.order, tuple(range(tensor.order)))
    if isinstance(spec.storage, Sparse):
        # Files know no bitvectors: the same coordinates are compressed there.
        levels = ["dense" if level == "dense" else "compressed" for level in spec.storage.levels]
        format = TensorFormat(tuple(levels), spec.storage.modes)
    save_fibertree(folder, spec.name, store(tensor, format, name=spec.name))
