"""Tensors of PyTorch as those of programs: their entries, and how they are stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.entries_order import ascending_order
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor

_TOO_MANY_BYTES = 2**63
"""Bytes that no array of NumPy has, where dimensions of 0 count as 1."""


def dense(order: int) -> TensorFormat:
    """All levels dense, in the order of the modes."""
    return TensorFormat((DENSE,) * order, tuple(range(order)))


def is_strided(tensor: Any) -> bool:
    """Whether it is stored as dense tensors are."""
    return _layout(tensor) == "strided"


def format_of(name: str, tensor: Any) -> TensorFormat:
    """The format of a tensor's layout; blocks are entries, zeros among them too. Raises
    ``WorkloadError``."""
    order = tensor.dim()
    match _layout(tensor):
        case "strided":
            return dense(order)
        case "sparse_coo":
            sparse = tensor.sparse_dim()
            levels = (COMPRESSED,) * sparse + (DENSE,) * (order - sparse)
            return TensorFormat(levels, tuple(range(order)))
        case "sparse_csr" | "sparse_bsr" if order == 2:
            return TensorFormat((DENSE, COMPRESSED), (0, 1))
        case "sparse_csc" | "sparse_bsc" if order == 2:
            return TensorFormat((DENSE, COMPRESSED), (1, 0))
        case layout:
            raise WorkloadError(
                f"{name}: layout {layout} of {order} dimensions: must be strided or COO, or CSR, "
                "CSC, BSR or BSC of 2 dimensions"
            )


def entries_of(name: str, tensor: Any, finite: bool = True) -> Tensor:
    """A tensor's entries: of a strided one all that are not zero, else all that are stored. Raises
    ``WorkloadError``, also where ``format_of`` does, or where it must be ``finite`` and is not."""
    format_of(name, tensor)
    if tensor.is_complex() or tensor.is_quantized:
        raise WorkloadError(f"{name} is {tensor.dtype}: must be of real numbers")
    if math.prod(filter(None, tensor.shape)) * np.float64().nbytes >= _TOO_MANY_BYTES:
        raise WorkloadError(f"{name} has shape {tuple(tensor.shape)}: NumPy has none that large")
    tensor = tensor.detach().cpu()
    try:
        return Tensor.from_any(_source(tensor), finite)
    except WorkloadError as error:
        raise WorkloadError(f"{name}: {error}") from error


def _source(tensor: Any) -> Any:
    match _layout(tensor):
        case "strided":
            return _array(tensor)
        case "sparse_coo":
            tensor = tensor.coalesce()
            coordinates, values = tensor.indices().numpy().T, _array(tensor.values())
            sparse, shape = tensor.sparse_dim(), tuple(tensor.shape)
            return _hybrid(coordinates, values, shape, sparse)
        case "sparse_csr" | "sparse_bsr" as layout:
            rows, columns = tensor.crow_indices(), tensor.col_indices()
            return _compressed(layout.removeprefix("sparse_"), tensor, rows, columns)
        case "sparse_bsc":
            return _block_columns(tensor)
    return _compressed("csc", tensor, tensor.ccol_indices(), tensor.row_indices())


def _hybrid(
    coordinates: np.ndarray, values: np.ndarray, shape: tuple[int, ...], sparse: int
) -> Any:
    """Entries of which each has a dense tensor of the last dimensions."""
    inner = np.argwhere(np.ones(shape[sparse:], bool))
    outer = np.repeat(coordinates, len(inner), axis=0)
    inner = np.tile(inner, (len(coordinates), 1))
    return np.concatenate([outer, inner], axis=1), values.ravel(), shape


def _compressed(format: str, tensor: Any, pointers: Any, indices: Any) -> Tensor:
    parts = {
        "data": _array(tensor.values()),
        "indptr": pointers.numpy(),
        "indices": indices.numpy(),
    }
    return Tensor.from_sparse(format, tuple(tensor.shape), parts)


def _block_columns(tensor: Any) -> Any:
    """Entries of blocks that are stored column by column: the transpose's are stored by rows."""
    parts = {
        "data": _array(tensor.values()).transpose(0, 2, 1),
        "indptr": tensor.ccol_indices().numpy(),
        "indices": tensor.row_indices().numpy(),
    }
    rows, columns = tensor.shape
    transposed = Tensor.from_sparse("bsr", (columns, rows), parts)
    coordinates = transposed.coordinates[:, ::-1]
    order = ascending_order(coordinates)
    return Tensor((rows, columns), coordinates[order], transposed.values[order])


def _array(tensor: Any) -> np.ndarray:
    array: np.ndarray = tensor.resolve_neg().double().numpy()
    return array


def _layout(tensor: Any) -> str:
    return str(tensor.layout).removeprefix("torch.")


def chosen_formats(
    formats: Mapping[str, str | TensorFormat],
    names: Mapping[str, str],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, TensorFormat]:
    """Formats by names in the program, from texts such as ``ds`` or ``dd:1,0`` by users' names, or
    those of statements. Raises ``WorkloadError``.

    names
        users' names by those in the program.
    """
    own = {**{name: name for name in shapes}, **{user: name for name, user in names.items()}}
    chosen = {}
    for user, given in formats.items():
        if user not in own:
            known = ", ".join(names.get(name, name) for name in shapes)
            raise WorkloadError(f"format of {quoted(user)}: no such tensor: must be of {known}")
        name = own[user]
        try:
            format = given if isinstance(given, TensorFormat) else _parsed(given)
        except WorkloadError as error:
            raise WorkloadError(f"format of {user}: {error}") from None
        if format.order != len(shapes[name]):
            raise WorkloadError(
                f"format of {user}: {format} has {format.order} levels: must have "
                f"{len(shapes[name])}, one for each dimension"
            )
        chosen[name] = format
    return chosen


def _parsed(text: str) -> TensorFormat:
    letters, colon, places = text.partition(":")
    for letter in letters:
        if letter not in LEVEL_FORMATS:
            raise WorkloadError(
                f"{quoted(text)}: level format {letter!r}: must be one of "
                f"{', '.join(LEVEL_FORMATS)}"
            )
    modes = [*map(str, range(len(letters)))]
    if colon and sorted(places.split(",")) != sorted(modes):
        raise WorkloadError(f"{quoted(text)}: must name each of {', '.join(modes)} once behind :")
    order = places.split(",") if colon else modes
    return TensorFormat(tuple(LEVEL_FORMATS[each] for each in letters), tuple(map(int, order)))
