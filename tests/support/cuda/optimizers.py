"""Steps of optimizers, of kernels in the emulation and of modules of one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gnarl.sw.compiler.cuda.optimizers import Optimizer
from gnarl.sw.workloads.embedding.model import Feature
from tests.support.cuda.backward_kernels import Example, by_golden_model, by_kernels, example
from tests.support.cuda.torch_embedding import fused

FEATURES = (
    Feature("a", 9, 64),
    Feature("b", 7, 4, "sum", weighted=True),
    Feature("c", 8, 12, "max", "float16", "float16"),
    Feature("d", 6, 300, "sum", "bfloat16"),
    Feature("e", 9, 5, "max"),
    Feature("f", 5, 10, "sum", "float16"),
)


def rows_once(seed: int) -> Example:
    """A batch that looks no row up twice, so that gradients are no sums, of any numbers."""
    rng = np.random.default_rng(seed)
    one = example(FEATURES, [[2, 0, 3] for _ in FEATURES], seed)
    one.values = [torch.from_numpy(rng.permutation(each.rows)[:5]) for each in FEATURES]
    one.weights = [torch.from_numpy(rng.standard_normal(5).astype(np.float32)) for _ in FEATURES]
    one.gradients = [
        torch.from_numpy(rng.standard_normal(each.shape) * 10.0 ** rng.integers(-6, 2)).to(each)
        for each in one.gradients
    ]
    one.tables = [torch.from_numpy(rng.standard_normal(each.shape)).to(each) for each in one.tables]
    return one


def rows_again(seed: int) -> Example:
    """A batch that looks rows up again and again, in a bag and in several, of numbers whose sums
    are exact in any order; bags may be empty, and all of a feature's."""
    rng = np.random.default_rng(seed)
    lengths = [[int(rng.choice([0, 1, 2, 7, 40])) for _ in range(3)] for _ in FEATURES]
    return example(FEATURES, lengths, seed)


def require_bits_of_the_golden_model(
    optimizer: Optimizer, draw: Callable[[int], Example] = rows_once, first: int = 0
) -> None:
    """Takes four steps by both, on batches of seeds from ``first``."""
    tables, states = draw(first).tables, None
    for iteration in range(1, 5):
        one = replace(draw(first + iteration), tables=tables)
        right = by_golden_model(one, optimizer, states, iteration)
        found = by_kernels(one, optimizer, states=states, iteration=iteration)
        pairs = zip([*found.tables, *found.states], [*right.tables, *right.states], strict=True)
        for number, (ours, theirs) in enumerate(pairs):
            assert torch.equal(ours, theirs), number
        assert not all(map(torch.equal, found.tables, tables))
        tables, states = found.tables, found.states


def table_module(optimizer: Optimizer, **options: Any) -> tuple[Any, torch.nn.Parameter]:
    """A module of one table, [6, 4], of random numbers."""
    table = torch.nn.Parameter(torch.randn(6, 4, generator=torch.manual_seed(0)))
    return fused([table], [Feature("f", 6, 4)], optimizer=optimizer, **options), table


def train_rows(module: Any, rows: list[int], seed: int = 0) -> torch.Tensor:
    """Looks the rows up, each for a bag of its own, and gives the outputs' gradient."""
    gradient = torch.randn(len(rows), 4, generator=torch.manual_seed(seed))
    module.forward_concatenated({"f": torch.tensor(rows)[:, None]}).backward(gradient)
    return gradient
