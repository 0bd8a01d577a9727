"""The module in place of TorchRec's ``EmbeddingBagCollection``, with objects that do as its."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.runtime.cuda.torch.keyed_inputs import PooledEmbeddings  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    CONFIGS,
    BagCollection,
    BagConfig,
    JaggedInputs,
    PoolingType,
    fused,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

BAGS: dict[str, list[list[int]]] = {
    "x": [[1, 9, 9], [], [3]],
    "y": [[], [19, 0], [5]],
    "z": [[4], [4, 1, 0, 2], []],
}


@pytest.mark.parametrize("order", ["xyz", "zyx"])
def test_a_collection_is_called_alike(order: str) -> None:
    collection = BagCollection(CONFIGS)
    jagged = JaggedInputs.of({key: BAGS[key] for key in order})
    pooled = fused_collection(collection, checked=True)(jagged)
    assert pooled.keys() == ["x@t", "y", "x@u", "z"]
    assert pooled.length_per_key() == [8, 4, 4, 6]
    assert pooled.offset_per_key() == [0, 8, 12, 16, 22]
    torch.testing.assert_close(pooled.values(), collection(jagged), rtol=1e-6, atol=1e-6)
    parts = pooled.to_dict()
    assert list(parts) == pooled.keys()
    assert torch.equal(torch.cat(list(parts.values()), dim=1), pooled.values())
    assert torch.equal(pooled["x@u"], pooled.values()[:, 12:16])


class KeyedTensor:
    """Takes the arguments of TorchRec's in their order."""

    def __init__(
        self, keys: list[str], length_per_key: list[int], values: torch.Tensor, key_dim: int = 1
    ) -> None:
        self.fields = keys, length_per_key, values, key_dim


def test_outputs_are_torchrecs_own_where_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, jagged = BagCollection(CONFIGS), JaggedInputs.of(BAGS)
    assert isinstance(fused_collection(collection)(jagged), PooledEmbeddings)
    imported = SimpleNamespace(KeyedTensor=KeyedTensor)
    monkeypatch.setitem(sys.modules, "torchrec.sparse.jagged_tensor", imported)
    module = fused_collection(collection)
    found = module(jagged)
    assert isinstance(found, KeyedTensor)
    keys, lengths, values, key_dim = found.fields
    assert (keys, lengths, key_dim) == (["x@t", "y", "x@u", "z"], [8, 4, 4, 6], 1)
    torch.testing.assert_close(values, collection(jagged), rtol=1e-6, atol=1e-6)
    # Modules that no collection was given for go on as they were.
    plain = fused([torch.ones(9, 4)], [Feature("z", 9, 4)])
    assert isinstance(plain(jagged), PooledEmbeddings)


def test_keys_in_the_features_order_are_not_copied() -> None:
    module = fused([torch.ones(9, 4), torch.ones(9, 4)], [Feature("x", 9, 4), Feature("z", 9, 4)])
    jagged = JaggedInputs.of({"x": BAGS["x"], "z": BAGS["z"]})
    packed = module._pack(jagged, None, None, None)
    assert packed.values.data_ptr() == jagged.values().data_ptr()
    assert packed.offsets.tolist() == [0, 3, 3, 4, 5, 9, 9]
    assert packed.offsets.dtype == torch.int64


def test_keys_that_no_feature_looks_up_are_left_out() -> None:
    module = fused([torch.arange(9.0)[:, None]], [Feature("z", 9, 1)])
    assert module(JaggedInputs.of(BAGS)).values().tolist() == [[4.0], [7.0], [0.0]]


def test_a_batch_may_be_empty() -> None:
    module = fused_collection(BagCollection(CONFIGS))
    assert module(JaggedInputs.of({key: [] for key in BAGS})).values().shape == (0, 22)
    none = module(JaggedInputs.of({key: [[], []] for key in BAGS})).values()
    assert torch.equal(none, torch.zeros(2, 22))


