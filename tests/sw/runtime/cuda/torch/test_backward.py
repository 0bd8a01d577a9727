"""Backward kernels in the emulation, against PyTorch's gradients and optimizers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.backward_kernels import (  # noqa: E402
    Example,
    Trained,
    by_kernels,
    by_pytorch,
    example,
)

FEATURES = (
    Feature("a", 9, 64),
    Feature("b", 7, 4, "sum", weighted=True),
    Feature("c", 5, 12, "max", "float16", "float16"),
    Feature("d", 3, 300, "sum", "bfloat16"),
    Feature("e", 9, 5, "max"),
)
OPTIMIZERS = (
    None,
    SGD(0.25),
    Adagrad(0.5, 1e-3),
    RowWiseAdagrad(0.5, 1e-3),
    Adam(0.5, 1e-3),
    PartialRowWiseAdam(0.5, 1e-3),
)

lengths = st.integers(0, 9).flatmap(
    lambda batch: st.lists(
        st.lists(st.integers(0, 9), min_size=batch, max_size=batch),
        min_size=len(FEATURES),
        max_size=len(FEATURES),
    )
)


def require_equal(found: Trained, right: Trained) -> None:
    for name in ("tables", "states", "weights"):
        for number, (one, other) in enumerate(
            zip(getattr(found, name), getattr(right, name), strict=True)
        ):
            assert one.dtype == other.dtype
            assert torch.equal(one, other), (name, number)


def require_close(found: Trained, right: Trained) -> None:
    for name in ("tables", "states", "weights"):
        for one, other in zip(getattr(found, name), getattr(right, name), strict=True):
            torch.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")


@settings(deadline=None, max_examples=20)
@given(lengths=lengths, seed=st.integers(0, 2**32 - 1))
def test_gradients_are_those_of_embedding_bag(lengths: list[list[int]], seed: int) -> None:
    one = example(FEATURES, lengths, seed)
    require_equal(by_kernels(one), by_pytorch(one))


@pytest.mark.parametrize("optimizer", OPTIMIZERS[1:], ids=lambda each: type(each).__name__)
@settings(deadline=None, max_examples=10)
@given(lengths=lengths, seed=st.integers(0, 2**32 - 1))
def test_steps_are_those_of_pytorch(
    optimizer: Optimizer, lengths: list[list[int]], seed: int
) -> None:
    one = example(FEATURES, lengths, seed)
    require_close(by_kernels(one, optimizer), by_pytorch(one, optimizer))


def one_feature(
    rows: int, values: Sequence[int], dim: int = 4, pooling: str = "sum", bags: int = 1
) -> Example:
    """Bags that are equally long, with gradients of -1, 0 and 1: sums are exact in any order."""
    one = example([Feature("f", rows, dim, pooling)], [[len(values) // bags] * bags])
    one.values = [torch.tensor(values, dtype=torch.int64)]
    one.gradients = [torch.from_numpy(np.arange(bags * dim).reshape(bags, dim) % 3 - 1.0).float()]
    return one


# Runs that end at, before and behind ends of segments, of segments' slots, and so on up the tree.
@pytest.mark.parametrize(
    "runs",
    [
        [31],
        [32],
        [33],
        [32, 32],
        [31, 33, 1],
        [1, 30, 2, 40],
        [64, 1, 511, 512, 513],
        [1100, 3],
        [5, 3000],
        [1] * 70,
        [1, 95, 1, 95, 1],
        [16, 16, 16, 100, 16, 16],
    ],
    ids=str,
)
@pytest.mark.parametrize("optimizer", [None, SGD(0.25)], ids=["gradients", "sgd"])
def test_runs_of_any_length(runs: list[int], optimizer: Optimizer | None) -> None:
    values = [row for row, count in enumerate(runs) for _ in range(count)]
    one = one_feature(len(runs), np.random.default_rng(0).permutation(values).tolist())
    require_equal(by_kernels(one, optimizer), by_pytorch(one, optimizer))


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda each: type(each).__name__)
def test_bits_do_not_depend_on_the_grid(optimizer: Optimizer | None) -> None:
    rng = np.random.default_rng(1)
    lengths = rng.geometric(0.05, (len(FEATURES), 40)) - 1
    one = example(FEATURES, lengths.tolist())
    one.gradients = [
        torch.from_numpy(rng.standard_normal(each.shape)).to(each.dtype) for each in one.gradients
    ]
    first = by_kernels(one, optimizer)
    for grid in (1, 3, 50):
        require_equal(by_kernels(one, optimizer, grid=grid), first)


def test_sums_of_rows_are_rounded_as_a_tree_of_segments_rounds_them() -> None:
    rng = np.random.default_rng(2)
    count = 32 * 32 * 3
    one = one_feature(1, [0] * count, bags=count)
    gradients = rng.standard_normal((count, 4)).astype(np.float32)
    one.gradients = [torch.from_numpy(gradients)]
    sums = list(gradients)
    while len(sums) > 1:
        # Slots come in pairs, of which one is zero: it adds nothing.
        size = 32 if len(sums) == count else 16
        sums = [sum(sums[at : at + size]) for at in range(0, len(sums), size)]
    assert by_kernels(one).tables[0].tolist() == [sums[0].tolist()]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda each: type(each).__name__)
def test_shared_tables_take_one_step_for_all_their_features(optimizer: Optimizer | None) -> None:
    features = [
        Feature("a", 6, 8),
        Feature("b", 6, 8, "max", output_type="bfloat16"),
        Feature("c", 4, 2, weighted=True),
        Feature("d", 6, 8, weighted=True),
    ]
    lengths = [[3, 0, 5], [2, 2, 4], [1, 0, 9], [4, 4, 4]]
    one = example(features, lengths, table_of_feature=(1, 1, 0, 1))
    require_close(by_kernels(one, optimizer), by_pytorch(one, optimizer))


def test_a_second_step_goes_on_from_the_states() -> None:
    one = example([Feature("f", 6, 8)], [[3, 2]])
    first = by_kernels(one, Adagrad(0.5))
    again = Example(**{**vars(one), "tables": first.tables})
    second = by_kernels(again, Adagrad(0.5), states=[first.states[0].clone()])
    gradient = by_pytorch(one).tables[0]
    assert torch.equal(second.states[0], 2 * gradient.square())
    step = 0.5 * gradient / ((2 * gradient.square()).sqrt() + 1e-10)
    torch.testing.assert_close(second.tables[0], first.tables[0] - step)


@pytest.mark.parametrize("optimizer", [None, RowWiseAdagrad(0.5)], ids=["gradients", "row-wise"])
def test_tables_that_are_not_trained_stay_as_they_are(optimizer: Optimizer | None) -> None:
    features = [Feature("a", 6, 8), Feature("b", 5, 8, "max"), Feature("c", 4, 8)]
    one = example(features, [[3, 2], [2, 4], [9, 1]])
    right, found = by_pytorch(one, optimizer), by_kernels(one, optimizer, (True, False, True))
    right.tables[1] = one.tables[1] if optimizer else torch.zeros_like(one.tables[1])
    if right.states:
        right.states[1].zero_()
    require_close(found, right)


def test_indices_that_no_table_has_change_nothing() -> None:
    one = example([Feature("a", 5, 4), Feature("b", 3, 4)], [[6], [2]])
    one.values = [torch.tensor([3, -1, 4, 5, 2**40, 3]), torch.tensor([0, 3])]
    one.gradients = [torch.ones(1, 4), torch.full((1, 4), 2.0)]
    first, second = by_kernels(one).tables
    assert first[:, 0].tolist() == [0, 0, 0, 2, 1]
    assert second[:, 0].tolist() == [2, 0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_random_models(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index_type = ("int32", "int64")[seed % 2]
    features = []
    for number in range(int(rng.integers(1, 6))):
        pooling = str(rng.choice(["sum", "mean", "max"]))
        types = [str(rng.choice(["float32", "float16", "bfloat16"])) for _ in range(2)]
        weighted = bool(pooling != "max" and rng.integers(2))
        dim = int(rng.choice([1, 4, 10, 32, 128, 200]))
        features.append(
            Feature(
                f"f{number}", int(rng.integers(1, 40)), dim, pooling, *types, index_type, weighted
            )
        )
    lengths = rng.geometric(0.3, (len(features), int(rng.integers(1, 20)))) - 1
    one = example(features, lengths.tolist(), seed)
    optimizer = OPTIMIZERS[seed]
    require_close(by_kernels(one, optimizer), by_pytorch(one, optimizer))
