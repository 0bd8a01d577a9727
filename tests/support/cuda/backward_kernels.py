"""Backward kernels in the emulation, and what PyTorch's own operators give in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.optimizers import SGD, Adagrad, Optimizer, RowWiseAdagrad
from gnarl.sw.runtime.cuda.torch.backward import (
    Arguments,
    BackwardInputs,
    Launch,
    TrainedTables,
    side_by_side,
    train_tables,
    weights_gradient,
)
from gnarl.sw.runtime.cuda.torch.backward_launch import emulated
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.cuda.torch_embedding import dyadic


@dataclass
class Example:
    """A model's tables, one batch, and the gradients of its outputs, [batch, dim] by feature."""

    model: EmbeddingModel
    table_of_feature: tuple[int, ...]
    tables: list[torch.Tensor]
    lengths: list[list[int]]
    values: list[torch.Tensor]
    weights: list[torch.Tensor]
    gradients: list[torch.Tensor]

    @property
    def batch(self) -> int:
        return len(self.lengths[0])

    @property
    def offsets(self) -> torch.Tensor:
        """Offsets of all features, one after the other, [features * batch + 1]."""
        sizes = [size for lengths in self.lengths for size in lengths]
        return torch.tensor([0, *np.cumsum(sizes)], dtype=self.values[0].dtype)


def example(
    features: Sequence[Feature],
    lengths: Sequence[Sequence[int]],
    seed: int = 0,
    table_of_feature: Sequence[int] | None = None,
) -> Example:
    """An example of dyadic numbers, whose sums are exact in any order if rows are not looked up too
    often."""
    rng = np.random.default_rng(seed)
    numbers = tuple(table_of_feature or range(len(features)))
    by_table = dict(zip(numbers, features, strict=True))
    index_type = TORCH_TYPES[features[0].index_type]
    counts = [sum(of_feature) for of_feature in lengths]
    return Example(
        EmbeddingModel("m", tuple(features)),
        numbers,
        [
            dyadic(rng, by_table[n].rows, by_table[n].dim).to(TORCH_TYPES[by_table[n].table_type])
            for n in sorted(by_table)
        ],
        [list(of_feature) for of_feature in lengths],
        [
            torch.from_numpy(rng.integers(0, feature.rows, count)).to(index_type)
            for feature, count in zip(features, counts, strict=True)
        ],
        [torch.from_numpy(rng.integers(1, 9, count).astype(np.float32) / 4) for count in counts],
        [
            dyadic(rng, len(of_feature), feature.dim).to(TORCH_TYPES[feature.output_type])
            for feature, of_feature in zip(features, lengths, strict=True)
        ],
    )


@dataclass
class Trained:
    """What a backward pass left, by table: gradients, or tables and states after a step; and the
    gradients of weights, by feature."""

    tables: list[torch.Tensor]
    states: list[torch.Tensor]
    weights: list[torch.Tensor]


