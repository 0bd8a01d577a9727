"""The modules against CPU builds of TorchRec and FBGEMM themselves, where these are installed."""

from __future__ import annotations

import copy
import sys
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD, RowWiseAdagrad  # noqa: E402
from gnarl.sw.runtime.cuda.torch.bounds_check import BoundsCheck  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embeddings import FusedEmbeddings  # noqa: E402
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs  # noqa: E402
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, fused, fused_collection  # noqa: E402

BAGS: dict[str, list[list[int]]] = {
    "x": [[1, 9, 9], [], [3]],
    "y": [[], [19, 0], [5]],
}


JAGGED = "torchrec.sparse.jagged_tensor"


@cache
def imported() -> tuple[ModuleType, ModuleType]:
    """TorchRec and its jagged tensors, which other tests do without."""
    found = pytest.importorskip("torchrec", reason="TorchRec is not installed")
    return found, sys.modules.pop(JAGGED)


@pytest.fixture
def torchrec(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found, jagged = imported()
    monkeypatch.setitem(sys.modules, JAGGED, jagged)
    return found


@pytest.fixture
def training() -> ModuleType:
    """FBGEMM's operators for training."""
    name = "fbgemm_gpu.split_table_batched_embeddings_ops_training"
    return pytest.importorskip(name, reason="FBGEMM is not installed")


def keyed(torchrec: ModuleType, bags: dict[str, list[list[int]]], **options: Any) -> Any:
    """TorchRec's ``KeyedJaggedTensor``."""
    plain = JaggedInputs.of(bags, weighted=True)
    weights = plain.given_weights if options.pop("weighted", False) else None
    return torchrec.KeyedJaggedTensor(
        keys=plain.names, values=plain.flat, lengths=plain.sizes, weights=weights, **options
    )


def bag_collection(torchrec: ModuleType, pooling: str, weighted: bool = False) -> Any:
    """TorchRec's collection of two tables, one of which has both features."""
    kind = torchrec.PoolingType[pooling]
    tables = [
        torchrec.EmbeddingBagConfig(
            name=name, num_embeddings=20, embedding_dim=8, feature_names=features, pooling=kind
        )
        for name, features in (("t", ["x", "y"]), ("u", ["x"]))
    ]
    device = torch.device("cpu")
    return torchrec.EmbeddingBagCollection(tables=tables, is_weighted=weighted, device=device)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pooling", ["SUM", "MEAN"])
@pytest.mark.parametrize("emulated", [False, True])
def test_pooled_embeddings_and_gradients_are_torchrecs(
    torchrec: ModuleType, pooling: str, weighted: bool, emulated: bool
) -> None:
    if weighted and pooling == "MEAN":
        pytest.skip("PyTorch has no weighted means")
    collection = bag_collection(torchrec, pooling, weighted)
    module = fused_collection(copy.deepcopy(collection), emulated=emulated)
    for order in ("xy", "yx"):
        jagged = keyed(torchrec, {key: BAGS[key] for key in order}, weighted=weighted)
        found, right = module(jagged), collection(jagged)
        assert type(found) is type(right)
        assert found.keys() == right.keys()
        torch.testing.assert_close(found.values(), right.values())
        for one, other in zip(found.to_dict().values(), right.to_dict().values(), strict=True):
            torch.testing.assert_close(one, other)
        for each in (found, right):
            each.values().square().sum().backward()
    for one, other in zip(module.parameters(), collection.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_keys_with_batches_of_their_own_sizes_are_torchrecs(torchrec: ModuleType) -> None:
    collection = bag_collection(torchrec, "SUM")
    bags = {"x": [[1, 9, 9], [3]], "y": [[], [19, 0], [5]]}
    jagged = keyed(
        torchrec,
        bags,
        stride_per_key_per_rank=[[2], [3]],
        inverse_indices=(["x", "y"], torch.tensor([[0, 1, 1, 0], [2, 1, 0, 0]])),
    )
    found, right = fused_collection(collection)(jagged), collection(jagged)
    torch.testing.assert_close(found.values(), right.values())


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("need_indices", [False, True])
def test_embeddings_of_sequences_are_torchrecs(
    torchrec: ModuleType, need_indices: bool, emulated: bool
) -> None:
    tables = [
        torchrec.EmbeddingConfig(
            name=name, num_embeddings=20, embedding_dim=8, feature_names=features
        )
        for name, features in (("t", ["x", "y"]), ("u", ["x"]))
    ]
    collection = torchrec.EmbeddingCollection(
        tables=tables, need_indices=need_indices, device=torch.device("cpu")
    )
    module = FusedEmbeddings.from_embedding_collection(copy.deepcopy(collection), emulated=emulated)
    assert list(module.state_dict()) == list(collection.state_dict())
    jagged = keyed(torchrec, BAGS)
    found, right = module(jagged), collection(jagged)
    assert list(found) == list(right)
    for name, other in right.items():
        own = found[name]
        assert type(own) is type(other)
        assert torch.equal(own.values(), other.values())
        assert torch.equal(own.lengths(), other.lengths())
        assert torch.equal(own.offsets(), other.offsets())
        if need_indices:
            assert torch.equal(own.weights(), other.weights())
        for each in (own, other):
            each.values().square().sum().backward(retain_graph=True)
    for one, other in zip(module.parameters(), collection.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("optimizer", [SGD(0.5), RowWiseAdagrad(0.5)])
def test_steps_are_fbgemms(training: ModuleType, optimizer: Any) -> None:
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation

    kind = EmbOptimType.EXACT_SGD
    options = {}
    if isinstance(optimizer, RowWiseAdagrad):
        kind, options = EmbOptimType.EXACT_ROWWISE_ADAGRAD, {"eps": optimizer.eps}
    features = [Feature("a", 20, 8), Feature("b", 10, 8)]
    theirs = training.SplitTableBatchedEmbeddingBagsCodegen(
        [
            (each.rows, each.dim, EmbeddingLocation.HOST, training.ComputeDevice.CPU)
            for each in features
        ],
        optimizer=kind,
        learning_rate=optimizer.lr,
        **options,
    )
    random = np.random.default_rng(0)
    tables = []
    for weight in theirs.split_embedding_weights():
        weight.data.copy_(torch.from_numpy(random.normal(size=weight.shape).astype(np.float32)))
        tables.append(torch.nn.Parameter(weight.detach().clone()))
    module = fused(tables, features, optimizer=optimizer)
    jagged = JaggedInputs.of({"a": [[1, 9, 9], [19]], "b": [[], [2, 2, 1]]})
    offsets = torch.nn.functional.pad(jagged.sizes.long().cumsum(0), (1, 0))
    for _ in range(2):
        found, right = module(jagged).values(), theirs(jagged.flat, offsets)
        torch.testing.assert_close(found, right)
        for each in (found, right):
            each.square().sum().backward()
    for one, other in zip(module.parameters(), theirs.split_embedding_weights(), strict=True):
        torch.testing.assert_close(one.detach(), other.detach())


@pytest.mark.usefixtures("training")
@pytest.mark.parametrize(("mode", "number"), [("warning", 1), ("ignore", 2)])
@pytest.mark.filterwarnings("ignore:embedding bags. offsets or indices")
def test_bounds_are_fbgemms(mode: str, number: int) -> None:
    features = tuple(Feature(name, rows, 4, pruned=True) for name, rows in (("a", 5), ("b", 9)))
    random = np.random.default_rng(0)
    for _ in range(50):
        lengths = random.integers(-1, 4, 6)
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        values = torch.from_numpy(random.integers(-3, 12, max(0, int(offsets[-1]) + 1)))
        check = BoundsCheck(EmbeddingModel("m", features), mode)
        found = check(PackedInputs(values.clone(), offsets.clone(), None), whole=True)
        warning = torch.zeros(1, dtype=torch.int64)
        rows = torch.tensor([each.rows for each in features])
        torch.ops.fbgemm.bounds_check_indices(rows, values, offsets, number, warning)
        assert torch.equal(found.values, values)
        assert torch.equal(found.offsets, offsets)
        assert check.found == warning
