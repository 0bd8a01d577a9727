"""What a model costs to compile whose features are all different: each has a kind of its own."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cuda_static_parts.measure import compiler
from bench.lib.measurements import measure_all
from bench.lib.plots import save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, EmulationError
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import (
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS

BENCH = "cuda_static.distinct"

CONFIG = "cuda_sm90"
FEATURES = 1000
_QUICK_FEATURES = 3
LIMIT_S = 100.0
"""Seconds of one core after which a compiler is ended."""

GOALS_S = {"gnarl_s": 3.0, "nvrtc_s": 30.0, "emulation_s": 30.0}
"""Seconds at most."""

_WHAT = {"gnarl_s": "Gnarl's compiler", "nvrtc_s": "NVRTC", "emulation_s": "the emulation's build"}
METRICS = {
    **dict.fromkeys(GOALS_S, Metric("s", "lower")),
    "codes": Metric("", "none"),
    "source_bytes": Metric("bytes", "none"),
}
"""Seconds of one core, with nothing cached; absent where ``LIMIT_S`` were not enough."""
_HEADER = {"codes": "codes", "source_bytes": "source, bytes"}

_STEP = "from bench.cuda_static_parts.distinct import step; step({!r}, {!r}, {!r})"


@dataclass(frozen=True)
class Job:
    """So many features."""

    features: int
    seed: int

    @property
    def labels(self) -> dict[str, int]:
        return {"features": self.features}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.features} different features"


def run(request: Request) -> tuple[list[Record], bool]:
    """Compiles one model."""
    jobs = [Job(_QUICK_FEATURES if request.quick else FEATURES, request.seed)]
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, also=compiler(), fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``METRICS``."""
    config = load_configuration(CONFIG).config
    assert isinstance(config, CudaConfig)
    model = distinct_features(job.features, job.seed)
    begin = time.process_time()
    program = build_program(model, choose_schedules(model, config))
    values: dict[str, float] = {"gnarl_s": time.process_time() - begin}
    for metric in ("nvrtc_s", "emulation_s"):
        if (seconds := _seconds(metric, program)) is not None:
            values[metric] = seconds
    return {
        **values,
        "codes": max(program.kernel.code_of_feature) + 1,
        "source_bytes": len(program.kernel.source.encode()),
    }


def distinct_features(number: int, seed: int) -> EmbeddingModel:
    """A model of features with different kinds, numbers of rows and pooling factors."""
    random_ = random.Random(seed)
    poolings = (("sum", False), ("sum", True), ("mean", False), ("mean", True), ("max", False))
    kinds = product(range(4, 260, 4), (*TABLE_TYPES, *ROWWISE_FORMATS), TABLE_TYPES, poolings)
    features = []
    for at, (dim, table_type, output_type, (pooling, weighted)) in enumerate(
        random_.sample([*kinds], number)
    ):
        mean = random_.choice((1, random_.randint(2, 200)))
        std = 0 if mean == 1 else random_.randint(1, 40)
        features.append(
            Feature(
                f"f{at}",
                rows=100 + 37 * at,
                dim=dim,
                pooling=pooling,
                table_type=table_type,
                output_type=output_type,
                weighted=weighted,
                factors=PoolingFactors(mean, std, coverage=random_.uniform(0.2, 1.0)),
            )
        )
    return EmbeddingModel("distinct", tuple(features))


def step(metric: str, file: str, arch: str) -> None:
    """Compiles a source in a process of its own, and prints the seconds of processors."""
    limit = int(LIMIT_S)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # of each process that it starts, too
    source = Path(file).read_text(encoding="utf-8")
    before = _processor_s()
    if metric == "nvrtc_s":
        compile_kernel(source, arch, include=[INCLUDE])
    else:
        with suppress(EmulationError):  # the compiler's own process is ended
            EmulatedKernels(source, [INCLUDE], {"GNARL_CHECKED": "1"})
    print(_processor_s() - before)


def _processor_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _seconds(metric: str, program: EmbeddingProgram) -> float | None:
    """Seconds of ``step`` with nothing cached; ``None`` where they are more than ``LIMIT_S``."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cu")
        file.write_text(program.kernel.source, encoding="utf-8")
        script = _STEP.format(metric, str(file), program.schedules.arch)
        environment = {
            **os.environ,
            "GNARL_CACHE": folder,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    done.check_returncode()
    seconds = float(done.stdout)
    return seconds if seconds < LIMIT_S - 1 else None


def _text(seconds: float | None) -> str:
    return f"no end in {LIMIT_S:g} s" if seconds is None else f"{seconds:.3g} s"


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for the model."""
    body = [
        [
            *map(str, labels),
            *(cell(row[metric]) for metric in _HEADER),
            *(_text(row.get(metric)) for metric in GOALS_S),
        ]
        for labels, row in rows(records).items()
    ]
    return {"Different features": Cells(["features", *_HEADER.values(), *_WHAT.values()], body)}


def verdict(records: Sequence[Record]) -> str:
    """Each step against its goal."""
    lines = []
    for (features,), row in rows(records).items():
        for metric, goal in GOALS_S.items():
            seconds = row.get(metric)
            good = seconds is not None and seconds < goal
            lines.append(
                f"{features:,} different features, {_WHAT[metric]}: {_text(seconds)}, "
                f"goal below {goal:g} s {mark(good)}"
            )
    return "\n".join(lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Seconds of each step, and the goals."""
    (row,) = rows(records).values()
    figure, (axes,) = subplots(1, (6, 4.2))
    axes.bar(range(len(GOALS_S)), [row.get(metric, LIMIT_S) for metric in GOALS_S])
    axes.plot(range(len(GOALS_S)), list(GOALS_S.values()), "k_", markersize=30)
    axes.set_xticks(range(len(GOALS_S)), list(_WHAT.values()))
    axes.set(ylabel=f"seconds, at most {LIMIT_S:g}; lines are goals")
    save(figure, path)
