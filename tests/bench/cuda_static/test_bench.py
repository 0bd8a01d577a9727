"""The benchmark of the CUDA target's compiler, on the example model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cuda_static import main
from bench.cuda_static_parts import (
    before,
    distinct,
    growth,
    instructions,
    kernels,
    loads,
    page,
    sass,
)
from bench.cuda_static_parts.measure import METRICS
from bench.lib.records import Setting, load, records
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.fusion import fuse
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

Run = Callable[..., Result]

pytestmark = pytest.mark.skipif(sass.nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")

SETTING = Setting("cuda_sm90", (), "", 0)


PARTS = ("kernels", "loads", "growth")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder, without the paper's models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNARL_WORKLOADS", "nowhere")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


@pytest.fixture
def compiled(bench: Run) -> None:
    """All parts on the example, in the folder of ``bench``."""
    options = ("--quick", "--models", "example", "-o", "build/bench", "--json", "all.json")
    done = bench(*PARTS, *options)
    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("compiled")
def test_the_example_is_compiled(bench: Run) -> None:
    values = {record.name: record.value for record in load(Path("all.json"))}
    name = "cuda_static.kernels/recommendation/sm_80"
    assert 0 < values[f"{name}/compile_s"] < kernels.COMPILE_S
    assert 0 < values[f"{name}/generate_s"] < kernels.GENERATE_S
    assert 16 <= values[f"{name}/registers"] <= 255
    assert 0 < values[f"{name}/occupancy"] <= 100
    assert values["cuda_static.growth/recommendation/4/codes"] == 4
    name = "cuda_static.loads/recommendation/sm_90"
    assert 0 <= values[f"{name}/split_codes"] <= values[f"{name}/codes"]
    assert 1 <= values[f"{name}/in_flight"]
    assert 1 <= values[f"{name}/waits"] < values[f"{name}/before_first"]
    assert values[f"{name}/loaded_bytes"] > 0
    for part in PARTS:
        picture = Path(f"build/bench/cuda_static_{part}.png")
        assert picture.read_bytes().startswith(b"\x89PNG")
    assert {"nvrtc", "python"} <= set(load(Path("all.json"))[0].tools)

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert bench("page").exit_code == 0
    text = Path("docs/results/cuda_static.md").read_text()
    assert page.INTROS["kernels"].text in text
    assert "| recommendation | sm_80 | " in text


def test_verdict_of_kernels() -> None:
    found = []
    for arch, seconds, spill in (("sm_80", 12.5, 0), ("sm_90", 190.0, 8)):
        values = {"generate_s": 0.02, "compile_s": seconds, "spill_bytes": spill}
        labels = {"model": "A", "arch": arch}
        found += records(kernels.BENCH, labels, values, METRICS, SETTING)
    assert kernels.verdict(found).splitlines() == [
        "source generated in at most 0.02 s, limit 2 s ✔",
        "source compiled in at most 190 s, limit 180 s ✘",
        "kernels that spill registers: 1 of 2",
    ]


def test_what_was_before_stands_beside_what_is() -> None:
    was = before.BEFORE["E/sm_90"]
    assert (was["codes"], was["split_codes"], was["waits"]) == (4, 3, 4)
    now = {**was, "split_codes": 0, "waits": 3, "loaded_bytes": was["loaded_bytes"] / 2}
    labels = {"model": "E", "arch": "sm_90"}
    found = records(loads.BENCH, labels, now, loads.METRICS, SETTING)
    (table,) = loads.tables(found).values()
    assert table.body[0][:5] == ["E", "sm_90", "4", "3 → 0", "5.0"]
    assert loads.verdict(found).splitlines() == [
        "codes whose rounds have all rows in flight: 4 of 4 (before: 1 of 4)",
        "waits for memory before the first row: at most 3 (before: 4)",
        "instructions before the first row: 1.00 times those before",
        "bytes loaded: 0.50 times those before",
    ]

    found = records(loads.BENCH, {**labels, "model": "mine"}, now, loads.METRICS, SETTING)
    (table,) = loads.tables(found).values()
    assert table.body[0][:5] == ["mine", "sm_90", "4", "0", "5.0"]
    assert loads.verdict(found).splitlines() == [
        "codes whose rounds have all rows in flight: 4 of 4",
        "waits for memory before the first row: at most 3",
    ]


def test_verdict_of_growth() -> None:
    found = []
    for codes in growth.CODES:
        values = {"codes": codes, "compile_s": 0.01 * codes**1.5}
        found += records(growth.BENCH, {"model": "A", "codes": codes}, values, METRICS, SETTING)
    assert growth.verdict(found) == (
        "seconds to compile grow as codes^1.50: 180 s are enough for about 687 codes"
    )
    assert growth.verdict(found[:4]) == "50 codes compiled in 3.54 s"


def test_random_schedules_are_all_different_codes_and_by_seed() -> None:
    model = EmbeddingModel(
        "m", tuple(Feature(f"f{at}", 10 + at, (4, 8, 32)[at % 3]) for at in range(9))
    )
    made = [growth.random_schedules(model, CudaConfig(), 40, seed) for seed in (0, 0, 1)]
    assert made[0] == made[1] != made[2]
    assert fuse(*made[0]).code_of_feature == tuple(range(40))


def test_verdict_of_instructions() -> None:
    was = before.INSTRUCTIONS["D"]
    assert (was["executed"], was["first_waits"]) == (32_283_626, 4)
    now = {**was, "executed": 13_000_000, "useful": 85.0, "later_waits": 0, "path_kb": 4.1}
    labels = {"model": "D", "samples": instructions.SAMPLES}
    found = records(instructions.BENCH, labels, now, instructions.METRICS, SETTING)
    (table,) = instructions.tables(found).values()
    assert table.body[0][:4] == ["D", "512", "32.3 → 13.0", "652,041"]
    assert instructions.verdict(found).splitlines() == [
        "D: warp instructions: 13 M, goal 14 M ✔",
        "instructions of a full round of 8 loads: at most 143 (D), goal 64 ✘",
        "lanes with useful bytes: at least 85 % (D), goal 85 % ✔",
        "waits before a task's first row, first task: at most 4 (D), goal 3 ✘",
        "later tasks: at most 0 (D), goal 0 ✔",
        "in flight on a multiprocessor, one-hot: at least 41 KB (D), goal 40 KB ✔",
        "multi-hot: at least 62.6 KB (D), goal 64 KB ✘",
        "kernel text: at most 35.3 KB (D), goal 32 KB ✘",
        "on one task's path: at most 4.1 KB (D), goal 4 KB ✘",
        "spilled: at most 0 bytes (D), goal 0 bytes ✔",
        "compiled in: at most 0.82 s (D), goal 2 s ✔",
    ]


def test_verdict_of_different_features() -> None:
    values = {"gnarl_s": 2.5, "emulation_s": 31.0, "codes": 1000, "source_bytes": 1}
    found = records(distinct.BENCH, {"features": 1000}, values, distinct.METRICS, SETTING)
    assert distinct.verdict(found).splitlines() == [
        "1,000 different features, Gnarl's compiler: 2.5 s, goal below 3 s ✔",
        "1,000 different features, NVRTC: no end in 100 s, goal below 30 s ✘",
        "1,000 different features, the emulation's build: 31 s, goal below 30 s ✘",
    ]
    (table,) = distinct.tables(found).values()
    assert table.body == [["1000", "1,000", "1", "2.5 s", "no end in 100 s", "31 s"]]


def test_different_features_are_all_different() -> None:
    model = distinct.distinct_features(1000, 0)
    assert len({feature.kind for feature in model.features}) == 1000
    assert len({feature.rows for feature in model.features}) == 1000
