"""Kinds of inputs, sizes and uses that were reported as bugs of other libraries of embeddings, and
that no other test has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embeddings import FusedEmbeddings  # noqa: E402
from gnarl.sw.workloads.embedding.model import MAXIMUM_DIM, Feature  # noqa: E402
from gnarl.sw.workloads.embedding.rowwise import quantise  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    JaggedInputs,
    VaryingInputs,
    dyadic,
    fused,
)

EMULATED = [False, True]
POOLINGS = ("sum", "mean", "max")


def dyadic_table(rows: int, dim: int) -> torch.nn.Parameter:
    return torch.nn.Parameter(dyadic(np.random.default_rng(0), rows, dim))


def of_poolings(**options: Any) -> Any:
    features = [Feature(pooling, 9, 4, pooling) for pooling in POOLINGS]
    return fused([dyadic_table(9, 4) for _ in features], features, **options)


@pytest.mark.parametrize("emulated", EMULATED)
def test_bags_without_indices_are_zeroes_wherever_they_are(emulated: bool) -> None:
    module = of_poolings(emulated=emulated)
    values = {name: torch.tensor([1, 2, 3, 4]) for name in POOLINGS}
    offsets = {name: torch.tensor([0, 0, 1, 1, 3, 3, 4, 4, 4]) for name in POOLINGS}
    outputs = module(values, offsets)
    for name, output in outputs.items():
        assert not output[[0, 2, 4, 6, 7]].any(), name
        assert output[[1, 3, 5]].any(dim=1).all(), name
    sum(output.square().sum() for output in outputs.values()).backward()
    for table in module.parameters():
        assert table.grad.isfinite().all()
        assert not table.grad[[0, 5, 6, 7, 8]].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_two_dimensions_without_elements(shape: tuple[int, int], dtype: torch.dtype) -> None:
    module = of_poolings().to(dtype)
    values = {name: torch.zeros(shape, dtype=torch.int64) for name in POOLINGS}
    outputs = module(values)
    for output in outputs.values():
        assert output.shape == (shape[0], 4)
        assert not output.any()
    sum(output.sum() for output in outputs.values()).backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_but_no_bags(dtype: torch.dtype) -> None:
    module = of_poolings(include_last_offset=False).to(dtype)
    values = {name: torch.arange(6) for name in POOLINGS}
    offsets = {name: torch.zeros(0, dtype=torch.int64) for name in POOLINGS}
    assert all(output.shape == (0, 4) for output in module(values, offsets).values())


@pytest.mark.parametrize("emulated", EMULATED)
def test_batches_with_as_many_values_but_other_offsets(emulated: bool) -> None:
    """Nothing of the batch before is left."""
    module = of_poolings(emulated=emulated)
    values = {name: torch.tensor([1, 2, 3, 4, 5]) for name in POOLINGS}
    for offsets in ([0, 1, 2, 2, 3, 5], [0, 1, 2, 2, 5, 5], [0, 0, 0, 0, 0, 5]):
        bounds = torch.tensor(offsets)
        found = module(values, {name: bounds for name in POOLINGS})
        jagged = JaggedInputs(
            list(POOLINGS), torch.cat(list(values.values())), bounds.diff().repeat(3)
        )
        for name, table in zip(POOLINGS, module.parameters(), strict=True):
            right = torch.nn.functional.embedding_bag(
                values[name], table, bounds, mode=name, include_last_offset=True
            )
            torch.testing.assert_close(found[name], right, rtol=1e-6, atol=1e-6)
            assert torch.equal(module(jagged)[name], found[name])


@pytest.mark.parametrize("emulated", EMULATED)
def test_inputs_that_are_not_contiguous(emulated: bool) -> None:
    features = [Feature("a", 9, 4, weighted=True), Feature("b", 9, 4)]
    module = fused([dyadic_table(9, 4) for _ in features], features, emulated=emulated)
    values = {"a": torch.arange(8)[::2], "b": torch.tensor([[1, 2, 3]]).expand(2, 3).T[:2]}
    offsets = {"a": torch.tensor([0, 9, 1, 9, 4])[::2]}
    weights = torch.tensor([[1.0, 2.0, 4.0, 8.0], [0.0, 0.0, 0.0, 0.0]]).T[:, 0].requires_grad_()
    results = []
    for own in (lambda tensor: tensor, lambda tensor: tensor.contiguous()):
        outputs = module(
            {name: own(each) for name, each in values.items()},
            {name: own(each) for name, each in offsets.items()},
            weights={"a": own(weights)},
        )
        loss = sum(output.square().sum() for output in outputs.values())
        grads = torch.autograd.grad(loss, [weights, *module.parameters()])
        results.append([*outputs.values(), *grads])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_jagged_tensors_that_are_not_contiguous() -> None:
    module = fused([dyadic_table(9, 4)], [Feature("a", 9, 4)])
    jagged = JaggedInputs(["a"], torch.arange(8)[::2], torch.tensor([1, 9, 3, 9])[::2])
    right = JaggedInputs.of({"a": [[0], [2, 4, 6]]})
    assert torch.equal(module(jagged).values(), module(right).values())


@pytest.mark.parametrize("emulated", EMULATED)
@pytest.mark.parametrize("dim", [1028, 2047, MAXIMUM_DIM])
def test_rows_of_more_than_1024_elements(dim: int, emulated: bool) -> None:
    pooled, unpooled = (
        make([dyadic_table(5, dim)], [Feature("a", 5, dim)], emulated=emulated)
        for make in (FusedEmbeddingBags, FusedEmbeddings)
    )
    jagged = JaggedInputs.of({"a": [[4, 1], [], [0]] + [[3]] * 9})
    table = next(pooled.parameters()).detach()
    assert torch.equal(unpooled(jagged)["a"].values(), table[[4, 1, 0] + [3] * 9])
    found = pooled(jagged)["a"]
    assert torch.equal(found[0], table[4] + table[1])
    assert torch.equal(found[3:], table[3].expand(9, dim))
    for module, output in ((pooled, found), (unpooled, unpooled(jagged)["a"].values())):
        output.sum().backward()
        (parameter,) = module.parameters()
        assert torch.equal(parameter.grad, torch.tensor([1.0, 1, 0, 9, 1])[:, None].expand(5, dim))


@pytest.mark.parametrize("pooling", ["sum", "max"])
def test_more_elements_of_a_table_than_32_bits_count(pooling: str) -> None:
    """Most of it is memory that nobody touches."""
    last = 2**31 // MAXIMUM_DIM
    zeroes = np.zeros((last + 1, MAXIMUM_DIM), np.float16)
    zeroes[last] = 2
    table = torch.nn.Parameter(torch.from_numpy(zeroes))
    feature = Feature("a", last + 1, MAXIMUM_DIM, pooling, table_type="float16")
    module = FusedEmbeddingBags([table], [feature], optimizer=SGD(0.5), emulated=True)
    values = torch.tensor([0, last], dtype=torch.int32)
    output = module({"a": values}, {"a": torch.tensor([0, 2], dtype=torch.int32)})["a"]
    assert (output == 2).all()
    output.sum().backward()
    assert (table[last] == 1.5).all()
    assert (table[0] == (-0.5 if pooling == "sum" else 0)).all()


@pytest.mark.parametrize("emulated", EMULATED)
def test_quantised_tables_and_batches_of_their_own_sizes(emulated: bool) -> None:
    rng = np.random.default_rng(0)
    features = [
        Feature("a", 9, 4, table_type="int8_rowwise"),
        Feature("b", 9, 6, "mean", table_type="int4_rowwise"),
    ]
    weights = [rng.integers(-8, 8, (9, each.dim)).astype(np.float32) for each in features]
    tables = [
        torch.from_numpy(quantise(own, each.table_type))
        for own, each in zip(weights, features, strict=True)
    ]
    module = fused(tables, features, emulated=emulated)
    inverse = (["a", "b"], torch.tensor([[0, 0, 0], [1, 0, 2]]))
    plain = JaggedInputs.of({"a": [[1, 8]], "b": [[3], [], [4, 5]]})
    varying = VaryingInputs(plain.names, plain.flat, plain.sizes, None, [1, 3], inverse)
    found = module(varying).values()
    alike = module(JaggedInputs.of({"a": [[1, 8]] * 3, "b": [[], [3], [4, 5]]})).values()
    assert torch.equal(found, alike)


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("emulated", EMULATED)
def test_deterministic_algorithms_are_what_there_is(emulated: bool) -> None:
    rng = np.random.default_rng(0)
    features = [Feature(pooling, 3, 8, pooling) for pooling in POOLINGS]
    tables = [torch.from_numpy(rng.normal(size=(3, 8)).astype(np.float32)) for _ in features]
    values = {name: torch.from_numpy(rng.integers(0, 3, 200)) for name in POOLINGS}
    lengths = {name: torch.tensor([150, 0, 50]) for name in POOLINGS}
    found = []
    for _ in range(2):
        parameters = [torch.nn.Parameter(table.clone()) for table in tables]
        module = fused(parameters, features, emulated=emulated)
        outputs = module(values, lengths=lengths)
        sum(output.square().sum() for output in outputs.values()).backward()
        found.append([table.grad for table in module.parameters()])
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)
