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
from gnarl.hw.sam.graph import Block, Graph
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
from gnarl.sw.runtime.sam.model.timing import Timing, step_times, token_times, turn_times
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Limits, Site, Stream

BLOCKS: dict[str, Callable[[Site, Inputs], Done]] = {
    name: getattr(module, name)
    for module in (accumulate, coordinates, join, lanes, lookup, values, write)
    for name in BLOCK_TYPES
    if hasattr(module, name)
}
"""What each type of block does with its input streams."""


Source: TypeAlias = tuple[str, str]
"""A stream, by its block and output."""

Watch: TypeAlias = Callable[[Source, Stream, np.ndarray], None]
"""What is called once for each stream, with the cycle, int64, in which each of its tokens is
given."""


@dataclass
class ModelRun:
    """What a graph has done.

    tokens
        how many each stream has had.
    operations
        how many values each block that computes has given, or added to others.
    written
        uint32 words by ``"{block}_{array}"``: as many as were written.
    counts
        by ``"{block}_{count}"``.
    cycles
        from the cycle in which the root's reference is given to the one in which the last block
        without outputs takes its last token; see ``gnarl.sw.runtime.sam.model.timing``.
    """

    tokens: dict[Source, int] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    written: dict[str, np.ndarray] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    cycles: int = 0


def run_graph(
    graph: Graph,
    format: str,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[tuple[str, str], int],
    limits: Limits | None = None,
    timing: Timing | None = None,
    watch: Watch | None = None,
) -> ModelRun:
    """Runs ``graph`` on values of the number ``format``.

    ``arrays``: what was loaded, uint32 [rows, words] by ``"{block}_{array}"``; ``settings``: by
    block and setting; ``timing``: what blocks take beyond a cycle a step. A stream is kept until
    its last reader is done. Raises ``ModelError`` that names the block at fault, and
    ``CapacityError`` for streams that need more memory than there is. O(tokens log tokens).
    """
    running = _Running(graph, timing or Timing(), watch)
    for block in graph.topological():
        running.do(Site(block, format, arrays, settings, limits or Limits()))
    return running.result


class _Running:
    """A run block by block. Blocks that read the same stream share what is found out about it."""

    def __init__(self, graph: Graph, timing: Timing, watch: Watch | None) -> None:
        self.result = ModelRun()
        self._drivers, self._timing, self._watch = graph.drivers, timing, watch
        self._streams: dict[Source, Stream] = {}
        self._times: dict[Source, np.ndarray] = {}
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
        self._time(block, done, sources, outputs)
        for at in sources.values():
            self._read(at)

    def _time(
        self, block: Block, done: Done, sources: Mapping[str, Source], outputs: Mapping[str, Stream]
    ) -> None:
        """When the block does it."""
        timing, name = self._timing, block.name
        steps = step_times(done.steps, {each: self._times[at] for each, at in sources.items()})
        if sources:
            steps += timing.streams
        steps = turn_times(done.steps, steps, timing.turns.get(name, 1))
        if not block.outputs:
            self.result.cycles = max(self.result.cycles, int(steps[-1]) + 1)
        for output, stream in outputs.items():
            at = name, output
            self.result.tokens[at] = len(stream)
            times = token_times(done.steps, steps, output, timing.latencies.get(name, 0))
            if self._watch is not None:
                self._watch(at, stream, times)
            if self._readers[at]:
                self._streams[at], self._times[at] = stream, times

    def _read(self, at: Source) -> None:
        """A reader of a stream is done."""
        self._readers[at] -= 1
        if not self._readers[at]:
            del self._streams[at], self._times[at]
