"""Fused kernels of whole models, on every architecture that goals are set for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cuda_parts.models import models
from bench.cuda_static_parts.measure import METRICS, build, compiler
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cells, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_static.kernels"

CONFIGS = ("cuda_sm75", "cuda_sm80", "cuda_sm90", "cuda_sm100")

GENERATE_S = 2.0
COMPILE_S = 180.0
"""Goals: seconds at most."""

_METRICS = {"choose_s": Metric("s", "lower"), **METRICS}
"""``choose_s`` is for schedules by the cost model."""
_HEADER = {
    "choose_s": "choose, s",
    "generate_s": "generate, s",
    "compile_s": "compile, s",
    "source_bytes": "source, bytes",
    "codes": "codes",
    "registers": "registers",
    "spill_bytes": "spilled, bytes",
    "shared_bytes": "shared, bytes",
    "occupancy": "occupancy, %",
}


@dataclass(frozen=True)
class Job:
    """A model for a configuration."""

    path: Path
    config: str
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"model": self.path.stem, "arch": self.configuration().config.to_dict()["arch"]}

    def setting(self) -> Setting:
        return Setting.of(self.configuration(), self.seed)

    def configuration(self) -> NamedConfiguration:
        return load_configuration(self.config)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.config}"


def run(request: Request) -> tuple[list[Record], bool]:
    """Compiles every model for every configuration, one after the other."""
    configs = CONFIGS[1:2] if request.quick else CONFIGS
    jobs = [Job(path, config, request.seed) for path in models(request) for config in configs]
    return measure_all(
        BENCH, measure, jobs, _METRICS, console=request.console, also=compiler(), fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``_METRICS``."""
    model, config = load_model(job.path), job.configuration().config
    assert isinstance(config, CudaConfig)
    begin = time.perf_counter()
    schedules = choose_schedules(model, config)
    choose_s = time.perf_counter() - begin
    return {"choose_s": choose_s, **build(model, schedules)}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and architecture."""
    body = [cells(row, labels, _HEADER) for labels, row in rows(records).items()]
    return {"Fused kernels": Cells(["model", "architecture", *_HEADER.values()], body, names=2)}


def verdict(records: Sequence[Record]) -> str:
    """The slowest of each step, against its goal; what spills."""
    table = rows(records)
    lines = []
    for metric, what, limit in (
        ("generate_s", "source generated", GENERATE_S),
        ("compile_s", "source compiled", COMPILE_S),
    ):
        slowest = max(row[metric] for row in table.values())
        lines.append(
            f"{what} in at most {slowest:.3g} s, limit {limit:g} s {mark(slowest <= limit)}"
        )
    spilled = sum(row["spill_bytes"] > 0 for row in table.values())
    lines.append(f"kernels that spill registers: {spilled} of {len(table)}")
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds to compile, by model and architecture."""
    table = rows(records)
    names = list(dict.fromkeys(model for model, _ in table))
    archs = list(dict.fromkeys(arch for _, arch in table))
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            arch: [table.get((name, arch), {}).get("compile_s", 0.0) for name in names]
            for arch in archs
        },
    )
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="seconds to compile, nothing cached")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)
