"""Gradients of the PyTorch module, against those of ``nn.functional.embedding_bag``.

Tables, weights and outputs' gradients are small dyadic numbers, so that sums in any order agree in
every bit; but for means, whose quotients are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import dyadic, fused  # noqa: E402

embedding_bag = torch.nn.functional.embedding_bag


@dataclass
class Example:
    """One feature's inputs, and the gradient of its output."""

    feature: Feature
    table: torch.Tensor
    values: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor
    gradient: torch.Tensor


def example(feature: Feature, lengths: Sequence[int], seed: int = 0) -> Example:
    rng = np.random.default_rng(seed)
    count = sum(lengths)
    return Example(
        feature,
        dyadic(rng, feature.rows, feature.dim),
        torch.from_numpy(rng.integers(0, feature.rows, count)),
        torch.tensor([0, *np.cumsum(lengths)]),
        torch.from_numpy(rng.integers(1, 9, count).astype(np.float32) / 4),
        dyadic(rng, len(lengths), feature.dim),
    )


def gradients(one: Example) -> list[torch.Tensor]:
    """Gradients of the table, and of weights if the feature has any, by the module."""
    table = torch.nn.Parameter(one.table.clone())
    module = fused([table], [one.feature])
    weights = one.weights.clone().requires_grad_()
    given = {"f": weights} if one.feature.weighted else None
    output = module({"f": one.values}, {"f": one.offsets}, weights=given)["f"]
    wanted = [table, weights] if one.feature.weighted else [table]
    return list(torch.autograd.grad(output, wanted, one.gradient))


def expected(one: Example) -> list[torch.Tensor]:
    """The same by PyTorch's own operator; weighted means as sums, divided."""
    feature = one.feature
    table = one.table.clone().requires_grad_()
    weights = one.weights.clone().requires_grad_()
    mode = "sum" if feature.weighted else feature.pooling
    output = embedding_bag(
        one.values,
        table,
        one.offsets,
        mode=mode,
        per_sample_weights=weights if feature.weighted else None,
        include_last_offset=True,
    )
    if feature.weighted and feature.pooling == "mean":
        output = output / one.offsets.diff().clamp(min=1)[:, None]
    wanted = [table, weights] if feature.weighted else [table]
    return list(torch.autograd.grad(output, wanted, one.gradient))


LENGTHS = {
    "ragged": (3, 0, 1, 7, 0, 2, 5),
    "one": (1, 1, 1),
    "none": (0, 0),
    "no samples": (),
    "one long": (0, 40, 0),
}


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize(
    ("pooling", "weighted"),
    [("sum", False), ("sum", True), ("mean", False), ("mean", True), ("max", False)],
)
def test_gradients_are_those_of_embedding_bag(
    pooling: str, weighted: bool, lengths: Sequence[int]
) -> None:
    one = example(Feature("f", 6, 4, pooling, weighted=weighted), lengths)
    for found, right in zip(gradients(one), expected(one), strict=True):
        assert found.dtype == right.dtype
        if pooling == "mean":
            torch.testing.assert_close(found, right, rtol=1e-6, atol=1e-6)
        else:
            assert torch.equal(found, right)


def test_of_equal_maxima_the_first_has_the_gradient() -> None:
    one = example(Feature("f", 6, 4, "max"), (4, 3))
    one.table = torch.ones(6, 4)
    one.values = torch.tensor([5, 2, 2, 0, 1, 1, 4])
    (found,) = gradients(one)
    assert torch.equal(found[[5, 1]], one.gradient)
    assert not found[[0, 2, 3, 4]].any()
    assert torch.equal(found, expected(one)[0])


