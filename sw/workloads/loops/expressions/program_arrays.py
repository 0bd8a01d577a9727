"""Arrays of a nest that the tensors of an Einsum program lie in.

A dense tensor is an array of its name and shape. Of a matrix in ``ds``, CSR or CSC, there are
``A_segments``, ``A_columns`` or ``A_rows``, and ``A_values``; any other tensor that is compressed
is a list of its entries, with coordinates in ``A_rows`` and ``A_columns`` of a matrix, and else in
``A_coordinates0`` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.loops.expressions.tensor_expression import require_float32
from gnarl.sw.workloads.tensor.storage import CompressedLevel, TensorFormat, store
from gnarl.sw.workloads.tensor.tensor import Tensor

_MATRIX = ("rows", "columns")


@dataclass(frozen=True)
class Layout:
    """A tensor's place in arrays.

    segments
        the array of a matrix in ``ds``; empty: there is none.
    coordinates
        the array of each mode that is compressed.
    """

    segments: str
    coordinates: Mapping[int, str]
    values: str

    @property
    def is_dense(self) -> bool:
        return not self.coordinates


def layout(name: str, format: TensorFormat | None) -> Layout:
    """The layout of a tensor; one without a format is dense."""
    if format is None or {*format.levels} <= {DENSE}:
        return Layout("", {}, name)
    if format.order == 2:
        coordinates = {mode: f"{name}_{_MATRIX[mode]}" for mode in range(2)}
    else:
        coordinates = {mode: f"{name}_coordinates{mode}" for mode in range(format.order)}
    if format.levels == (DENSE, COMPRESSED):
        mode = format.modes[1]
        return Layout(f"{name}_segments", {mode: coordinates[mode]}, f"{name}_values")
    return Layout("", coordinates, f"{name}_values")


def layouts(program: EinsumProgram) -> dict[str, Layout]:
    """The layouts of all tensors by name; those that are computed are dense."""
    inputs = {name: layout(name, program.formats[name]) for name in program.inputs}
    return inputs | {each.name: layout(each.name, None) for each in program.statements}


def tensor_arrays(
    name: str, tensor: Tensor, format: TensorFormat, own: Layout
) -> dict[str, np.ndarray]:
    """The contents of a tensor's arrays. Raises ``WorkloadError`` naming the entry that float32
    does not hold."""
    require_float32(name, tensor)
    if own.is_dense:
        return {own.values: tensor.to_dense(np.float32).reshape(tensor.shape or (1,))}
    if own.segments:
        stored = store(tensor, format, name=name)
        level = stored.levels[1]
        assert isinstance(level, CompressedLevel)
        (coordinates,) = own.coordinates.values()
        return {
            own.segments: level.segments.astype(np.int32),
            coordinates: level.coordinates.astype(np.int32),
            own.values: stored.values.astype(np.float32),
        }
    found = {
        array: tensor.coordinates[:, mode].astype(np.int32)
        for mode, array in own.coordinates.items()
    }
    return {**found, own.values: tensor.values.astype(np.float32)}
