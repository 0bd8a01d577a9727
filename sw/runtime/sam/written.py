"""The levels of a result, from the rows that writers have written.

A level's stream has a stop for each fiber, and another one for each stop of the level around that
ends an empty fiber: that one is no fiber of its level. ``gnarl.sw.compiler.sam.empty_fibers`` says
which stops a writer has recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.block_types import BITVECTOR_BITS, COMPRESSED, DENSE
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.drops import is_dropped, writers_of
from gnarl.sw.program.rows import Rows
from gnarl.sw.workloads.tensor.storage import (
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Level,
    TensorFormat,
)


def written_levels(
    graph: Graph,
    tensor: str,
    format: TensorFormat,
    shape: tuple[int, ...],
    memory: Mapping[str, Rows],
) -> tuple[Level, ...]:
    """Levels of ``tensor``, none of whose dimensions has size 0, outermost first.

    Raises ``ProgramError`` naming the writer whose fibers are not those of the level around.
    O(rows).
    """
    levels: list[Level] = []
    positions = 1
    stops: np.ndarray | None = np.ones(1, bool)  # of the next level: whether each ends a fiber
    writers = writers_of(graph).get(tensor, [])
    for number, (writer, mode) in enumerate(zip(writers, format.modes, strict=True)):
        size = shape[mode]
        if writer["format"] == DENSE:
            levels.append(DenseLevel(size))
            positions *= size
            stops = None if stops is None else np.repeat(stops, np.where(stops, size, 1))
            continue
        lengths = _lengths(writer, size, memory)
        if number and is_dropped(graph, writers[number - 1]):
            fibers = lengths > 0
        elif not writer["keep_empty"] or stops is None:
            # Nothing around is empty, unless everything is.
            fibers = np.arange(len(lengths)) < positions
        else:
            fibers = stops[: len(lengths)]
        if fibers.sum() != positions or len(fibers) != len(lengths):
            raise ProgramError(
                f"{writer.name}: wrote {int(fibers.sum())} fibers in {len(lengths)} rows: must be "
                f"{positions}, one for each position of the level around"
            )
        levels.append(_level(writer, size, lengths, fibers, memory))
        positions = int(lengths[fibers].sum())
        stops = np.repeat(lengths > 0, np.maximum(lengths, 1)) if writer["keep_empty"] else None
    return tuple(levels)


def _words_per_fiber(size: int) -> int:
    return -(-size // BITVECTOR_BITS)


def _lengths(writer: Block, size: int, memory: Mapping[str, Rows]) -> np.ndarray:
    """Coordinates in each fiber that is recorded."""
    if writer["format"] == COMPRESSED:
        starts, ends = memory[f"{writer.name}_seg"].words.T.astype(np.int64)
        return ends - starts
    rows = _bits(writer, size, memory)
    return np.bitwise_count(rows).sum(axis=1, dtype=np.int64)


def _level(
    writer: Block, size: int, lengths: np.ndarray, fibers: np.ndarray, memory: Mapping[str, Rows]
) -> Level:
    if writer["format"] == COMPRESSED:
        coordinates = memory[f"{writer.name}_crd"].words.reshape(-1).astype(np.int64)
        segments = np.concatenate([[0], np.cumsum(lengths[fibers])])
        return CompressedLevel(size, segments, coordinates)
    rows = _bits(writer, size, memory)
    return BitvectorLevel(size, rows[fibers].reshape(-1), BITVECTOR_BITS)


def _bits(writer: Block, size: int, memory: Mapping[str, Rows]) -> np.ndarray:
    """The words of a bitvector level, uint32 [fibers, words of a fiber]."""
    return memory[f"{writer.name}_bv"].words[:, 0].reshape(-1, _words_per_fiber(size))
