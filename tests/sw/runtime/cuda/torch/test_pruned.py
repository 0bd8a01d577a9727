"""Index -1 as a pruned row, as FBGEMM has it: it adds nothing, but counts in means' divisors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl import Device  # noqa: E402
from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.compiler.cuda.templates import templates  # noqa: E402
from gnarl.sw.golden.embedding import embedding_bags  # noqa: E402
from gnarl.sw.runtime.cuda.inputs import embedding_of  # noqa: E402
from gnarl.sw.runtime.cuda.packed import PackedBatch  # noqa: E402
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
)
from gnarl.sw.workloads.embedding.rowwise import quantise  # noqa: E402
from gnarl.sw.workloads.loops.embedding_model import feature_groups  # noqa: E402
from tests.support.cuda.torch_embedding import dyadic, fused  # noqa: E402
from tests.support.errors import refused  # noqa: E402

SAMPLES = 9
MODEL = EmbeddingModel(
    "pruned",
    (
        Feature("sums", 12, 8, pruned=True),
        Feature("means", 10, 8, "mean", pruned=True),
        Feature("weighted", 10, 16, weighted=True, pruned=True),
        Feature("weighted means", 10, 4, "mean", weighted=True, pruned=True),
        Feature("whole", 10, 4, "mean"),
        Feature("padded", 10, 4, "mean", pruned=True, padding_idx=2),
    ),
)


def batch(seed: int) -> Batch:
    """A third of the indices are pruned, and one bag is all of them."""
    rng = np.random.default_rng(seed)
    features = []
    for feature in MODEL.features:
        lengths = rng.integers(0, 7, SAMPLES)
        lengths[3] = 2
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        indices = rng.integers(0, feature.rows, offsets[-1])
        if feature.pruned:
            indices[rng.random(len(indices)) < 1 / 3] = -1
            indices[offsets[3] : offsets[4]] = -1
        weights = (rng.integers(1, 9, len(indices)) / 4).astype(np.float32)
        features.append(FeatureInputs(indices, offsets, weights if feature.weighted else None))
    return Batch(SAMPLES, features)


def tables(seed: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [dyadic(rng, feature.rows, feature.dim) for feature in MODEL.features]


def arguments(given: Batch) -> tuple[dict[str, torch.Tensor], ...]:
    named = list(zip([f.name for f in MODEL.features], given.features, strict=True))
    return (
        {name: torch.from_numpy(own.indices) for name, own in named},
        {name: torch.from_numpy(own.offsets) for name, own in named},
        {name: torch.from_numpy(own.weights) for name, own in named if own.weights is not None},
    )


def expected(
    own: list[torch.Tensor], given: tuple[dict[str, torch.Tensor], ...]
) -> dict[str, torch.Tensor]:
    """By rows of zeroes, in float32; differentiable."""
    values, offsets, weights = given
    found = {}
    for feature, table in zip(MODEL.features, own, strict=True):
        at, bounds = values[feature.name], offsets[feature.name]
        rows = torch.where((at >= 0)[:, None], table[at.clamp(min=0)], 0.0)
        counts = torch.ones(len(at))
        if feature.padding_idx is not None:
            counts = (at != feature.padding_idx).float()
            rows = rows * counts[:, None]
        if feature.weighted:
            rows = rows * weights[feature.name][:, None]
        bags = torch.repeat_interleave(torch.arange(SAMPLES), bounds.diff())
        sums = torch.zeros(SAMPLES, feature.dim).index_add(0, bags, rows)
        if feature.pooling == "mean":
            divisors = torch.zeros(SAMPLES).index_add(0, bags, counts).clamp(min=1)
            sums = sums / divisors[:, None]
        found[feature.name] = sums
    return found


@pytest.mark.parametrize("path", ["cpu", "checked", *templates()])
def test_outputs_of_each_template(path: str) -> None:
    names = [path] if path in templates() else ["one_hot"]
    options: dict[str, Any] = {"emulated": path in templates(), "checked": path == "checked"}
    for seed in range(2):
        module = fused(tables(seed), MODEL.features, names, **options)
        given = arguments(batch(seed))
        found = module(given[0], given[1], None, given[2])
        for name, output in expected(tables(seed), given).items():
            assert torch.equal(found[name], output), name


@pytest.mark.parametrize("path", ["cpu", "emulated", "float64"])
def test_gradients(path: str) -> None:
    values, offsets, weights = arguments(batch(3))
    results = []
    for reference in (False, True):
        own = [torch.nn.Parameter(table) for table in tables(3)]
        given = {name: each.clone().requires_grad_() for name, each in weights.items()}
        if reference:
            outputs = expected(list(own), (values, offsets, given))
        else:
            module = fused(own, MODEL.features, emulated=path == "emulated")
            module = module.double() if path == "float64" else module
            outputs = module(values, offsets, None, given)
        scale = torch.arange(1.0, SAMPLES + 1)[:, None] / 8
        sum((output * scale).sum() for output in outputs.values()).backward()
        results.append([*(table.grad for table in own), *(each.grad for each in given.values())])
    for found, right in zip(*results, strict=True):
        torch.testing.assert_close(found.float(), right, rtol=1e-5, atol=1e-5)


def test_pruned_rows_take_no_step() -> None:
    own = [torch.nn.Parameter(torch.ones(10, 4))]
    module = fused(own, [Feature("f", 10, 4, pruned=True)], emulated=True, optimizer=SGD(lr=1.0))
    module({"f": torch.tensor([-1, 3])}, {"f": torch.tensor([0, 2])})["f"].sum().backward()
    assert (own[0] != 1).any(1).nonzero().flatten().tolist() == [3]


@pytest.mark.parametrize("type", ["int8_rowwise", "int4_rowwise", "fp8_rowwise"])
@pytest.mark.parametrize("emulated", [False, True])
def test_quantised_tables_as_fbgemm_has_them_for_inference(type: str, emulated: bool) -> None:
    table = quantise(np.random.default_rng(0).normal(size=(10, 8)), type)
    features = [
        Feature(pooling, 10, 8, pooling, type, weighted=weighted, pruned=True)
        for pooling, weighted in (("sum", False), ("mean", True))
    ]
    model = EmbeddingModel("q", tuple(features))
    inputs = FeatureInputs(np.array([-1, 3, -1, 5, -1]), np.array([0, 2, 4, 5]))
    weights = np.array([0.5, 2, 8, 0.25, 1], np.float32)
    given = Batch(3, [inputs, FeatureInputs(inputs.indices, inputs.offsets, weights)])
    module = fused([torch.from_numpy(table)] * 2, features, emulated=emulated)
    values = {f.name: torch.from_numpy(inputs.indices) for f in features}
    offsets = {f.name: torch.from_numpy(inputs.offsets) for f in features}
    found = module(values, offsets, None, {"mean": torch.from_numpy(weights)})
    for name, golden in zip(found, embedding_bags(model, [table] * 2, given), strict=True):
        assert np.array_equal(found[name].numpy(), golden)
    elements = features[0].elements(table)[np.arange(10)]
    wanted = np.stack([elements[3], elements[5], np.zeros(8, np.float32)])
    assert np.array_equal(found["sum"].numpy(), wanted)
    assert np.array_equal(found["mean"].numpy(), wanted * np.array([[1], [0.125], [0]], np.float32))


@pytest.mark.parametrize("seed", range(2))
def test_the_golden_model_and_runs(seed: int) -> None:
    own = [table.numpy() for table in tables(seed)]
    wanted = expected(tables(seed), arguments(batch(seed)))
    golden = embedding_bags(MODEL, own, batch(seed))
    device = Device("cuda_sm90", "emulation")
    program = device.compile(MODEL)
    result = device.run(program, (own, batch(seed)))
    for (name, output), found in zip(wanted.items(), golden, strict=True):
        assert np.array_equal(found, output.numpy())
        assert np.array_equal(np.asarray(result.outputs[name]), output.numpy())
    assert device.verify(result).bit_exact
    assert embedding_of(program).model == MODEL


def test_errors_are_within_the_bound_where_sums_depend_on_their_order() -> None:
    rng = np.random.default_rng(1)
    own = [rng.normal(size=(f.rows, f.dim)).astype(np.float32) for f in MODEL.features]
    device = Device("cuda_sm90", "emulation")
    result = device.run(device.compile(MODEL), (own, batch(1)))
    assert device.verify(result).difference == ""


@pytest.mark.parametrize("type", [np.int32, np.int64])
@pytest.mark.parametrize(("index", "pruned"), [(-2, True), (10, True), (-1, False)])
def test_indices_that_are_neither_rows_nor_pruned(type: type, index: int, pruned: bool) -> None:
    feature = Feature("f", 10, 4, index_type=np.dtype(type).name, pruned=pruned)
    model = EmbeddingModel("m", (Feature("e", 10, 4, index_type=feature.index_type), feature))
    text = f"indices of f[1] = {index}: must be from {-1 if pruned else 0} to 9"
    right = FeatureInputs(np.zeros(2, type), np.array([0, 2], type))
    given = Batch(1, [right, FeatureInputs(np.array([3, index], type), np.array([0, 2], type))])
    device = Device("cuda_sm90", "emulation")
    table = np.ones((10, 4), np.float32)
    program = device.compile(model)
    with refused(text):
        device.run(program, ([table, table], given))
    module = fused([torch.from_numpy(table)] * 2, model.features, emulated=True)
    values = {
        name: torch.from_numpy(own.indices) for name, own in zip("ef", given.features, strict=True)
    }
    offsets = {
        name: torch.from_numpy(own.offsets) for name, own in zip("ef", given.features, strict=True)
    }
    with refused(text):
        module(values, offsets)


def test_int64_batches_are_packed_with_pruned_rows_of_pruned_features_only() -> None:
    features = (Feature("e", 10, 4, pruned=True), Feature("f", 10, 4))
    program = embedding_of(Device("cuda_sm90", "emulation").compile(EmbeddingModel("m", features)))
    offsets = np.array([0, 2])
    pruned, whole = (FeatureInputs(np.array([first, 3]), offsets) for first in (-1, 2))
    packed = PackedBatch.of(program, Batch(1, [pruned, whole]))
    target = np.empty(packed.indices, np.int32)
    packed.pack_indices(target)
    assert target.tolist() == [-1, 3, 2, 3]
    with refused("indices of f[0] = -1: must be from 0 to 9"):
        PackedBatch.of(program, Batch(1, [pruned, pruned])).pack_indices(target)


def test_where_there_is_no_pruning() -> None:
    with refused(
        "feature f: pruned = True: must be false with pooling max, pruned rows are zeroes"
    ):
        Feature("f", 10, 4, "max", pruned=True)
    with refused("feature f: pruned = 1: must be true or false"):
        Feature("f", 10, 4, pruned=1)  # type: ignore[arg-type]
    with refused("feature sums: pruned = True: must be false in loop nests"):
        feature_groups(MODEL, batch(0))


def test_programs_without_pruning_are_as_they_were() -> None:
    plain, pruned = (
        EmbeddingModel("m", (Feature("f", 10, 4, pruned=each),)) for each in (False, True)
    )
    assert plain.digest == pruned.digest
    sections = Device("cuda_sm90", "emulation").compile(plain).launches[0].sections
    assert b"pruned" not in sections["plan"].tobytes()
    assert b"gnarl::Pooling::kSum, false, false>" in sections["source"].tobytes()
    assert "pruned" not in fused([torch.ones(10, 4)], plain.features)._program
