"""SAM graphs on whole streams: one function a type of block, arrays of tokens in and out.

Every rule of the hardware is checked: operands that must agree, addresses, capacities. What comes
out of lookups is more than in hardware where intersections tell them what to skip; results are the
same. Source: Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.hw.sam.graph import Graph
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


@dataclass(frozen=True)
class ModelRun:
    """What a graph has done.

    streams
        int64 tokens by block and output.
    written
        uint32 words by ``"{block}_{array}"``: as many as were written.
    counts
        by ``"{block}_{count}"``.
    times
        int64, the cycle in which each of these tokens is given.
    cycles
        from the cycle in which the root's reference is given to the one in which the last block
        without outputs takes its last token; see ``gnarl.sw.runtime.sam.model.timing``.
    """

    streams: dict[tuple[str, str], np.ndarray]
    written: dict[str, np.ndarray]
    counts: dict[str, int]
    times: dict[tuple[str, str], np.ndarray]
    cycles: int


def run_graph(
    graph: Graph,
    format: str,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[tuple[str, str], int],
    limits: Limits | None = None,
    timing: Timing | None = None,
) -> ModelRun:
    """Runs ``graph`` on values of the number ``format``.

    ``arrays``: what was loaded, uint32 [rows, words] by ``"{block}_{array}"``; ``settings``: by
    block and setting; ``timing``: what blocks take beyond a cycle a step. Raises ``ModelError``
    that names the block at fault, and ``CapacityError`` for streams too long to keep. O(tokens log
    tokens).
    """
    timing = timing or Timing()
    # Blocks that read the same stream share what is found out about it.
    streams: dict[tuple[str, str], Stream] = {}
    times: dict[tuple[str, str], np.ndarray] = {}
    written: dict[str, np.ndarray] = {}
    counts: dict[str, int] = {}
    cycles = 0
    for block in graph.topological():
        sources = {
            name: (edge.source, edge.output)
            for name in block.inputs
            if (edge := graph.drivers.get((block.name, name))) is not None
        }
        site = Site(block, format, arrays, settings, limits or Limits())
        done = BLOCKS[block.type](site, {name: streams[at] for name, at in sources.items()})
        arrivals = {name: times[at] + timing.streams for name, at in sources.items()}
        steps = step_times(done.steps, arrivals)
        steps = turn_times(done.steps, steps, timing.turns.get(block.name, 1))
        for output, tokens in done.outputs.items():
            at = block.name, output
            streams[at] = Stream(tokens)
            times[at] = token_times(done.steps, steps, output, timing.latencies.get(block.name, 0))
        written |= {f"{block.name}_{name}": words for name, words in done.written.items()}
        counts |= {f"{block.name}_{name}": count for name, count in done.counts.items()}
        if not block.outputs:
            cycles = max(cycles, int(steps[-1]) + 1)
    tokens_of = {at: stream.tokens for at, stream in streams.items()}
    return ModelRun(tokens_of, written, counts, times, cycles)
