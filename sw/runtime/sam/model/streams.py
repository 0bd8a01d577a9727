"""SAM graphs on whole streams: one function a type of block, arrays of tokens in and out.

Every rule of the hardware is checked: operands that must agree, addresses, capacities. What comes
out of lookups is more than in hardware where intersections tell them what to skip; results are the
same. Source: Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.unit import OPERATIONS
from gnarl.sw.runtime.sam.model import (
    accumulate,
    coordinates,
    join,
    lanes,
    lookup,
    values,
    write,
)
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Limits, Site, Stream
from gnarl.sw.runtime.sam.model.value_blocks import ValueBlocks

BLOCKS: dict[str, Callable[[Site, Inputs], Done]] = {
    name: getattr(module, name)
    for module in (accumulate, coordinates, join, lanes, lookup, values, write)
    for name in BLOCK_TYPES
    if hasattr(module, name)
}
"""What each type of block does with its input streams."""


Source: TypeAlias = tuple[str, str]
"""A stream, by its block and output."""


@dataclass
class ModelRun:
    """What a graph has done.

    tokens
        how many each stream has had.
    operations
        how many values each block that computes has given, or added to others.
    written
        uint32 [rows, words] by ``"{block}_{array}"``: as many as were written.
    counts
        by ``"{block}_{count}"``.
    """

    tokens: dict[Source, int] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    written: dict[str, np.ndarray] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def run_graph(
    graph: Graph,
    format: str,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[tuple[str, str], int],
    limits: Limits | None = None,
) -> ModelRun:
    """Runs ``graph`` on values of the number ``format``.

    ``arrays``: what was loaded, uint32 [rows, words] by ``"{block}_{array}"``; ``settings``: by
    block and setting. A stream is kept until its last reader is done. Raises ``ModelError`` that
    names the block at fault, and ``CapacityError`` for streams that need more memory than there is.
    O(tokens log tokens).
    """
    running = _Running(graph)
    blocks = ValueBlocks()
    for block in graph.topological():
        shapes = graph.shapes_into(block)
        running.do(Site(block, format, arrays, settings, limits or Limits(), shapes, blocks))
    return running.result


class _Running:
    """A run block by block. Blocks that read the same stream share what is found out about it."""

    def __init__(self, graph: Graph) -> None:
        self.result = ModelRun()
        self._drivers = graph.drivers
        self._streams: dict[Source, Stream] = {}
        self._readers = Counter({at: len(edges) for at, edges in graph.readers.items()})

    def do(self, site: Site) -> None:
        """What a block does, once those that it reads from have."""
        block, result = site.block, self.result
        sources = {
            name: (edge.source, edge.output)
            for name in block.inputs
            if (edge := self._drivers.get((block.name, name))) is not None
        }
        inputs = {name: self._streams[at] for name, at in sources.items()}
        site.require_room(sum(map(len, inputs.values())))
        done = BLOCKS[block.type](site, inputs)
        outputs = {output: Stream(tokens) for output, tokens in done.outputs.items()}
        result.written |= {f"{block.name}_{name}": words for name, words in done.written.items()}
        result.counts |= {f"{block.name}_{name}": count for name, count in done.counts.items()}
        if block.type in OPERATIONS:
            name = OPERATIONS[block.type]
            result.operations[block.name] = (inputs | outputs)[name].values
        for output, stream in outputs.items():
            result.tokens[block.name, output] = len(stream)
            if self._readers[block.name, output]:
                self._streams[block.name, output] = stream
        for at in sources.values():
            self._read(at)

    def _read(self, at: Source) -> None:
        """A reader of a stream is done."""
        self._readers[at] -= 1
        if not self._readers[at]:
            del self._streams[at]
