"""Tensor index expressions as workloads: products, and sums of two tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.formats import holds, range_of
from gnarl.sw.workloads.loops.expressions.expression_nest import nest_of
from gnarl.sw.workloads.loops.expressions.expression_parts import (
    coordinates_of,
    entries_of,
    parts_of,
    segments_of,
    size_of,
    values_of,
)
from gnarl.sw.workloads.loops.expressions.result_levels import ResultLevels, is_compressed
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.operands import bind_operands
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.storage import CompressedLevel, store
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.workload import read_expression


def expression_nest(text: str) -> ir.Nest:
    """Raises ``WorkloadError`` that names the column."""
    return nest_of(parts_of(parse(text)))


def expression_workload(text: str, inputs: Mapping[str, Any]) -> LoopWorkload:
    """The workload of an expression with operands by name, each what
    ``gnarl.sw.workloads.tensor.operands.operand`` takes.

    Raises ``WorkloadError`` that names the column, or the operand, and ``CapacityError`` for a
    result with too many entries.
    """
    workload = read_expression(text)
    parts = parts_of(workload.statement)
    nest = nest_of(parts)
    arrays, sizes = expression_arrays(workload.statement, inputs)
    shape: tuple[int, ...] = ()
    if is_compressed(workload.statement):
        sizes |= ResultLevels(parts).capacities(sizes)
        shape = result_shape(workload.statement, sizes)
    used = {size.name: sizes[size.name] for size in nest.sizes if size.name in sizes}
    return LoopWorkload(workload.name, nest, arrays, used, text, shape)


def result_shape(statement: Statement, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[size_of(index)] for index in statement.result.indices)


def expression_arrays(
    statement: Statement, inputs: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """The arrays of operands as the statement stores them; and the sizes of all indices, and of
    operands' compressed levels.

    Raises ``WorkloadError`` naming the operand, or its entry that float32 does not hold.
    """
    tensors = bind_operands(statement, inputs)
    arrays: dict[str, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for access in statement.operands:
        tensor, name = tensors[access.tensor], access.tensor
        require_float32(name, tensor)
        sizes.update((size_of(i), n) for i, n in zip(access.indices, tensor.shape, strict=True))
        stored = store(tensor, statement.formats[name], name=name)
        for number, level in enumerate(stored.levels):
            if isinstance(level, CompressedLevel):
                if number:
                    arrays[segments_of(name, number)] = level.segments
                arrays[coordinates_of(name, number)] = level.coordinates
                sizes[entries_of(name, number)] = len(level.coordinates)
        arrays[values_of(name)] = stored.values.astype(np.float32)
    return arrays, sizes


def require_float32(name: str, tensor: Tensor) -> None:
    """Raises ``WorkloadError`` naming an entry that float32 does not hold."""
    values, places = tensor.values, tensor.coordinates
    refuse_first(
        ~holds("float32", values),
        lambda at: (
            f"{name}[{','.join(map(str, places[at]))}] = {values[at]}: {range_of('float32')}"
        ),
    )