def new_states(optimizer: Optimizer | None, tables: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if isinstance(optimizer, RowWiseAdagrad):
        return [torch.zeros(len(table)) for table in tables]
    if isinstance(optimizer, Adagrad):
        return [torch.zeros(table.shape) for table in tables]
    return []


def by_kernels(
    one: Example,
    optimizer: Optimizer | None = None,
    trained: Sequence[bool] | None = None,
    *,
    grid: int | None = None,
    states: Sequence[torch.Tensor] | None = None,
) -> Trained:
    """``grid``: blocks of every launch, for each class of tables."""
    trained = tuple(trained or [True] * len(one.tables))
    program = BackwardProgram(
        one.model, one.table_of_feature, trained, one.model.features[0].index_type, optimizer
    )
    tables = [table.clone() for table in one.tables]
    states = list(states or new_states(optimizer, tables))
    written = tables if optimizer else [torch.zeros_like(table) for table in tables]
    buffers: dict[str, list[torch.Tensor]] = {}
    for feature, gradient in zip(one.model.features, one.gradients, strict=True):
        buffers.setdefault(feature.output_type, []).append(gradient)
    inputs = BackwardInputs(
        torch.cat(one.values),
        one.offsets,
        torch.cat(one.weights),
        side_by_side(program, [torch.cat(parts, dim=1) for parts in buffers.values()]),
        addresses(tables),
    )
    launch = emulated(program, [*dict.fromkeys([*tables, *written, *states])])
    if grid is not None:
        launch = _with_grid(launch, program, grid)
    weights = weights_gradient(launch, inputs).split([len(values) for values in one.values])
    train_tables(
        program,
        launch,
        inputs,
        TrainedTables(
            addresses([written[number] for number in program.order]),
            addresses([states[number] for number in program.order]) if states else None,
            torch.tensor(optimizer.lr) if optimizer else None,
        ),
    )
    return Trained(written, states, list(weights))


def addresses(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([tensor.data_ptr() for tensor in tensors], dtype=torch.int64)


def _with_grid(launch: Launch, program: BackwardProgram, grid: int) -> Launch:
    def launch_so(kernel: str, blocks: int, arguments: Arguments) -> None:
        launch(kernel, grid * len(program.tables_of_class) if "sum" in kernel else grid, arguments)

    return launch_so


def by_pytorch(one: Example, optimizer: Optimizer | None = None) -> Trained:
    """A step by ``embedding_bag`` in float32 and ``torch.optim``; row-wise Adagrad as its formula
    says."""
    tables = [table.float().clone().requires_grad_() for table in one.tables]
    weights = [each.clone().requires_grad_() for each in one.weights]
    loss = torch.zeros(())
    for number, feature in enumerate(one.model.features):
        output = embedding_bag(
            feature,
            tables[one.table_of_feature[number]],
            one.values[number],
            one.lengths[number],
            weights[number],
        )
        loss = loss + (output * one.gradients[number].float()).sum()
    loss.backward()
    gradients = [
        torch.zeros_like(table) if table.grad is None else table.grad.detach() for table in tables
    ]
    of_weights = [torch.zeros_like(each) if each.grad is None else each.grad for each in weights]
    if optimizer is None:
        return Trained(_as(gradients, one.tables), [], of_weights)
    states = []
    if isinstance(optimizer, RowWiseAdagrad):
        for table, gradient in zip(tables, gradients, strict=True):
            state = gradient.square().mean(1)
            table.data -= optimizer.lr / (state.sqrt() + optimizer.eps)[:, None] * gradient
            states.append(state)
    else:
        step: Any = (
            torch.optim.SGD(tables, lr=optimizer.lr)
            if isinstance(optimizer, SGD)
            else torch.optim.Adagrad(tables, lr=optimizer.lr, eps=optimizer.eps)
        )
        step.step()
        if isinstance(optimizer, Adagrad):
            states = [
                step.state[table].get("sum", torch.zeros_like(table.detach())) for table in tables
            ]
    return Trained(_as([table.detach() for table in tables], one.tables), states, of_weights)


def embedding_bag(
    feature: Feature,
    table: torch.Tensor,
    values: torch.Tensor,
    lengths: Sequence[int],
    weights: torch.Tensor,
) -> torch.Tensor:
    """Weighted means as sums, divided."""
    output = torch.nn.functional.embedding_bag(
        values,
        table,
        torch.tensor([0, *np.cumsum(lengths)], dtype=values.dtype),
        mode="sum" if feature.weighted else feature.pooling,
        per_sample_weights=weights if feature.weighted else None,
        include_last_offset=True,
    )
    if feature.weighted and feature.pooling == "mean":
        output = output / torch.tensor(lengths).clamp(min=1)[:, None]
    return output


def _as(tensors: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [one.to(other.dtype) for one, other in zip(tensors, like, strict=True)]
