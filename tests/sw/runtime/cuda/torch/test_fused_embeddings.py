"""The module in place of TorchRec's ``EmbeddingCollection``, with objects that do as its."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from gnarl.sw.compiler.cuda.backward import BackwardProgram  # noqa: E402
from gnarl.sw.compiler.cuda.backward_kernels import (  # noqa: E402
    FIND_EMBEDDINGS,
    PARAMETERS,
    SUM_LOOKUPS,
    SUM_SLOTS,
    backward_source,
)
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel  # noqa: E402
from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    RowWiseAdagrad,
)
from gnarl.sw.compiler.cuda.templates.template import INCLUDE  # noqa: E402
from gnarl.sw.runtime.cuda.torch import kept  # noqa: E402
from gnarl.sw.runtime.cuda.torch.backward import Arguments, BackwardInputs, TrainedTables  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embeddings import FusedEmbeddings  # noqa: E402
from gnarl.sw.runtime.cuda.torch.unpooled import find_embeddings, train_unpooled  # noqa: E402
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature  # noqa: E402
from tests.support.cuda.torch_embedding import BagConfig, JaggedInputs, VaryingInputs  # noqa: E402
from tests.support.errors import refused  # noqa: E402

CONFIGS = [
    BagConfig("t", 10, 8, ["x"]),
    BagConfig("u", 20, 8, ["y", "x"]),
    BagConfig("v", 5, 8, ["z"]),
]
"""Feature x has two tables, table u two features."""

BAGS: dict[str, list[list[int]]] = {
    "x": [[1, 9, 9], [], [3]],
    "y": [[], [19, 0], [5]],
    "z": [[4], [4, 1, 0, 2], []],
}
PATHS = [False, True]


class EmbeddingCollection(torch.nn.Module):
    """Does as TorchRec's ``EmbeddingCollection``; outputs are embeddings and lengths."""

    def __init__(
        self, configs: list[BagConfig] = CONFIGS, need_indices: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self._configs, self._need_indices = configs, need_indices
        self.embeddings = torch.nn.ModuleDict(
            {
                each.name: torch.nn.Embedding(each.num_embeddings, each.embedding_dim, **options)
                for each in configs
            }
        )

    def embedding_configs(self) -> list[BagConfig]:
        return self._configs

    def need_indices(self) -> bool:
        return self._need_indices

    def forward(self, features: JaggedInputs) -> dict[str, torch.Tensor]:
        keys = [key for config in self._configs for key in config.feature_names]
        found = {}
        for config in self._configs:
            for key in config.feature_names:
                name = f"{key}@{config.name}" if keys.count(key) > 1 else key
                values, _, _ = features.of_key(key)
                found[name] = self.embeddings[config.name](values).float()
        return found


def pair(**options: Any) -> tuple[EmbeddingCollection, FusedEmbeddings]:
    """A collection, and the module in place of a copy of it."""
    torch.manual_seed(0)
    dtype = options.pop("dtype", None)
    collection = EmbeddingCollection(dtype=dtype)
    copied = copy.deepcopy(collection)
    return collection, FusedEmbeddings.from_embedding_collection(copied, **options)


@pytest.mark.parametrize("emulated", PATHS)
@pytest.mark.parametrize("order", ["xyz", "zyx", "zqxy"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_outputs_are_the_collections(emulated: bool, order: str, dtype: torch.dtype) -> None:
    collection, module = pair(dtype=dtype, emulated=emulated, checked=True)
    bags = BAGS | {"q": [[1], [2], [3, 4]]}
    jagged = JaggedInputs.of({key: bags[key] for key in order})
    right, found = collection(jagged), module(jagged)
    assert list(found) == list(right) == ["x@t", "y", "x@u", "z"]
    for name, own in found.items():
        assert torch.equal(own.values(), right[name])
        lengths = [len(bag) for bag in bags[name[0]]]
        assert own.lengths().tolist() == lengths
        assert own.lengths().dtype == torch.int32
        assert own.offsets().tolist() == [0, lengths[0], sum(lengths[:2]), sum(lengths)]
        assert [len(each) for each in own.to_dense()] == lengths
        assert own.weights_or_none() is None


@pytest.mark.parametrize("dim", [1, 3, 20, 64])
def test_rows_of_any_length(dim: int) -> None:
    configs = [BagConfig("t", 7, dim, ["x"])]
    collection = EmbeddingCollection(configs)
    module = FusedEmbeddings.from_embedding_collection(copy.deepcopy(collection), emulated=True)
    jagged = JaggedInputs.of({"x": [[1, 6, 6], [0]]})
    assert torch.equal(module(jagged)["x"].values(), collection(jagged)["x"])
    for values in (collection(jagged)["x"], module(jagged)["x"].values()):
        values.mul_(3)
        values.square().sum().backward()
    right, found = (next(each.parameters()).grad for each in (collection, module))
    torch.testing.assert_close(found, right)


@pytest.mark.parametrize("type", [torch.int32, torch.int64])
def test_indices_are_given_where_they_are_needed(type: torch.dtype) -> None:
    module = FusedEmbeddings.from_embedding_collection(EmbeddingCollection(need_indices=True))
    jagged = JaggedInputs.of({key: BAGS[key] for key in "zyx"})
    jagged.flat = jagged.flat.to(type)
    found = module(jagged)
    assert found["x@u"].weights().tolist() == [1, 9, 9, 3]
    assert found["x@u"].weights().dtype == type
    assert found["z"].weights().tolist() == [4, 4, 1, 0, 2]
    with refused("embeddings: have no indices: need_indices was not asked for"):
        pair()[1](jagged)["z"].weights()


def trained(module: Any, jagged: Any, parts: Callable[[Any], list[torch.Tensor]]) -> list[Any]:
    """Gradients of all tables, of outputs one after the other."""
    for number, values in enumerate(parts(module(jagged))):
        (values.square().sum() * (number + 1)).backward()
    return [table.grad for table in module.parameters()]


@pytest.mark.parametrize("sparse", PATHS)
@pytest.mark.parametrize("emulated", PATHS)
def test_gradients_are_the_collections(emulated: bool, sparse: bool) -> None:
    collection, module = pair(emulated=emulated, sparse=sparse)
    jagged = JaggedInputs.of({key: BAGS[key] for key in "zxy"})
    right = trained(collection, jagged, lambda outputs: list(outputs.values()))
    found = trained(module, jagged, lambda found: [each.values() for each in found.values()])
    for one, other in zip(found, right, strict=True):
        assert one.is_sparse == sparse
        torch.testing.assert_close(one.to_dense(), other)


@pytest.mark.parametrize("emulated", PATHS)
def test_tables_of_outputs_that_are_not_used_have_no_gradients(emulated: bool) -> None:
    _, module = pair(emulated=emulated)
    module(JaggedInputs.of(BAGS))["z"].values().sum().backward()
    assert [table.grad is None for table in module.parameters()] == [True, True, False]


def torchs(optimizer: Optimizer, tables: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    if isinstance(optimizer, Adagrad):
        return torch.optim.Adagrad(tables, optimizer.lr, eps=optimizer.eps)
    return torch.optim.SGD(tables, optimizer.lr)


@pytest.mark.parametrize("emulated", PATHS)
@pytest.mark.parametrize("optimizer", [SGD(0.5), Adagrad(0.5)])
def test_optimizers_take_their_steps(optimizer: Optimizer, emulated: bool) -> None:
    collection, module = pair(optimizer=optimizer, emulated=emulated)
    jagged = JaggedInputs.of({key: BAGS[key] for key in "zxy"})
    steps = torchs(optimizer, list(collection.parameters()))
    for _ in range(2):
        steps.zero_grad()
        sum(each.square().sum() for each in collection(jagged).values()).backward()
        steps.step()
        sum(each.values().square().sum() for each in module(jagged).values()).backward()
    for one, other in zip(module.parameters(), collection.parameters(), strict=True):
        torch.testing.assert_close(one.detach(), other.detach())
    state = module.state_dict()
    assert ("embeddings.t.state" in state) == isinstance(optimizer, Adagrad)


@pytest.mark.parametrize("optimizer", [RowWiseAdagrad(0.5), Adam(0.5, weight_decay=0.1)])
def test_the_cpu_takes_the_kernels_steps(optimizer: Optimizer) -> None:
    jagged, states = JaggedInputs.of(BAGS), []
    for emulated in PATHS:
        module = pair(optimizer=optimizer, emulated=emulated)[1]
        sum(each.values().square().sum() for each in module(jagged).values()).backward()
        states.append(module.state_dict())
    for name, right in states[0].items():
        torch.testing.assert_close(states[1][name], right)


def test_many_look_ups_of_one_row_are_added_up_in_segments() -> None:
    module = FusedEmbeddings(
        [torch.nn.Parameter(torch.ones(3, 4))], [Feature("x", 3, 4)], emulated=True
    )
    jagged = JaggedInputs.of({"x": [[1] * 100, [2, 0], [1] * 33]})
    module(jagged)["x"].values().sum().backward()
    (table,) = module.parameters()
    assert table.grad[:, 0].tolist() == [1, 133, 1]


@pytest.mark.parametrize("emulated", PATHS)
@pytest.mark.parametrize("bags", [{key: [] for key in "xyz"}, {key: [[], []] for key in "xyz"}])
def test_nothing_to_look_up(bags: dict[str, list[list[int]]], emulated: bool) -> None:
    _, module = pair(emulated=emulated)
    found = module(JaggedInputs.of(bags))
    assert [each.values().shape for each in found.values()] == [(0, 8)] * 4
    assert found["y"].lengths().shape == (len(bags["y"]),)
    sum(each.values().sum() for each in found.values()).backward()


def test_keys_may_have_batches_of_their_own_sizes() -> None:
    bags = {"x": [[1, 9, 9]], "y": [[], [19, 0], [5]], "z": [[4], [2]]}
    plain = JaggedInputs.of(bags)
    strides = [len(each) for each in bags.values()]
    jagged = VaryingInputs(plain.names, plain.flat, plain.sizes, None, strides)
    collection, module = pair()
    found = module(jagged)
    assert found["x@u"].lengths().tolist() == [3]
    assert found["y"].lengths().tolist() == [0, 2, 1]
    assert torch.equal(found["z"].values(), collection.embeddings["v"].weight[[4, 2]])


def test_states_have_the_collections_names() -> None:
    collection, module = pair()
    assert list(module.state_dict()) == [f"embeddings.{name}.weight" for name in "tuv"]
    other = EmbeddingCollection()
    module.load_state_dict(other.state_dict())
    assert torch.equal(module.embeddings["t"].weight, other.embeddings["t"].weight)
    module.load_state_dict(collection.embeddings.state_dict())
    assert torch.equal(module.embeddings["t"].weight, collection.embeddings["t"].weight)


def test_parameters_are_the_collections_and_convert() -> None:
    collection = EmbeddingCollection()
    module = FusedEmbeddings.from_embedding_collection(collection)
    assert all(map(lambda one, other: one is other, module.parameters(), collection.parameters()))
    found = module.half()(JaggedInputs.of(BAGS))["x@t"].values()
    assert found.dtype == torch.float32
    assert torch.equal(found, collection.embeddings["t"].weight[[1, 9, 9, 3]].float())


def test_outputs_are_torchrecs_own_where_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    class JaggedTensor:
        def __init__(self, values: Any, weights: Any = None, lengths: Any = None) -> None:
            self.fields = values, weights, lengths

    imported = SimpleNamespace(JaggedTensor=JaggedTensor, KeyedTensor=None)
    monkeypatch.setitem(sys.modules, "torchrec.sparse.jagged_tensor", imported)
    found = pair()[1](JaggedInputs.of(BAGS))["z"]
    assert isinstance(found, JaggedTensor)
    assert found.fields[0].shape == (5, 8)
    assert found.fields[2].tolist() == [1, 4, 0]


@pytest.mark.parametrize("optimizer", [None, SGD(0.5)])
def test_compiled_modules_do_the_same(optimizer: Optimizer | None) -> None:
    jagged = JaggedInputs.of(BAGS)
    results = []
    for compiles in (False, True):
        module: Any = pair(optimizer=optimizer)[1]
        look_up = torch.compile(module, backend="aot_eager") if compiles else module
        loss = sum(each.values().square().sum() for each in look_up(jagged).values())
        loss.backward()
        grads = [each.grad for each in module.parameters() if each.grad is not None]
        results.append([loss.detach(), *grads, *(each.detach() for each in module.parameters())])
    torch._dynamo.reset()
    torch.testing.assert_close(*results)


def test_what_is_not_supported_is_refused() -> None:
    jagged = JaggedInputs.of(BAGS)
    with refused("collection: is Linear: must be an EmbeddingCollection"):
        FusedEmbeddings.from_embedding_collection(torch.nn.Linear(1, 1))
    with refused(
        "collection: is EmbeddingCollection, which FusedEmbeddings takes: must be an "
        "EmbeddingBagCollection"
    ):
        FusedEmbeddingBags.from_embedding_bag_collection(EmbeddingCollection())
    with refused("table t: padding_idx = 0: must be None, not supported without pooling"):
        collection = EmbeddingCollection(CONFIGS[:1], padding_idx=0)
        FusedEmbeddings.from_embedding_collection(collection)
    with refused("table t: max_norm = 1.0: must be None, lookups do not change tables"):
        collection = EmbeddingCollection(CONFIGS[:1], max_norm=1.0)
        FusedEmbeddings.from_embedding_collection(collection)
    with refused("feature y: dim = 4: must be 8, as of x"):
        FusedEmbeddings(
            [torch.ones(9, 8), torch.ones(9, 4)], [Feature("x", 9, 8), Feature("y", 9, 4)]
        )
    with refused("feature x: pooling = 'mean': not supported without pooling"):
        FusedEmbeddings([torch.ones(9, 8)], [Feature("x", 9, 8, "mean")])
    with refused("tables: are float64: not supported without pooling"):
        pair()[1].double()(jagged)
    with refused("input: is a mapping: must be a KeyedJaggedTensor"):
        pair()[1]({"x": torch.tensor([1])})
    with refused("input: has no key z; there are x, y"):
        pair()[1](JaggedInputs.of({"x": [[1]], "y": [[2]]}))
    with refused("indices of z[1] = 5: must be from 0 to 4"):
        pair(checked=True)[1](JaggedInputs.of(BAGS | {"z": [[4, 5], [], []]}))
    with refused("lengths: have the sum 12: must be at most 11, the number of values"):
        jagged.flat = jagged.flat[:-1]
        pair()[1](jagged)


@pytest.mark.parametrize("optimizer", [None, Adagrad(0.5)])
def test_the_host_looks_at_no_tensor(
    optimizer: Optimizer | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fake tensors hold nothing that could be looked at."""
    monkeypatch.setattr(kept, "_addresses", {})
    features = tuple(Feature(name, 50, 8) for name in "ab")
    model = EmbeddingModel("m", features)
    program = BackwardProgram(model, (0, 1), (True, True), "int64", optimizer, True)
    launched: list[str] = []

    def launch(kernel: str, blocks: int, arguments: Arguments) -> None:
        assert blocks > 0
        assert list(arguments) == list(PARAMETERS[kernel])
        launched.append(kernel)

    with FakeTensorMode():
        addresses = torch.empty(2, dtype=torch.int64)
        values, begins = (torch.empty(count, dtype=torch.int64) for count in (3000, 3))
        rows = torch.empty(3000, 8)
        inputs = BackwardInputs(values, begins, None, rows, addresses)
        find_embeddings(launch, inputs, rows)
        train_unpooled(
            program, launch, inputs, TrainedTables(addresses, addresses, torch.empty(()))
        )
    assert launched == [FIND_EMBEDDINGS, SUM_LOOKUPS, SUM_SLOTS, SUM_SLOTS]


def test_kernels_compile_for_a_gpu() -> None:
    pytest.importorskip("cuda.bindings")
    features = (Feature("a", 50, 8, table_type="float16"), Feature("b", 50, 8))
    model = EmbeddingModel("m", features)
    program = BackwardProgram(model, (0, 1), (True, False), "int32", None, True)
    source = backward_source(program)
    compiled = compile_kernel(source, "sm_90", include=[INCLUDE], kernel=FIND_EMBEDDINGS)
    assert compiled.spill_bytes == 0


def test_programs_that_pool_are_as_they_were() -> None:
    module = FusedEmbeddingBags([torch.ones(9, 8)], [Feature("x", 9, 8)])
    assert "unpooled" not in module._program
    assert '"unpooled":true' in pair()[1]._program
