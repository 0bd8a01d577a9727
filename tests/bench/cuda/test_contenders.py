"""Contenders of the CUDA benchmark, as far as a CPU can tell."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench.cuda_parts import cold_start, end_to_end, field, torch_contenders
from bench.cuda_parts.cold_start import ColdStart
from bench.cuda_parts.contenders import LeftOut, equal
from bench.cuda_parts.model_sources import (
    MLPERF_INDICES,
    MLPERF_ROWS,
    ManyFeatures,
    Mlperf,
    ModelFolder,
)
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.golden import embedding as golden
from gnarl.sw.runtime.cuda.gpu.driver import GpuError
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from tests.support.cuda.bench import write_model


def test_embedding_bags_of_pytorch_compute_the_same(monkeypatch: pytest.MonkeyPatch):
    """On the CPU: what is timed on a GPU."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch_contenders, "require_torch", lambda: torch)
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
    found = torch_contenders.embedding_bags(model, tables, "cpu")(batch)()
    assert equal([each.numpy() for each in found], golden.embedding_bags(model, tables, batch))


def test_what_embedding_bags_cannot_say_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_contenders, "require_torch", lambda: None)
    model = EmbeddingModel("m", (Feature("a", 10, 4, table_type="float16"),))
    with pytest.raises(LeftOut) as caught:
        torch_contenders.embedding_bags(model, [], "cpu")
    assert str(caught.value) == "feature a: embedding_bag keeps the tables' type"


def test_each_template_that_takes_all_features_has_a_uniform_choice():
    """Not those for short rows or small tables."""
    short, long = Feature("a", 500, 4), Feature("b", 500, 1024)
    config = CudaConfig()
    found = field.uniform_choices(EmbeddingModel("m", (short,)), config)
    assert [each.origin for each in found] == [f"uniform: {name}" for name in templates()]
    found = field.uniform_choices(EmbeddingModel("m", (short, long)), config)
    assert [{schedule.template for schedule in each.schedules} for each in found] == [
        {"pooled_bags"},
        {"short_bags"},
        {"block_samples"},
        {"reduce_by_key"},
        {"split_sample"},
        {"warp_per_sample"},
    ]


def test_whole_models_compute_the_same_whatever_their_embedding_layer(
    monkeypatch: pytest.MonkeyPatch,
):
    """On the CPU, where this project's operator is PyTorch's."""
    torch = pytest.importorskip("torch")
    for module in (end_to_end, torch_contenders):
        monkeypatch.setattr(module, "require_torch", lambda: torch)
    model = EmbeddingModel(
        "m",
        (
            Feature("a", 10, 4, factors=PoolingFactors(3, 2)),
            Feature("b", 20, 8, factors=PoolingFactors(2, coverage=0.5)),
        ),
    )
    tables = synthesise_tables(model, 2)
    batch = synthesise_batch(model, 23, 2)
    config = CudaConfig()
    found = [
        end_to_end.with_layers(make)(model, tables, "cpu")(batch)()
        for make in (
            torch_contenders.embedding_bags,
            end_to_end.fused_bags(choose_schedules(model, config), config),
        )
    ]
    assert found[0].shape == (23, end_to_end.LAYERS[-1])
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)
    other = synthesise_batch(model, 23, 3)
    layers = end_to_end.with_layers(torch_contenders.embedding_bags)
    assert not torch.equal(found[0], layers(model, tables, "cpu")(other)())


def test_without_a_gpu_pytorch_is_left_out():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("needs PyTorch without a GPU")
    with pytest.raises(LeftOut) as caught:
        torch_contenders.require_torch()
    assert str(caught.value) == f"PyTorch {torch.__version__} finds no GPU"


def test_features_over_and_over(tmp_path: Path):
    folder = write_model(tmp_path / "A")
    base = ModelFolder(folder).load().features
    source = ManyFeatures(folder, 12)
    model = source.load()
    assert (source.name, model.name) == ("12_features", "12_features")
    assert [each.name for each in model.features] == [f"f{at}" for at in range(12)]
    shapes = [(each.rows, each.dim, each.factors) for each in base]
    found = [(each.rows, each.dim, each.factors) for each in model.features]
    assert found == [*shapes, *shapes, *shapes[:2]]


def test_tables_of_mlperf_are_cut_off():
    features = Mlperf(2**30).load().features
    assert len(features) == len(MLPERF_ROWS) == len(MLPERF_INDICES) == 26
    assert (sum(MLPERF_ROWS), sum(MLPERF_INDICES)) == (204_184_588, 214)
    most = 156_250  # of 40,000,000 halves of halves
    assert [each.rows for each in features] == [min(rows, most) for rows in MLPERF_ROWS]
    assert 2**29 < sum(each.rows * each.row_bytes for each in features) <= 2**30
    assert {each.dim for each in features} == {128}
    batch = synthesise_batch(Mlperf(2**20).load(), 3)
    assert [len(each.indices) for each in batch.features] == [3 * each for each in MLPERF_INDICES]


# What every contender begins with.


class Recorder:
    """In place of probes, context and driver: what was asked for, in order."""

    def __init__(self, slow: dict[float, float]) -> None:
        self.asked: list[str] = []
        self._slow = slow

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, function: str) -> None:
        self.asked.append(function)

    def delay(self, stream: int, ms: float) -> None:
        self.asked.append(f"delay {ms:g}")
        self._wait = self._slow.get(ms, 0.0)

    def empty_caches(self, stream: int) -> None:
        self.asked.append("empty caches")

    def launch(self) -> None:
        time.sleep(self._wait)
        self.asked.append("launch")


def started(monkeypatch: pytest.MonkeyPatch, **slow: float) -> Recorder:
    recorder = Recorder({float(ms.removeprefix("ms")): 1e-3 * took for ms, took in slow.items()})
    monkeypatch.setattr(cold_start, "call", recorder.call)
    ColdStart(recorder, recorder).put(7, recorder.launch)  # type: ignore[arg-type]
    return recorder


def test_caches_are_emptied_when_all_has_arrived_and_while_the_host_launches(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(cold_start, "DELAYS", (1000.0,))
    assert started(monkeypatch).asked == [
        *("cuCtxSynchronize", "delay 1000", "empty caches", "launch"),
    ]


def test_a_launch_that_the_host_was_too_slow_for_is_repeated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cold_start, "DELAYS", (1.0, 1000.0))
    assert started(monkeypatch, ms1=3.0).asked == [
        *("cuCtxSynchronize", "delay 1", "empty caches", "launch"),
        *("cuCtxSynchronize", "delay 1000", "empty caches", "launch"),
    ]


def test_what_the_host_is_always_too_slow_for_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cold_start, "DELAYS", (1.0, 2.0))
    with pytest.raises(GpuError) as caught:
        started(monkeypatch, ms1=3.0, ms2=4.0)
    text = str(caught.value)
    assert text.startswith("launches took the host ")
    assert text.endswith(" ms: must be less than 2 ms to be timed without the host")
