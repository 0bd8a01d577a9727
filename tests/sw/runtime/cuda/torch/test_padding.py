"""Indices of padding count for nothing, as in ``nn.EmbeddingBag``: outputs and gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl import Device  # noqa: E402
from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.golden.embedding import embedding_bags  # noqa: E402
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding  # noqa: E402
from gnarl.sw.runtime.cuda.inputs import embedding_of  # noqa: E402
from gnarl.sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
)
from tests.support.cuda.torch_embedding import (  # noqa: E402
    BagCollection,
    BagConfig,
    JaggedInputs,
    PoolingType,
    dyadic,
    fused,
    fused_bags,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

BAGS = {
    "sums": ("sum", 12, 4, 3),
    "means": ("mean", 12, 4, 0),
    "maxima": ("max", 12, 8, 11),
    "weighted": ("sum", 12, 8, -2),
    "whole": ("mean", 12, 4, None),
}
"""Pooling, rows, dim and index of padding."""

SAMPLES = 7


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    """PyTorch compiles a method a few times only."""
    yield
    torch._dynamo.reset()


def modules(rng: np.random.Generator) -> torch.nn.ModuleDict:
    made = torch.nn.ModuleDict()
    for name, (pooling, rows, dim, padding) in BAGS.items():
        made[name] = torch.nn.EmbeddingBag(
            rows, dim, mode=pooling, padding_idx=padding, include_last_offset=True
        )
        made[name].weight.data = dyadic(rng, rows, dim)  # not zeroes where the padding is
    return made


def inputs(rng: np.random.Generator, bags: torch.nn.ModuleDict) -> tuple[dict[str, Any], ...]:
    """Values, offsets and weights: half of the values are padding, and one bag is all of it."""
    values, offsets = {}, {}
    for name, bag in bags.items():
        lengths = rng.integers(0, 6, SAMPLES)
        lengths[2] = 3
        drawn = rng.integers(0, bag.num_embeddings, lengths.sum())
        if bag.padding_idx is not None:
            drawn[rng.random(len(drawn)) < 0.5] = bag.padding_idx
            drawn[lengths[:2].sum() : lengths[:3].sum()] = bag.padding_idx
        values[name] = torch.from_numpy(drawn)
        offsets[name] = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    weights = rng.integers(1, 9, len(values["weighted"])) / 4
    return values, offsets, {"weighted": torch.from_numpy(weights.astype(np.float32))}


def results(
    look_up: Any, bags: torch.nn.Module, given: tuple[dict[str, Any], ...]
) -> dict[str, torch.Tensor]:
    """Outputs and gradients by name."""
    values, offsets, weights = given
    own = weights["weighted"].clone().requires_grad_()
    bags.zero_grad()
    outputs = look_up(values, offsets, {"weighted": own})
    scale = torch.arange(1.0, SAMPLES + 1)[:, None] / 8
    sum((output * scale).sum() for output in outputs.values()).backward()
    found = {name: output.detach() for name, output in outputs.items()}
    names = [name.split(".")[-2] for name, _ in bags.named_parameters()]
    grads = [parameter.grad.clone() for parameter in bags.parameters()]
    return (
        found
        | {f"gradient of {name}": g for name, g in zip(names, grads, strict=True)}
        | {"gradient of weights": own.grad}
    )


def pytorchs(bags: torch.nn.ModuleDict) -> Any:
    return lambda values, offsets, weights: {
        name: bag(values[name], offsets[name], weights.get(name)) for name, bag in bags.items()
    }


@pytest.mark.parametrize("path", ["cpu", "emulated", "checked", "compiled"])
@pytest.mark.parametrize("seed", range(4))
def test_outputs_and_gradients_are_those_of_embedding_bag(path: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bags = modules(rng)
    given = inputs(rng, bags)
    wanted = results(pytorchs(bags), bags, given)
    made = fused_bags(bags, ["weighted"], emulated=path == "emulated", checked=path == "checked")
    module: Any = made
    if path == "compiled":
        module = torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=True)
    found = results(lambda v, o, w: module(v, o, None, w), made, given)
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-6, atol=1e-6)
        if name in BAGS:
            assert torch.equal(found[name], tensor)


@pytest.mark.parametrize("emulated", [False, True])
def test_rows_of_padding_take_no_step(emulated: bool) -> None:
    rng = np.random.default_rng(5)
    bags = modules(rng)
    before = {name: bag.weight.detach().clone() for name, bag in bags.items()}
    values, offsets, weights = inputs(rng, bags)
    made = fused_bags(bags, ["weighted"], emulated=emulated, optimizer=SGD(lr=1.0))
    sum(output.sum() for output in made(values, offsets, None, weights).values()).backward()
    for name, bag in bags.items():
        changed = (bag.weight != before[name]).any(1)
        assert changed.any()
        if bag.padding_idx is not None:
            assert not changed[bag.padding_idx]


@pytest.mark.parametrize("order", ["xy", "yx"])
def test_collections_whose_bags_have_padding(order: str) -> None:
    configs = [
        BagConfig("t", 10, 4, ["x"]),
        BagConfig("u", 10, 4, ["y", "x"], PoolingType.MEAN),
    ]
    collection = BagCollection(configs)
    collection.embedding_bags["t"].padding_idx = 3
    collection.embedding_bags["u"].padding_idx = 1
    samples = {"x": [[1, 3, 3], [3], []], "y": [[1], [1, 2, 4], [0, 0]]}
    jagged = JaggedInputs.of({key: samples[key] for key in order})
    found = fused_collection(collection)(jagged).values()
    torch.testing.assert_close(found, collection(jagged), rtol=1e-6, atol=1e-6)


def test_tails_and_padding_together() -> None:
    features = [Feature("f", 10, 4, "mean", padding_idx=2), Feature("g", 10, 4)]
    table = torch.arange(40.0).view(10, 4)
    values = {"f": torch.tensor([2, 4, 2, 2, 99]), "g": torch.tensor([5, 2])}
    offsets = {"f": torch.tensor([0, 2, 3]), "g": torch.tensor([0, 1, 2])}
    found = fused([table, table], features)(values, offsets)
    assert torch.equal(found["f"], torch.stack([table[4], torch.zeros(4)]))
    assert torch.equal(found["g"], table[[5, 2]])


def test_batches_may_be_empty() -> None:
    module = fused([torch.ones(10, 4)], [Feature("f", 10, 4, padding_idx=2)])
    empty = torch.zeros(0, dtype=torch.int64)
    assert module({"f": empty}, {"f": empty[:0].new_zeros(1)})["f"].shape == (0, 4)
    assert module({"f": empty}, {"f": empty.new_zeros(3)})["f"].tolist() == [[0] * 4] * 2


def test_bags_in_two_dimensions_and_indices_of_32_bits() -> None:
    table = torch.arange(40.0).view(10, 4)
    feature = Feature("f", 10, 4, "mean", index_type="int32", padding_idx=0)
    values = torch.tensor([[0, 0], [0, 3], [1, 2]], dtype=torch.int32)
    found = fused([table], [feature])({"f": values})["f"]
    wanted = torch.nn.functional.embedding_bag(values, table, mode="mean", padding_idx=0)
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("emulated", [False, True])
def test_indices_out_of_range_are_named_where_they_are(emulated: bool) -> None:
    features = [Feature("e", 10, 4), Feature("f", 10, 4, padding_idx=2)]
    module = fused([torch.ones(10, 4)] * 2, features, emulated=emulated)
    values = {"e": torch.tensor([2, 2]), "f": torch.tensor([2, 2, 10])}
    offsets = {"e": torch.tensor([0, 2]), "f": torch.tensor([0, 3])}
    with refused("indices of f[2] = 10: must be from 0 to 9"):
        module(values, offsets)


def test_states_and_moves_do_not_know_of_padding() -> None:
    bags = modules(np.random.default_rng(0))
    made = fused_bags(bags)
    assert not [name for name in made.state_dict() if "padding" in name]
    assert isinstance(made.to("meta"), FusedEmbeddingBags)


def arrays_and_batch(seed: int) -> tuple[EmbeddingModel, list[np.ndarray], Batch, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    bags = modules(rng)
    values, offsets, weights = inputs(rng, bags)
    features = tuple(
        Feature(
            name,
            bag.num_embeddings,
            bag.embedding_dim,
            bag.mode,
            weighted=name in weights,
            padding_idx=bag.padding_idx,
        )
        for name, bag in bags.items()
    )
    batch = Batch(
        SAMPLES,
        [
            FeatureInputs(
                values[name].numpy(),
                offsets[name].numpy(),
                weights[name].numpy() if name in weights else None,
            )
            for name in bags
        ],
    )
    wanted = pytorchs(bags)(values, offsets, weights)
    tables = [to_array(bag.weight) for bag in bags.values()]
    return EmbeddingModel("padded", features), tables, batch, wanted


@pytest.mark.parametrize("seed", range(3))
def test_the_golden_model_and_runs_leave_padding_out(seed: int) -> None:
    model, tables, batch, wanted = arrays_and_batch(seed)
    golden = dict(zip(wanted, embedding_bags(model, tables, batch), strict=True))
    device = Device("cuda_sm90", "emulation")
    program = device.compile(model)
    result = device.run(program, (tables, batch))
    lower = EmulatedEmbedding(embedding_of(program), tables).run(batch)
    columns = embedding_of(program).split(lower.outputs)
    for name, output in wanted.items():
        for found in (golden[name], result.outputs[name], columns[name]):
            assert np.array_equal(np.asarray(found), output.detach().numpy())
    assert device.verify(result).bit_exact


def test_runs_name_indices_out_of_range_where_they_are() -> None:
    device = Device("cuda_sm90", "emulation")
    model = EmbeddingModel("m", (Feature("f", 10, 4, padding_idx=2),))
    inputs = FeatureInputs(np.array([2, 2, 10]), np.array([0, 3]))
    with refused("indices of f[2] = 10: must be from 0 to 9"):
        device.run(device.compile(model), ([np.ones((10, 4), np.float32)], Batch(1, [inputs])))


@pytest.mark.parametrize("padding", [-1, 10, 1.0, True])
def test_padding_that_is_no_row(padding: Any) -> None:
    with refused(f"feature f: padding_idx = {padding!r}: must be a row, from 0 to 9"):
        Feature("f", 10, 4, padding_idx=padding)


def test_schedules_and_programs_without_padding_are_as_they_were() -> None:
    plain, padded = (
        EmbeddingModel("m", (Feature("f", 10, 4, padding_idx=index),)) for index in (None, 2)
    )
    assert plain.digest == padded.digest
    device = Device("cuda_sm90", "emulation")
    plans = [
        device.compile(model).launches[0].sections["plan"].tobytes() for model in (plain, padded)
    ]
    assert b"padding_idx" not in plans[0]
    assert embedding_of(device.compile(padded)).model == padded