@pytest.mark.parametrize("order", ["xz", "zx"])
def test_weighted_collections_use_the_inputs_weights(order: str) -> None:
    collection = BagCollection([CONFIGS[0], CONFIGS[2]], weighted=True)
    jagged = JaggedInputs.of({key: BAGS[key] for key in order}, weighted=True)
    found = fused_collection(collection)(jagged).values()
    torch.testing.assert_close(found, collection(jagged), rtol=1e-6, atol=1e-6)


def test_weights_are_left_out_where_the_collection_is_not_weighted() -> None:
    module = fused_collection(BagCollection(CONFIGS))
    with_weights, without = (JaggedInputs.of(BAGS, weighted) for weighted in (True, False))
    assert torch.equal(module(with_weights).values(), module(without).values())


def test_outputs_of_half_tables_are_float32_and_not_rounded_before() -> None:
    collection = BagCollection(CONFIGS[:1], dtype=torch.float16)
    table = collection.embedding_bags["t"].weight.detach()
    found = fused_collection(collection)(JaggedInputs.of({"x": BAGS["x"]})).values()
    assert found.dtype == torch.float32
    torch.testing.assert_close(found[0], table[[1, 9, 9]].float().sum(0), rtol=1e-6, atol=1e-6)


def test_gradients_reach_the_collections_parameters() -> None:
    collection = BagCollection(CONFIGS)
    module = fused_collection(collection)
    found, right = [], []
    jagged = JaggedInputs.of(BAGS)
    for output, gradients in ((module(jagged).values(), found), (collection(jagged), right)):
        collection.zero_grad()
        output.square().sum().backward()
        gradients.extend(parameter.grad for parameter in collection.parameters())
    torch.testing.assert_close(found, right)


def test_states_have_the_collections_names() -> None:
    collection = BagCollection(CONFIGS)
    module = fused_collection(collection)
    assert list(module.state_dict()) == list(collection.state_dict())
    assert list(module.state_dict()) == [f"embedding_bags.{name}.weight" for name in "tuv"]
    module.load_state_dict(BagCollection(CONFIGS).state_dict())


def test_what_a_keyed_jagged_tensor_lacks_is_named() -> None:
    module = fused_collection(BagCollection(CONFIGS))
    jagged = JaggedInputs.of({"x": [[1]], "y": [[1]]})
    with refused("input: has no key z; there are x, y"):
        module(jagged)
    weighted = fused_collection(BagCollection(CONFIGS, weighted=True))
    with refused("feature x@t: has no weights, but is weighted"):
        weighted(JaggedInputs.of(BAGS))


def test_collections_take_dicts_with_offsets_of_either_form() -> None:
    collection = BagCollection(CONFIGS[:1])
    values, offsets, _ = JaggedInputs.of({"x": BAGS["x"]}).of_key("x")
    for last in (True, False):
        module = fused_collection(collection, include_last_offset=last)
        given = offsets if last else offsets[:-1]
        assert torch.equal(
            module({"x": values}, {"x": given})["x"],
            collection.embedding_bags["t"](values, offsets),
        )


def test_keyed_jagged_tensors_come_alone() -> None:
    module = fused_collection(BagCollection(CONFIGS))
    with refused("input: a keyed jagged tensor has offsets, lengths and weights"):
        module(JaggedInputs.of(BAGS), lengths={"x": torch.tensor([1])})


def test_collections_whose_bags_have_options_are_refused() -> None:
    collection = BagCollection(CONFIGS)
    collection.embedding_bags["u"].max_norm = 1.0
    with refused("table u: max_norm = 1.0: must be None, lookups do not change tables"):
        fused_collection(collection)


def test_other_modules_are_refused() -> None:
    with refused("collection: is Linear: must be an EmbeddingBagCollection"):
        fused_collection(torch.nn.Linear(1, 1))


def test_collections_with_other_pooling_or_types_are_refused() -> None:
    with refused("table t: pooling none: must be sum or mean"):
        fused_collection(BagCollection([BagConfig("t", 4, 4, ["x"], PoolingType.NONE)]))
    with refused("table t: is complex64: must be one of float32, float16, bfloat16"):
        fused_collection(BagCollection(CONFIGS, dtype=torch.complex64))
