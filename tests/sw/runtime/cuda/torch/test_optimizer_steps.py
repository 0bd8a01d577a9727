"""Optimizers' steps: kernels in the emulation have the bits of the golden model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.optimizer_steps import fused_multiply_add  # noqa: E402
from tests.support.cuda.optimizers import (  # noqa: E402
    require_bits_of_the_golden_model,
    rows_again,
    table_module,
    train_rows,
)
from tests.support.errors import refused  # noqa: E402

OPTIMIZERS = (
    SGD(0.3),
    Adagrad(0.3, 1e-3),
    RowWiseAdagrad(0.3, 1e-3),
    Adam(0.3, 1e-3),
    PartialRowWiseAdam(0.3, 1e-3, beta1=0.8, beta2=0.95),
)
NAMES = {"ids": lambda each: type(each).__name__}


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_kernels_have_the_bits_of_the_golden_model(optimizer: Optimizer) -> None:
    require_bits_of_the_golden_model(optimizer)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_rows_that_are_looked_up_again_have_one_step(optimizer: Optimizer) -> None:
    for first in (0, 5):
        require_bits_of_the_golden_model(optimizer, rows_again, first)


def test_fused_multiply_add_rounds_once() -> None:
    rng = np.random.default_rng(0)
    one, other = (rng.standard_normal(20_000).astype(np.float32) for _ in range(2))
    # Sums so close to the middle of two numbers that float64 has them there.
    added = np.ldexp(rng.standard_normal(20_000), rng.integers(-60, 60, 20_000)).astype(np.float32)
    one[:3], other[:3] = np.float32(1 + 2**-12), np.float32(1 + 2**-12)
    added[:3] = 2**-60, -(2**-60), 0
    exact = one.astype(np.longdouble) * other + added
    found = fused_multiply_add(one, other, added)
    assert found[0] > found[1] == found[2]
    assert (found == exact.astype(np.float32))[3:].mean() > 0.999


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
def test_adam_is_pytorchs_where_all_rows_are_looked_up(emulated: bool) -> None:
    module, table = table_module(Adam(0.1, 1e-4, beta1=0.7, beta2=0.9), emulated=emulated)
    leaf = torch.nn.Parameter(table.detach().clone())
    dense = torch.optim.Adam([leaf], lr=0.1, eps=1e-4, betas=(0.7, 0.9))
    for seed in range(6):
        leaf.grad = train_rows(module, list(range(6)), seed)
        dense.step()
        torch.testing.assert_close(table, leaf, rtol=1e-5, atol=1e-6)
    assert module.iter.item() == 6


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
def test_adam_is_sparse_adam_where_eps_is_small(emulated: bool) -> None:
    """``SparseAdam`` adds eps to what is not corrected."""
    module, table = table_module(Adam(0.1, 1e-12), emulated=emulated)
    leaf = torch.nn.Parameter(table.detach().clone())
    sparse = torch.optim.SparseAdam([leaf], lr=0.1, eps=1e-12)
    for seed, rows in enumerate([[0, 3], [3, 1], [5], [0, 1, 2, 3, 5]]):
        gradient = train_rows(module, rows, seed)
        leaf.grad = torch.sparse_coo_tensor([rows], gradient, leaf.shape, check_invariants=True)
        sparse.step()
        torch.testing.assert_close(table, leaf, rtol=1e-5, atol=1e-6)
    for name, state in (("momentum1", "exp_avg"), ("momentum2", "exp_avg_sq")):
        found = getattr(module.embedding_bags["0"], name)
        torch.testing.assert_close(found, sparse.state[leaf][state])


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
@pytest.mark.parametrize("kind", [Adam, PartialRowWiseAdam])
def test_iterations_are_those_of_the_module(kind: Any, emulated: bool) -> None:
    """A row's first step, in the third iteration, is corrected as of a third."""
    module, table = table_module(kind(0.1, 1e-8), emulated=emulated)
    before = table.detach().clone()
    train_rows(module, [0])
    train_rows(module, [1])
    assert torch.equal(table[2:], before[2:])
    gradient = train_rows(module, [2])[0]
    squares = gradient.square()
    second = squares if kind is Adam else squares.mean().expand(4)
    first = 0.1 * gradient / (1 - 0.9**3)
    step = first / ((0.001 * second / (1 - 0.999**3)).sqrt() + 1e-8)
    torch.testing.assert_close(table[2].detach(), before[2] - 0.1 * step)
    assert torch.equal(table[3:], before[3:])
    assert not module.embedding_bags["0"].momentum1[3:].any()


@pytest.mark.parametrize("kind", [Adam, PartialRowWiseAdam])
def test_the_cpu_has_the_bits_of_the_kernels(kind: Any) -> None:
    (here, one), (there, other) = (
        table_module(kind(0.1), emulated=emulated) for emulated in (False, True)
    )
    for seed in range(4):
        for module in (here, there):
            train_rows(module, [1, 4, 5], seed)
    assert torch.equal(one, other)
    for state, same in zip(here.buffers(), there.buffers(), strict=True):
        assert torch.equal(state, same)


def test_a_state_goes_on_counting() -> None:
    module, table = table_module(Adam(0.1))
    other, same = table_module(Adam(0.1))
    train_rows(module, [1, 2])
    other.load_state_dict(module.state_dict())
    assert other.iter.item() == 1
    for each in (module.half().float(), other):
        train_rows(each, [2], 1)
    assert module.iter.dtype == torch.int64
    assert module.embedding_bags["0"].momentum1.dtype == torch.float32
    torch.testing.assert_close(table, same, rtol=1e-2, atol=1e-3)


def test_counts_that_are_no_integers_are_refused() -> None:
    module, _ = table_module(Adam(0.1))
    module.iter = module.iter.float()
    with refused("iter: is float32 [] on cpu: must be int64 [] on cpu"):
        train_rows(module, [1])


@pytest.mark.parametrize("beta", [1, -0.1, float("nan"), "half", True])
def test_betas_out_of_range_are_refused(beta: Any) -> None:
    for name in ("beta1", "beta2"):
        with refused(f"optimizer Adam: {name} = {beta!r}: must be a number from 0 to below 1"):
            Adam(0.1, **{name: beta})
