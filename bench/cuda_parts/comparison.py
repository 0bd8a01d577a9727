"""What tables and verdicts make of the records of ``bench.cuda_parts.measure``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bench.cuda_parts.field import require_gpu_of
from bench.cuda_parts.measure import ON_DEVICE, OURS, VARYING, Job, measure
from bench.cuda_parts.protocol import counts, newest
from bench.lib.jobs import Failure, run_jobs
from bench.lib.plots import bars, line_at
from bench.lib.records import Record, rows
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.summary import cell, cells, geometric_mean
from bench.lib.tables import Cells
from gnarl.sw.runtime.cuda.gpu.driver import ON_THE_CPU, GpuError
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

OnGpu = TypeVar("OnGpu")
Done = TypeVar("Done")

_MODEL_HEADER = {
    "batches": "batches",
    "samples": "samples",
    "bound_ms": "bound, ms",
    "without_cache_ms": "without caches, ms",
    "bandwidth": "copy, GB/s",
    "l2_bandwidth": "L2, GB/s",
    "empty_us": "empty kernel, µs",
}


def gpu_or_reason(request: Request, bench: str) -> GpuInfo | None:
    """The first GPU; without one says why a part is left out."""
    try:
        return require_gpu_of(0)
    except GpuError as error:
        reason = str(error).removesuffix(f": {ON_THE_CPU}")
        request.console.print(f"{bench}: left out: {reason}", style="yellow", soft_wrap=True)
        return None


def run_on_gpu(
    request: Request,
    bench: str,
    function: Callable[[OnGpu], Done],
    jobs_of: Callable[[Results, GpuInfo], Sequence[OnGpu]],
    *,
    fresh: bool = True,
) -> list[tuple[OnGpu, Done | Failure]] | None:
    """What ``function`` returns of each job, beside it; ``None`` where there is no GPU.

    ``jobs_of``: those that add to these results, on this GPU. ``fresh``: each in a process of its
    own, which leaves nothing on the GPU.
    """
    gpu = gpu_or_reason(request, bench)
    if gpu is None:
        return None
    options = request.options
    jobs = jobs_of(Results.begin(request.results, options["resume"], counts), gpu)
    done = run_jobs(
        function,
        jobs,
        title=bench,
        console=request.console,
        fresh=fresh,
        deadline=options["deadline"],
    )
    return list(zip(jobs, done, strict=True))


def run_comparison(
    request: Request, bench: str, jobs_of: Callable[[Results, GpuInfo], Sequence[Job]]
) -> tuple[list[Record], bool]:
    """Measures each job, see ``run_on_gpu``; whether all went well. Nothing where there is no
    GPU."""
    done = run_on_gpu(request, bench, measure, jobs_of)
    if done is None:
        return [], True
    well = True
    for job, measured in done:
        if isinstance(measured, Failure):
            well = False
            continue
        well = well and not measured.failed
        for style, kind, texts in (
            ("red", "failed", measured.failed),
            ("yellow", "left out", measured.left_out),
        ):
            for text in texts:
                line = f"{bench}: {job}: {kind}: {text}"
                request.console.print(line, style=style, soft_wrap=True)
    comparison = Comparison.of(results_of(request), bench).sorted([job for job, _ in done])
    exact = [row.get("bit_exact") for row in comparison.kernels.values()]
    return comparison.records, well and False not in exact


def results_of(request: Request) -> list[Record]:
    """What the part has measured so far."""
    return Results(request.results).load()


@dataclass(frozen=True)
class Comparison:
    """Records of a part.

    kernels
        values by (model, sizes, kernel).
    models
        by (model, sizes, origin of its schedules).
    """

    records: list[Record]
    kernels: dict[tuple[Any, ...], dict[str, Any]]
    models: dict[tuple[Any, ...], dict[str, Any]]

    @classmethod
    def of(cls, records: Iterable[Record], bench: str) -> Comparison:
        records = newest(list(records), ("model", "sizes"))
        return cls(
            records,
            rows(record for record in records if record.bench == bench),
            rows(record for record in records if record.bench == f"{bench}.models"),
        )

    def sorted(self, jobs: Sequence[Job]) -> Comparison:
        """Records in the order of jobs, whenever they were measured."""
        order = {tuple(job.labels.values()): at for at, job in enumerate(jobs)}

        def place(record: Record) -> int:
            return order.get((record.labels["model"], record.labels["sizes"]), -1)

        return replace(self, records=sorted(self.records, key=place))

    def speedups(self, kernel: str, sizes: str, model: str | None = None) -> list[float]:
        """Speed-ups of this project over a kernel, for each model or the named one."""
        return [
            row["speedup"]
            for (name, batches, found), row in self.kernels.items()
            if (batches, found) == (sizes, kernel) and model in (None, name)
        ]

    def mean(self, kernel: str, sizes: str, model: str | None = None) -> float | None:
        """Geometric, of ``speedups``."""
        found = self.speedups(kernel, sizes, model)
        return geometric_mean(found) if found else None

    def bit_exact(self) -> str:
        """A line of a verdict."""
        checked = [row["bit_exact"] for row in self.kernels.values()]
        checked = [each for each in checked if each is not None]
        return f"bit-exact: {sum(checked)} of {len(checked)} kernels"

    def table(self, kernels: Sequence[str]) -> Cells:
        """A row for each model and its batches: this project's kernel, then its speedup over each
        of the others."""
        known = {kernel for _, _, kernel in self.kernels}
        others = [kernel for kernel in kernels if kernel in known and kernel != OURS]
        body = []
        for model, sizes, _ in self.models:
            row = {kernel: self.kernels.get((model, sizes, kernel), {}) for kernel in known}
            ours = row.get(OURS, {})
            body.append(
                [
                    *cells(ours, (model, sizes), ("kernel_ms",)),
                    _percent(ours.get("of_bound")),
                    _percent(ours.get("mapping_share")),
                    _percent(row.get(ON_DEVICE, {}).get("mapping_share")),
                    *(cell(row[kernel].get("speedup")) for kernel in others),
                    cell(ours.get("clock_mhz"), 0),
                    cell(ours.get("bit_exact")),
                ]
            )
        header = ["model", "batches", "ms", "of the bound", "mapping", "on the GPU"]
        return Cells(
            [*header, *(f"× {name}" for name in others), "MHz", "bit-exact"], body, names=2
        )

    def speedup_table(self, kernels: Sequence[str]) -> Cells:
        """A table like ``table``, of times alone."""
        others = kernels[1:]
        body = []
        for model, sizes, _ in self.models:
            row = [self.kernels.get((model, sizes, kernel), {}) for kernel in kernels]
            ms, mhz = row[0].get("kernel_ms"), row[0].get("clock_mhz")
            speedups = (cell(each.get("speedup")) for each in row[1:])
            body.append([model, sizes, cell(ms), *speedups, cell(mhz, 0)])
        header = ["model", "batches", "ms", *(f"× {name}" for name in others), "MHz"]
        return Cells(header, body, names=2)

    def model_table(self) -> Cells:
        """A row for each model and its batches: what bounds it."""
        whole = ("batches", "samples")
        body = [
            cells({**row, **{name: int(row[name]) for name in whole}}, labels, _MODEL_HEADER)
            for labels, row in self.models.items()
        ]
        return Cells(["model", "sizes", "schedules", *_MODEL_HEADER.values()], body, names=3)

    def draw(self, axes: Any, kernels: Sequence[str], metric: str = "speedup") -> None:
        """Bars for each model with varying batches: times as multiples of this project's."""
        names = list(dict.fromkeys(model for model, _, _ in self.kernels))
        bars(
            axes,
            {
                kernel: [
                    self.kernels.get((name, VARYING, kernel), {}).get(metric, 0.0) for name in names
                ]
                for kernel in kernels
            },
        )
        line_at(axes, 1)
        axes.set_xticks(range(len(names)), names)
        axes.legend(frameon=False, fontsize=8)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
