"""How PyTorch's contenders are launched, and TorchRec's kernel called: with stand-ins for both."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bench.cuda_parts import field, torch_contenders
from bench.cuda_parts.contenders import LeftOut, equal
from bench.cuda_parts.torch_contenders import TorchContender
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.golden import embedding as golden
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, PoolingFactors

BATCH = Batch(0, [])


class Torch:
    """In place of ``torch``, and of a cold start: what was asked for, in order."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cuda = self

    def CUDAGraph(self) -> Any:  # noqa: N802
        return SimpleNamespace(replay=lambda: self.asked.append("replay"))

    def Event(self, enable_timing: bool) -> Any:  # noqa: N802
        return SimpleNamespace(
            record=lambda: self.asked.append("event"),
            synchronize=lambda: None,
            elapsed_time=lambda end: 1.5,
        )

    def current_stream(self) -> Any:
        return SimpleNamespace(cuda_stream=7)

    @contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        self.asked.append("capture")
        yield
        self.asked.append("captured")

    @contextmanager
    def no_grad(self) -> Iterator[None]:
        yield

    def prepare(self, batch: Batch) -> Callable[[], None]:
        self.asked.append("inputs")
        return lambda: self.asked.append("kernels")

    def put(self, stream: int, launch: Callable[[], None]) -> None:
        self.asked.append(f"cold start of stream {stream}")
        launch()


@pytest.mark.parametrize("replayed", [True, False])
def test_only_kernels_stand_between_events(monkeypatch: pytest.MonkeyPatch, replayed: bool):
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    contender = TorchContender(torch.prepare, torch, replayed)  # type: ignore[arg-type]
    assert contender.time(BATCH) == 1.5
    start = "cold start of stream 7"
    assert torch.asked == (
        ["inputs", "kernels", "capture", "kernels", "captured", start, "event", "replay", "event"]
        if replayed
        else ["inputs", start, "event", "kernels", "event"]
    )


def field_with(
    monkeypatch: pytest.MonkeyPatch, time: Callable[[TorchContender, Batch], float]
) -> field.Field:
    """Whose contenders are timed by a function."""
    made: Any = object.__new__(field.Field)
    made.__dict__ |= {"model": None, "tables": [], "cold": None, "_device": 0}
    made.__dict__ |= {"batches": [(BATCH, None)]}
    monkeypatch.setattr(TorchContender, "time", time)
    return made


def test_what_cannot_be_recorded_is_launched(monkeypatch: pytest.MonkeyPatch):
    def time(contender: TorchContender, batch: Batch) -> float:
        if contender.replayed:
            raise RuntimeError("operation not permitted when stream is capturing\nand more")
        return 1.0

    made = field_with(monkeypatch, time)
    assert made.torch(lambda *_: lambda batch: lambda: None).replayed is False


def test_what_ails_others_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch):
    def time(contender: TorchContender, batch: Batch) -> float:
        raise RuntimeError("out of memory\nand more")

    def refuse(*_: Any) -> Any:
        raise ValueError("no such option")

    made = field_with(monkeypatch, time)
    for make, text in (
        (lambda *_: lambda batch: lambda: None, "out of memory"),
        (refuse, "no such option"),
    ):
        with pytest.raises(LeftOut, match=f"^{text}$"):
            made.foreign(make)
        with pytest.raises(GnarlError, match=f"^{text}$") as caught:
            made.torch(make)
        assert not isinstance(caught.value, LeftOut)


class Fbgemm:
    """Does as ``SplitTableBatchedEmbeddingBagsCodegen`` with sums, on the CPU."""

    def __init__(
        self,
        tables: list[tuple[int, int, str, str]],
        embedding_table_index_type: Any = None,
        **options: Any,
    ) -> None:
        import torch

        assert embedding_table_index_type == torch.int32
        assert "embedding_table_offset_type" not in options
        self.weights = [torch.zeros(rows, dim) for rows, dim, *_ in tables]

    def split_embedding_weights(self) -> list[Any]:
        return self.weights

    def __call__(self, indices: Any, offsets: Any) -> Any:
        import torch

        assert indices.dtype == offsets.dtype == torch.int32
        size = (len(offsets) - 1) // len(self.weights)
        parts = []
        for at, table in enumerate(self.weights):
            bounds = offsets[at * size : (at + 1) * size + 1]
            bags = torch.nn.functional.embedding_bag(
                indices[bounds[0] : bounds[-1]],
                table,
                bounds - bounds[0],
                mode="sum",
                include_last_offset=True,
            )
            parts.append(bags)
        return torch.cat(parts, dim=1)


@pytest.fixture
def fbgemm(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch_contenders, "require_torch", lambda: torch)
    names = SimpleNamespace(EXACT_SGD="", NONE="", DEVICE="", SUM="", CUDA="")
    common = "fbgemm_gpu.split_table_batched_embeddings_ops"
    for name, found in (
        ("fbgemm_gpu", {}),
        ("fbgemm_gpu.split_embedding_configs", {"EmbOptimType": names}),
        (
            f"{common}_common",
            dict.fromkeys(("BoundsCheckMode", "EmbeddingLocation", "PoolingMode"), names),
        ),
        (
            f"{common}_training",
            {"ComputeDevice": names, "SplitTableBatchedEmbeddingBagsCodegen": Fbgemm},
        ),
    ):
        module = ModuleType(name)
        vars(module).update(found)
        monkeypatch.setitem(sys.modules, name, module)


def test_torchrec_computes_the_same(fbgemm: None):
    features = (
        Feature("a", 10, 4, factors=PoolingFactors(3, 2)),
        Feature("b", 20, 8, factors=PoolingFactors(2, coverage=0.5)),
    )
    model = EmbeddingModel("m", features)
    tables = synthesise_tables(model, 2)
    batch = synthesise_batch(model, 23, 2)
    found = torch_contenders.torchrec(model, tables, "cpu")(batch)().split([4, 8], dim=1)
    wanted = golden.embedding_bags(model, tables, batch)
    assert equal([each.detach().numpy() for each in found], wanted)


@pytest.mark.parametrize(
    "changed",
    [{"pooling": "mean"}, {"weighted": True}, {"output_type": "float16"}, {"dim": 6}],
)
def test_what_torchrec_is_not_measured_of(fbgemm: None, changed: dict[str, Any]):
    fields: dict[str, Any] = {"name": "a", "rows": 9, "dim": 8} | changed
    with pytest.raises(LeftOut) as caught:
        torch_contenders.torchrec(EmbeddingModel("m", (Feature(**fields),)), [], "cpu")
    assert str(caught.value).startswith("feature a: measured of sums in float32")
