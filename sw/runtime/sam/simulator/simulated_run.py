"""What a simulated machine has done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnarl.sw.program.rows import Samples


@dataclass(frozen=True)
class SimulatedRun:
    """What a machine has done.

    cycles
        from the one in which the roots give their reference to the one in which the last writer
        takes the end of its stream.
    written, counts
        as those of ``gnarl.sw.runtime.sam.model.streams.ModelRun``.
    counters
        tokens, operations, reads and stalls, by the names of ``gnarl.hw.sam.memory_map``.
    samples
        these counters in the course of the run; ``None`` if they were not asked for.
    """

    cycles: int
    written: dict[str, np.ndarray]
    counts: dict[str, int]
    counters: dict[str, int]
    samples: Samples | None = None
