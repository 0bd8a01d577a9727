"""What a run returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.program import Program, totals
from gnarl.sw.program.tensor_spec import Array, Labelled
from gnarl.sw.runtime.machine.machine import JobT, LaunchRun


@dataclass(frozen=True)
class Result(Generic[JobT]):
    """What a run returned.

    outputs
        arrays by name, in their own shape and type, see ``gnarl.sw.program.tensor_spec``.
    launches
        in the order in which they ran.
    """

    program: Program
    tensors: Mapping[str, Array]
    outputs: Mapping[str, Array]
    launches: tuple[LaunchRun[JobT], ...]

    @property
    def cycles(self) -> int | None:
        """Cycles of all launches; ``None`` where the machine does not count them."""
        counts = [run.finished.cycles for run in self.launches]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def counters(self) -> dict[str, int]:
        """The target's own, the sums of all launches'."""
        return totals(run.finished.counters for run in self.launches)

    def scalars(self) -> dict[str, float]:
        """Values of the outputs that go by names, see ``TensorSpec.scalars``."""
        by_name: dict[str, float] = {}
        for spec in self.program.outputs:
            array = self.outputs[spec.name]
            if not spec.scalars or not isinstance(array, np.ndarray):
                continue
            storage = spec.storage
            names = storage.labels.tolist() if isinstance(storage, Labelled) else [spec.name]
            values = as_float64(array).reshape(-1).tolist()
            by_name |= dict(zip(names, values, strict=True))
        return by_name
