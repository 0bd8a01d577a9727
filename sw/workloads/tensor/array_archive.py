"""Arrays by name in ``.npz`` files, as ``gnarl run -o`` and ``numpy.savez`` write them.

A dense array is a member of its name; a sparse tensor is ``NAME.coordinates`` int64 [nnz, order],
``NAME.values`` [nnz] and ``NAME.shape``. ``NAME.labels``, names of a vector's numbers, say nothing
of the tensor. See ``gnarl.sw.runtime.report.output_files``, which writes them.
"""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, quoted, short
from gnarl.sw.program.npz import Npz
from gnarl.sw.workloads.tensor.tensor import Tensor

COORDINATES, VALUES, SHAPE, LABELS = ".coordinates", ".values", ".shape", ".labels"
"""What follows a tensor's name in the names of its parts."""

_SHOWN = 8
"""At most this many names in one error text."""


def read_named(archive: Npz, name: str, must: bool) -> np.ndarray | Tensor:
    """The tensor ``name``, or the archive's only one unless it ``must`` have that name.

    Values are in the type of the file. Raises ``WorkloadError`` naming the tensors that there are,
    and ``ArrayFileError``.
    """
    names = tensor_names(archive)
    if name not in names and (must or len(names) != 1):
        shown = ", ".join(map(short, names[:_SHOWN])) or "none"
        more = ", …" if len(names) > _SHOWN else ""
        raise WorkloadError(
            f"has no tensor {quoted(name)}, but {shown}{more}: one must be named, as in "
            f"{short(name)}=FILE.npz:{short(names[0]) if names else 'NAME'}"
        )
    name = name if name in names else names[0]
    if name + COORDINATES not in archive.arrays:
        return archive.array(name)
    shape = archive.array(name + SHAPE)
    if shape.ndim != 1 or shape.dtype.kind not in "iu":
        raise WorkloadError(f"{name}{SHAPE}: is {shape.dtype} {list(shape.shape)}: must be sizes")
    coordinates, values = archive.array(name + COORDINATES), archive.array(name + VALUES)
    try:
        return Tensor(tuple(shape.tolist()), coordinates, values)
    except WorkloadError as error:
        raise WorkloadError(f"{name}: {error}") from error


def read_numbers(archive: Npz) -> dict[str, float]:
    """Numbers by name, of the archive's dense arrays: a scalar has the array's name, numbers of a
    vector have its labels, or ``NAME[1]`` and so on.

    Raises ``WorkloadError`` naming another array, and ``ArrayFileError``.
    """
    numbers: dict[str, float] = {}
    for name in tensor_names(archive):
        array = None if name + COORDINATES in archive.arrays else archive.array(name)
        if array is None or array.ndim > 1 or array.dtype.kind not in "biuf":
            raise WorkloadError(f"{name}: must be a number, or a vector of numbers")
        names = [name] if not array.ndim else [f"{name}[{at}]" for at in range(1, 1 + array.size)]
        if name + LABELS in archive.arrays:
            labels = archive.array(name + LABELS)
            if labels.shape != array.shape or labels.dtype.kind != "U":
                raise WorkloadError(f"{name}{LABELS}: must be {array.size} names")
            names = labels.tolist()
        numbers.update(zip(names, array.astype(np.float64).reshape(-1).tolist(), strict=True))
    return numbers


def tensor_names(archive: Npz) -> list[str]:
    """Names of the tensors, in order."""
    names = []
    parts: set[str] = set()
    for member in archive.arrays:
        stem, dot, part = member.rpartition(".")
        whole = [stem + each for each in (COORDINATES, VALUES, SHAPE)]
        if dot + part == COORDINATES and set(whole) <= set(archive.arrays):
            names.append(stem)
            parts.update(whole)
        elif dot + part == LABELS and stem in archive.arrays:
            parts.add(member)
    return names + [each for each in archive.arrays if each not in parts]
