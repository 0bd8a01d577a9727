"""What a run returned."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.display import html_table, tensor_text, tensors_text
from gnarl.sw.program.program import Program, totals
from gnarl.sw.program.tensor_spec import Array, Labelled, TensorSpec
from gnarl.sw.runtime.machine.machine import JobT, LaunchRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Plotter: TypeAlias = "Callable[[Result[Any], Axes | None], Figure]"

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
    plotter
        what ``plot`` calls.
    """

    program: Program
    tensors: Mapping[str, Array]
    outputs: Mapping[str, Array]
    launches: tuple[LaunchRun[JobT], ...]
    plotter: Plotter | None = field(default=None, compare=False)

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

    def plot(self, axes: Axes | None = None) -> Figure:
        """The run's timeline as a figure of Matplotlib, as ``gnarl run --timeline`` draws it.

        axes
            where to draw the share of units that are busy, or for ``cuda`` what tasks look up, and
            no more; their figure is returned. By default a new figure, with the kinds of
            instructions, too.

        Of SAM and the TMU on RTL it draws what the machine did if ``Device.run`` was called with
        ``sampled=True``, else what their models do, and says so.

        Raises ``WorkloadError`` for a result that cannot be drawn.
        """
        if self.plotter is None:
            raise WorkloadError(
                f"plot: this result of {self.program.workload} is not what Device.run returned: "
                "cannot be drawn"
            )
        return self.plotter(self, axes)

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
