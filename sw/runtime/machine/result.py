"""What a run returned."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np

from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.display import html_table, tensor_text, tensors_text
from gnarl.sw.program.program import Program, totals
from gnarl.sw.program.tensor_spec import Array, Labelled, TensorSpec
from gnarl.sw.runtime.machine.machine import JobT, LaunchRun

_COUNTERS = 12
"""At most this many counters in a table."""

_VALUES = 4
"""At most this many values of an output in a table."""


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        cycles = "" if self.cycles is None else f", {self.cycles:,} cycles"
        return (
            f"<Result of {self.program.workload!r} on {self.program.target}{cycles}: "
            f"{tensors_text(self.program.outputs)}>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks, with the largest of the counters."""
        counted = [(count, name.replace("_", " ")) for name, count in self.counters.items()]
        largest = heapq.nlargest(_COUNTERS, [pair for pair in counted if pair[0]])
        rows = [
            ("target", self.program.target),
            *([] if self.cycles is None else [("cycles", f"{self.cycles:,}")]),
            *((spec.name, _shown(spec, self.outputs[spec.name])) for spec in self.program.outputs),
            *((name, f"{count:,}") for count, name in largest),
        ]
        return html_table(f"result of {self.program.workload}", rows)

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


def _shown(spec: TensorSpec, array: Array) -> str:
    """An output with its shape in this run, and its first values."""
    of_run = tensor_text(TensorSpec(spec.name, tuple(array.shape), spec.type))
    values = array if isinstance(array, np.ndarray) else array.values
    first = as_float64(values.reshape(-1)[:_VALUES]).tolist()
    listed = ", ".join([*map("{:g}".format, first), *["…"][: values.size > _VALUES]])
    entries = "" if isinstance(array, np.ndarray) else f", {len(values):,} entries"
    return f"{of_run.removeprefix(spec.name).strip()}{entries}: {listed}"
