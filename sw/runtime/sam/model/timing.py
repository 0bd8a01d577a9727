"""When tokens move, where no queue is ever full.

Each block makes its steps one after the other, at most one a cycle, and each as soon as the tokens
that it needs have come. What is left out: back pressure, skipping, and arbiters of memories. With
them a run takes longer, or, with skipping, less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.blocks.values.function_block import FunctionBlock
from gnarl.hw.sam.blocks.values.interleaved_sums import InterleavedSums
from gnarl.hw.sam.blocks.values.sparse_accumulator import SparseAccumulator
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.runtime.sam.model.tokens import Steps


@dataclass(frozen=True)
class Timing:
    """Cycles of blocks by name.

    latencies
        from a step to its tokens, 0 for blocks left out.
    turns
        how many fibers are at work at a time, in blocks whose fibers take turns.
    streams
        from the cycle in which a token is given to that in which its reader sees it.
    """

    latencies: Mapping[str, int] = field(default_factory=dict)
    turns: Mapping[str, int] = field(default_factory=dict)
    streams: int = 1


def timing(graph: Graph, config: SamConfig) -> Timing:
    """What the hardware of ``graph`` takes."""
    return Timing(
        {block.name: _latency(block, config) for block in graph.blocks},
        {block.name: config.alu_stages for block in graph.blocks if block.type == "reduce"},
        config.stream_latency,
    )


def _latency(block: Block, config: SamConfig) -> int:
    memory = config.memory_latency if config.memory == "shared" else config.local_latency
    match block.type:
        case "fiberlookup":
            # Segments, then coordinates.
            return 0 if block["format"] == DENSE else 2 * memory
        case "bitvectorlookup" | "arrayvals":
            return memory
        case "alu":
            return config.alu_stages
        case "function":
            return FunctionBlock.latency(block["op"])
        case "spaccumulator":
            # With order 2, sums have a step of their own, after that of the stop they wait for.
            latency = SparseAccumulator.latency(config.accumulator_words, config.alu_stages)
            return latency - (block["order"] == 2)
        case "reduce":
            stages = config.alu_stages
            return 0 if stages == 1 else InterleavedSums.latency(stages)
    return 0


def step_times(steps: Steps, arrivals: Mapping[str, np.ndarray]) -> np.ndarray:
    """The cycle of each step, int64 [count], from the cycles in which input tokens arrive."""
    number = np.arange(steps.count)
    earliest = np.zeros(steps.count, np.int64)
    for name, arrived in arrivals.items():
        places = steps.needs.get(name)
        np.maximum(earliest, arrived if places is None else arrived[places], out=earliest)
    earliest -= number
    np.maximum.accumulate(earliest, out=earliest)
    earliest += number
    return earliest


def turn_times(steps: Steps, times: np.ndarray, turns: int) -> np.ndarray:
    """The cycle of each step where ``turns`` fibers are at work at a time, from ``step_times``.

    A fiber makes a step in ``turns`` cycles, and every ``turns``-th fiber waits for the one before.
    """
    if turns == 1:
        return times
    delayed = times.copy()
    for turn in range(turns):
        own = np.flatnonzero((steps.fibers >= 0) & (steps.fibers % turns == turn))
        number = turns * np.arange(len(own))
        delayed[own] = np.maximum.accumulate(times[own] - number) + number
    return delayed


def token_times(steps: Steps, times: np.ndarray, output: str, delay: int) -> np.ndarray:
    """The cycle in which each token of an output is given, one after the other."""
    places = steps.gives.get(output)
    given = times if places is None else times[places]
    number = np.arange(len(given))
    given = given - number
    np.maximum.accumulate(given, out=given)
    given += number
    given += delay
    return given
