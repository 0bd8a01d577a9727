"""When tokens move, where no queue is ever full.

Each block makes its steps one after the other, at most one a cycle, and each as soon as the tokens
that it needs have come. What is left out: back pressure, skipping, and arbiters of memories. With
them a run takes longer, or, with skipping, less.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.sam.block_types import DENSE
from hw.sam.graph import Block
from sw.runtime.model.sam_tokens import Steps

QUEUE_CYCLES = 1
"""From the cycle in which a token is given to that in which its reader sees it."""

_MEMORY_CYCLES = 1
"""From a request to the data, with a memory for each array."""


def latency(block: Block, alu_stages: int = 1) -> int:
    """Cycles from a step of a block to its tokens, beyond those of queues."""
    match block.type:
        case "fiberlookup":
            # Segments, then coordinates.
            return 0 if block["format"] == DENSE else 2 * _MEMORY_CYCLES
        case "bitvectorlookup" | "arrayvals":
            return _MEMORY_CYCLES
        case "alu":
            return alu_stages
    return 0


def step_times(steps: Steps, arrivals: Mapping[str, np.ndarray]) -> np.ndarray:
    """The cycle of each step, int64 [count], from the cycles in which input tokens arrive."""
    number = np.arange(steps.count)
    earliest = np.zeros(steps.count, np.int64)
    for name, places in steps.needs.items():
        arrived = arrivals[name] if places is None else arrivals[name][places]
        np.maximum(earliest, arrived, out=earliest)
    return np.maximum.accumulate(earliest - number) + number


def token_times(steps: Steps, times: np.ndarray, output: str, delay: int) -> np.ndarray:
    """The cycle in which each token of an output is given."""
    places = steps.gives[output]
    return (times if places is None else times[places]) + delay