@pytest.mark.parametrize("seed", range(20))
def test_random_features_have_the_gradients_of_embedding_bag(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pooling = ("sum", "max")[seed % 2]
    feature = Feature("f", int(rng.integers(1, 30)), int(rng.integers(1, 20)), pooling)
    lengths = rng.geometric(0.2, int(rng.integers(1, 30))) - 1
    one = example(feature, lengths.tolist(), seed)
    assert torch.equal(gradients(one)[0], expected(one)[0])


@pytest.mark.parametrize("pooling", ["sum", "max"])
@pytest.mark.parametrize("table_type", ["float16", "bfloat16"])
def test_gradients_of_short_types_are_summed_in_float32_and_rounded_once(
    pooling: str, table_type: str
) -> None:
    one = example(Feature("f", 6, 4, pooling, table_type, table_type), (3, 0, 1, 7))
    right = expected(one)[0]
    dtype = getattr(torch, table_type)
    one.table, one.gradient = one.table.to(dtype), one.gradient.to(dtype)
    (found,) = gradients(one)
    assert found.dtype == dtype
    assert torch.equal(found, right.to(dtype))


def test_a_shared_table_has_the_sum_of_its_features_gradients() -> None:
    features = [Feature("x", 5, 4), Feature("y", 5, 4)]
    table = torch.nn.Parameter(torch.ones(5, 4))
    module = fused({"t": table}, features, table_of={"x": "t", "y": "t"})
    values = {"x": torch.tensor([[1], [2]]), "y": torch.tensor([[2], [2]])}
    outputs = module(values)
    (outputs["x"].sum() + 2 * outputs["y"].sum()).backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[0.0] * 4, [1.0] * 4, [5.0] * 4, [0.0] * 4, [0.0] * 4]


def test_only_what_wants_gradients_has_them() -> None:
    features = [Feature("x", 5, 4), Feature("y", 5, 4, weighted=True)]
    frozen = torch.ones(5, 4)
    trained = torch.nn.Parameter(torch.ones(5, 4))
    module = fused([trained, frozen], features)
    values = {"x": torch.tensor([[1], [2]]), "y": torch.tensor([[2], [2]])}
    weights = {"y": torch.ones(2, 1, requires_grad=True)}
    module.forward_concatenated(values, weights=weights).sum().backward()
    assert trained.grad is not None
    assert trained.grad.sum() == 8
    assert weights["y"].grad is not None
    assert weights["y"].grad.tolist() == [[4.0], [4.0]]
    assert [parameter.grad is None for parameter in module.parameters()] == [False, True]


def test_outputs_that_are_not_used_have_no_part_in_gradients() -> None:
    features = [Feature("x", 5, 4), Feature("y", 5, 4, output_type="float16")]
    tables = [torch.nn.Parameter(torch.ones(5, 4)) for _ in features]
    module = fused(tables, features)
    module({"x": torch.tensor([[1]]), "y": torch.tensor([[2]])})["x"].sum().backward()
    assert tables[0].grad is not None
    assert tables[0].grad.sum() == 4
    assert tables[1].grad is None or not tables[1].grad.any()


def test_emulated_lookups_have_the_same_gradients() -> None:
    one = example(Feature("f", 6, 4, weighted=True), (3, 0, 2))
    right = expected(one)
    table = torch.nn.Parameter(one.table.clone())
    weights = one.weights.clone().requires_grad_()
    module = fused([table], [one.feature], emulated=True)
    output = module({"f": one.values}, {"f": one.offsets}, weights={"f": weights})["f"]
    found = torch.autograd.grad(output, [table, weights], one.gradient)
    assert all(torch.equal(*pair) for pair in zip(found, right, strict=True))


def test_second_derivatives_are_refused() -> None:
    one = example(Feature("f", 6, 4, weighted=True), (3, 0, 2))
    table = torch.nn.Parameter(one.table)
    module = fused([table], [one.feature])
    weights = {"f": one.weights.requires_grad_()}
    output = module({"f": one.values}, {"f": one.offsets}, weights=weights)["f"]
    (first,) = torch.autograd.grad(output.square().sum(), table, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        first.sum().backward()


def test_training_by_sgd_takes_the_same_steps_as_embedding_bag() -> None:
    one = example(Feature("f", 6, 4), (3, 0, 1, 7))
    ours, theirs = torch.nn.Parameter(one.table.clone()), torch.nn.Parameter(one.table.clone())
    module = fused([ours], [one.feature])
    optimisers = [torch.optim.SGD([table], lr=0.25) for table in (ours, theirs)]
    for _ in range(3):
        outputs = [
            module({"f": one.values}, {"f": one.offsets})["f"],
            embedding_bag(one.values, theirs, one.offsets, mode="sum", include_last_offset=True),
        ]
        for output, optimiser in zip(outputs, optimisers, strict=True):
            optimiser.zero_grad()
            (output - 1).square().sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours, theirs)
    assert not torch.equal(ours, one.table)
