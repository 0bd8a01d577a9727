"""Outputs of a run as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse

from hw.lib.errors import WorkloadError
from sw.program.atomic import atomic_path
from sw.program.tensor_spec import Array, Labelled, Sparse, TensorSpec
from sw.workloads.tensor.fibertree_files import save_fibertree
from sw.workloads.tensor.storage import TensorFormat, store
from sw.workloads.tensor.tensor import Tensor


def check_output_path(path: Path) -> None:
    """Raises ``WorkloadError`` for an ending that ``save_outputs`` does not know."""
    if path.suffix not in ("", ".npz"):
        raise WorkloadError(
            f"{path}: outputs are not written to {path.suffix} files: must be an .npz file, or a "
            "folder for fibertrees"
        )


def save_outputs(path: Path, specs: Sequence[TensorSpec], outputs: Mapping[str, Array]) -> None:
    """Writes all outputs, in their own shape and type.

    An ``.npz`` file has dense arrays by name, and the labels of named scalars as ``NAME.labels``. A
    sparse matrix that is the only output is in SciPy's form (``scipy.sparse.load_npz``); other
    sparse tensors are ``NAME.coordinates`` int64 [nnz, order], ``NAME.values`` [nnz] and
    ``NAME.shape``. A path without ending is a folder of fibertree files, see
    ``sw.workloads.tensor.fibertree_files``.
    """
    check_output_path(path)
    if path.suffix:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            _save_npz(file, specs, outputs)
        return
    for spec in specs:
        _save_fibertree(path, spec, outputs[spec.name])


def _save_npz(file: BinaryIO, specs: Sequence[TensorSpec], outputs: Mapping[str, Array]) -> None:
    only = outputs[specs[0].name] if len(specs) == 1 else None
    if only is not None and not isinstance(only, np.ndarray) and len(only.shape) == 2:
        row, column = only.coordinates.T
        # SciPy has no float16 and no types but NumPy's own; float64 holds the values of them all.
        dtype = only.values.dtype
        own = dtype.kind in "biu" or dtype in (np.float32, np.float64)
        values = only.values if own else only.values.astype(np.float64)
        scipy.sparse.save_npz(file, scipy.sparse.coo_array((values, (row, column)), only.shape))
        return
    arrays: dict[str, np.ndarray] = {}
    for spec in specs:
        array = outputs[spec.name]
        if isinstance(array, np.ndarray):
            arrays[spec.name] = array
            if isinstance(spec.storage, Labelled):
                arrays[f"{spec.name}.labels"] = np.array(spec.storage.labels.tolist(), np.str_)
        else:
            arrays[f"{spec.name}.coordinates"] = array.coordinates
            arrays[f"{spec.name}.values"] = array.values
            arrays[f"{spec.name}.shape"] = np.array(array.shape, np.int64)
    np.savez(file, **arrays)  # type: ignore[arg-type]


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
