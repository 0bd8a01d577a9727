"""The levels and values of a result, from the rows that writers have written.

A level's stream has a stop for each fiber, and another one for each stop of the level around that
ends an empty fiber: that one is no fiber of its level. ``gnarl.sw.compiler.sam.empty_fibers`` says
which stops a writer has recorded. Where each lane has writers of its own, each has recorded
what it was dealt: their rows are put together first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.block_types import BITVECTOR_BITS, COMPRESSED, DENSE
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.drops import in_lanes, is_dropped, value_writers, writers_of
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.sam.dealt import Dealt
from gnarl.sw.workloads.tensor.storage import (
    BitvectorLevel,
    CompressedLevel,
    DenseLevel,
    Level,
    TensorFormat,
)


def written_tensor(
    graph: Graph,
    tensor: str,
    format: TensorFormat,
    shape: tuple[int, ...],
    memory: Mapping[str, Rows],
) -> tuple[tuple[Level, ...], np.ndarray]:
    """Levels of ``tensor``, none of whose dimensions has size 0, outermost first, and the words of
    its values, uint32 [positions, words of a value].

    Raises ``ProgramError`` naming the writer whose fibers are not those of the level around.
    O(rows).
    """
    levels: list[Level] = []
    positions = 1
    stops: np.ndarray | None = np.ones(1, bool)  # of the next level: whether each ends a fiber
    dealt: Dealt | None = None  # the stops of the next level, and the rows of this one
    entries: Dealt | None = None
    writers = writers_of(graph).get(tensor, [])
    for number, (writer, mode) in enumerate(zip(writers, format.modes, strict=True)):
        size = shape[mode]
        lanes = in_lanes(graph, writer)
        if len(lanes) > 1 and dealt is None:
            assert stops is not None
            dealt = Dealt.units(len(stops), len(lanes))
        if writer["format"] == DENSE:
            levels.append(DenseLevel(size))
            positions *= size
            if dealt is not None:
                assert stops is not None
                entries = dealt.within(np.where(stops, size, 0))
                dealt = dealt.within(np.where(stops, size, 1))
            stops = None if stops is None else np.repeat(stops, np.where(stops, size, 1))
            continue
        rows = _rows([_Fibers.of(lane, size, memory) for lane in lanes], dealt)
        lengths = rows.lengths
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
        levels.append(rows.level(size, fibers))
        positions = int(lengths[fibers].sum())
        stops = np.repeat(lengths > 0, np.maximum(lengths, 1)) if writer["keep_empty"] else None
        if dealt is not None:
            entries = dealt.within(lengths)
            dealt = dealt.within(np.maximum(lengths, 1))
    values = value_writers(graph, tensor)
    parts = [memory[f"{each.name}_vals"].words for each in values]
    words = parts[0] if entries is None else entries.joined(parts, values[0].name)
    return tuple(levels), words


@dataclass(frozen=True)
class _Fibers:
    """What a writer has recorded: of a compressed level ``lengths`` and ``coordinates``, of a
    bitvector level ``lengths`` and ``bits``, uint32 [fibers, words of a fiber]."""

    name: str
    lengths: np.ndarray
    coordinates: np.ndarray | None = None
    bits: np.ndarray | None = None

    @classmethod
    def of(cls, writer: Block, size: int, memory: Mapping[str, Rows]) -> _Fibers:
        if writer["format"] == COMPRESSED:
            starts, ends = memory[f"{writer.name}_seg"].words.T.astype(np.int64)
            coordinates = memory[f"{writer.name}_crd"].words.reshape(-1).astype(np.int64)
            return cls(writer.name, ends - starts, coordinates)
        words = memory[f"{writer.name}_bv"].words[:, 0]
        bits = words.reshape(-1, -(-size // BITVECTOR_BITS))
        return cls(writer.name, np.bitwise_count(bits).sum(axis=1, dtype=np.int64), bits=bits)

    def level(self, size: int, chosen: np.ndarray) -> Level:
        """The level of those of the fibers that are chosen; others have no coordinates."""
        if self.bits is not None:
            return BitvectorLevel(size, self.bits[chosen].reshape(-1), BITVECTOR_BITS)
        assert self.coordinates is not None
        segments = np.concatenate([[0], np.cumsum(self.lengths[chosen])])
        return CompressedLevel(size, segments, self.coordinates)


def _rows(lanes: Sequence[_Fibers], dealt: Dealt | None) -> _Fibers:
    """What one writer would have recorded of what lanes have, if there are several."""
    first = lanes[0]
    if dealt is None:
        return first
    lengths = dealt.joined([lane.lengths for lane in lanes], first.name)
    if first.bits is not None:
        bits = dealt.joined([lane.bits for lane in lanes if lane.bits is not None], first.name)
        return _Fibers(first.name, lengths, bits=bits)
    parts = [lane.coordinates for lane in lanes if lane.coordinates is not None]
    return _Fibers(first.name, lengths, dealt.within(lengths).joined(parts, first.name))
