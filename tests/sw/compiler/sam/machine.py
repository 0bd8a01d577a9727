"""Statements on NumPy arrays, twice: as what they mean, and as their graph on the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gnarl.hw.sam.block_types import BITVECTOR_BITS
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.sam.model.streams import ModelRun, run_graph
from gnarl.sw.runtime.sam.written import written_tensor
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Expression, Statement
from gnarl.sw.workloads.tensor.shapes import check_shapes
from gnarl.sw.workloads.tensor.storage import (
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Level,
    Storage,
    restore,
    store,
)
from gnarl.sw.workloads.tensor.tensor import Tensor

FORMAT = "float32"

_CALLS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "max": np.maximum,
    "min": np.minimum,
}


def meaning(
    statement: Statement, operands: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray:
    """The result by NumPy, over every coordinate of every index, float64."""
    order = statement.order
    free = [order.index(index) for index in statement.result.indices]
    shape = [sizes[index] for index in order]
    summed = tuple(place for place in range(len(order)) if place not in free)

    def value(part: Expression) -> np.ndarray:
        match part:
            case Access(tensor, indices):
                array = np.asarray(operands[tensor], float)
                places = [order.index(index) for index in indices]
                array = array.transpose(np.argsort(places)) if places else array
                return array.reshape([s if p in places else 1 for p, s in enumerate(shape)])
            case Constant(number):
                return np.full([1] * len(order), number)
            case Call(function, arguments):
                return _CALLS[function](*map(value, arguments))

    def term(part: Expression) -> np.ndarray:
        match part:
            case Call("add" | "sub" | "neg" as function, arguments):
                return _CALLS[function](*map(term, arguments))
        array = value(part)
        used = _used(part)
        full = [
            size if place in free or order[place] in used else 1 for place, size in enumerate(shape)
        ]
        return np.broadcast_to(array, full).sum(axis=summed, keepdims=True)

    result = np.broadcast_to(
        term(statement.expression),
        [size if place in free else 1 for place, size in enumerate(shape)],
    )
    return result.squeeze(axis=summed).transpose(np.argsort(np.argsort(free)))


def _used(part: Expression) -> set[str]:
    match part:
        case Access(_, indices):
            return set(indices)
        case Call(_, arguments):
            return set().union(*map(_used, arguments))
    return set()


def on_model(
    statement: Statement,
    operands: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    graph: Graph | None = None,
) -> tuple[np.ndarray, ModelRun]:
    """The result of the statement's graph, or of ``graph``, and its run."""
    graph = graph or lower(statement)
    verify(graph)
    storages = {
        access.tensor: store(
            Tensor.from_any(np.asarray(operands[access.tensor], float)),
            statement.formats[access.tensor],
        )
        for access in statement.operands
    }
    arrays, settings = {}, {}
    for block in graph.blocks:
        for array in block.arrays:
            if not array.writes:
                arrays[f"{block.name}_{array.name}"] = _rows(block, array.name, storages)
        for setting in block.settings:
            settings[block.name, setting] = _setting(graph, block, setting, sizes)
    run = run_graph(graph, FORMAT, arrays, settings)
    return _result(statement, graph, run, sizes), run


def check(
    statement: Statement, operands: Mapping[str, np.ndarray], result: tuple[int, ...] | None = None
) -> ModelRun:
    """Holds the statement's graph to its meaning; ``result``: the result's shape if needed."""
    shapes = {name: np.shape(array) for name, array in operands.items()}
    if result is not None:
        shapes[statement.result.tensor] = result
    sizes = check_shapes(statement, shapes)
    found, run = on_model(statement, operands, sizes)
    np.testing.assert_array_equal(found, meaning(statement, operands, sizes))
    return run


def _rows(block, array: str, storages: Mapping[str, Storage]) -> np.ndarray:
    tensor = block["tensor"]
    if array == "vals":
        named = tensor.isidentifier()
        values = storages[tensor].values if named else np.array([float(tensor)])
        return values.astype(np.float32).view(np.uint32).reshape(-1, 1)
    level = storages[tensor].levels[block["level"]]
    if isinstance(level, CompressedLevel):
        if array == "crd":
            return level.coordinates.astype(np.uint32).reshape(-1, 1)
        return np.stack([level.segments[:-1], level.segments[1:]], axis=1).astype(np.uint32)
    assert isinstance(level, BitvectorLevel)
    ones = np.bitwise_count(level.words).astype(np.int64)
    return np.stack([level.words, np.cumsum(ones) - ones], axis=1).astype(np.uint32)


def _setting(graph: Graph, block, setting: str, sizes: Mapping[str, int]) -> int:
    if block.type == "spaccumulator":
        loops = verify(graph).loops
        return sizes[loops[block.name, f"out_crd{setting[-1]}"][-1].index]
    size = sizes[block["index"]]
    return size if setting == "size" else -(-size // BITVECTOR_BITS)


def _result(
    statement: Statement, graph: Graph, run: ModelRun, sizes: Mapping[str, int]
) -> np.ndarray:
    access = statement.result
    format = statement.formats[access.tensor]
    writers = {block["level"]: block.name for block in graph.blocks if block.type == "fiberwrite"}
    shape = tuple(sizes[index] for index in access.indices)
    if sum(block.type == "valwrite" for block in graph.blocks) > 1:
        if 0 in shape:  # No tensor can be made of what lanes wrote, nor need be.
            return np.zeros(shape)
        memory = {name: Rows.first(rows) for name, rows in run.written.items()}
        written, words = written_tensor(graph, access.tensor, format, shape, memory)
        values = words[:, 0].view(np.float32).astype(np.float64)
        return restore(Storage(format, shape, written, values)).to_dense()
    levels: list[Level] = []
    fibers = 1
    for number, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        size, name = shape[mode], writers[number]
        if kind == "dense":
            levels.append(DenseLevel(size))
            fibers *= size
        elif kind == "compressed":
            ends = run.written[f"{name}_seg"][:, 1].astype(np.int64)[:fibers]
            coordinates = run.written[f"{name}_crd"].reshape(-1).astype(np.int64)
            levels.append(CompressedLevel(size, np.concatenate([[0], ends]), coordinates))
            fibers = len(coordinates)
        else:
            count = fibers * -(-size // BITVECTOR_BITS)
            words = run.written[f"{name}_bv"][:count, 0].astype(np.uint32)
            levels.append(BitvectorLevel(size, words))
            fibers = int(np.bitwise_count(words).sum())
    writer = next(block.name for block in graph.blocks if block.type == "valwrite")
    values = run.written[f"{writer}_vals"].reshape(-1).astype(np.uint32).view(np.float32)
    tensor = restore(Storage(format, shape, tuple(levels), values.astype(np.float64)))
    return tensor.to_dense()
