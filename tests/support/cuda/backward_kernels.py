"""Backward kernels in the emulation, and what PyTorch's own operators give in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.optimizer_steps import TableStep, step_numbers
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
from gnarl.sw.runtime.cuda.torch.extra import to_array
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
    """What a backward pass left, by table: gradients, or tables and all states of each after a
    step; and the gradients of weights, by feature."""

    tables: list[torch.Tensor]
    states: list[torch.Tensor]
    weights: list[torch.Tensor]


def new_states(optimizer: Optimizer | None, tables: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Zeroes: all states of each table."""
    of_rows: list[bool] = {
        RowWiseAdagrad: [True],
        Adagrad: [False],
        Adam: [False, False],
        PartialRowWiseAdam: [False, True],
    }.get(type(optimizer), [])
    return [
        torch.zeros(table.shape[:1] if each else table.shape)
        for table in tables
        for each in of_rows
    ]


def program_of(
    one: Example, optimizer: Optimizer | None, trained: Sequence[bool] | None = None
) -> BackwardProgram:
    return BackwardProgram(
        one.model,
        one.table_of_feature,
        tuple(trained or [True] * len(one.tables)),
        one.model.features[0].index_type,
        optimizer,
    )


def by_kernels(
    one: Example,
    optimizer: Optimizer | None = None,
    trained: Sequence[bool] | None = None,
    *,
    grid: int | None = None,
    states: Sequence[torch.Tensor] | None = None,
    iteration: int = 1,
) -> Trained:
    """``grid``: blocks of every launch, for each class of tables."""
    program = program_of(one, optimizer, trained)
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
    of_order = [
        state for number in program.order for state in states_of(states, number, len(tables))
    ]
    numbers = optimizer and torch.from_numpy(
        step_numbers(optimizer, np.float32(optimizer.lr), iteration)
    )
    train_tables(
        program,
        launch,
        inputs,
        TrainedTables(
            addresses([written[number] for number in program.order]),
            addresses(of_order) if states else None,
            numbers,
        ),
    )
    return Trained(written, states, list(weights))


def states_of(states: Sequence[torch.Tensor], table: int, tables: int) -> Sequence[torch.Tensor]:
    """Of all tables' states, those of one."""
    each = len(states) // tables
    return states[table * each : (table + 1) * each]


def by_golden_model(
    one: Example,
    optimizer: Optimizer,
    states: Sequence[torch.Tensor] | None = None,
    iteration: int = 1,
) -> Trained:
    """A step by the golden model, of the gradients that PyTorch finds."""
    program = program_of(one, optimizer)
    tables = [table.clone() for table in one.tables]
    changed = [state.clone() for state in states or new_states(optimizer, tables)]
    gradients, of_weights = gradients_of(one)
    for kind, numbers in program.tables_of_class.items():
        for number in numbers:
            of_features = zip(one.table_of_feature, one.values, strict=True)
            rows = torch.cat([each.long() for table, each in of_features if table == number])
            rows = rows.unique()
            own = states_of(changed, number, len(tables))
            parts = [to_array(state[rows]) for state in own]
            step = TableStep(
                to_array(tables[number][rows].float()),
                to_array(gradients[number][rows]),
                parts,
                step_numbers(optimizer, np.float32(optimizer.lr), iteration),
                kind,
            )
            taken = step.taken(optimizer)
            if tables[number].dtype == torch.float16:
                taken = step.rounded(optimizer, taken, number, to_array(rows))
            tables[number][rows] = torch.from_numpy(taken).to(tables[number].dtype)
            for state, part in zip(own, parts, strict=True):
                state[rows] = torch.from_numpy(part)
    return Trained(tables, changed, of_weights)


def addresses(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([tensor.data_ptr() for tensor in tensors], dtype=torch.int64)


def _with_grid(launch: Launch, program: BackwardProgram, grid: int) -> Launch:
    def launch_so(kernel: str, blocks: int, arguments: Arguments) -> None:
        launch(kernel, grid * len(program.tables_of_class) if "sum" in kernel else grid, arguments)

    return launch_so


def gradients_of(one: Example) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Of tables and of weights, by ``embedding_bag`` in float32."""
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
    of_tables, of_weights = (
        [torch.zeros_like(each) if each.grad is None else each.grad.detach() for each in leaves]
        for leaves in (tables, weights)
    )
    return of_tables, of_weights


def by_pytorch(one: Example, optimizer: Optimizer | None = None) -> Trained:
    """A first step by ``embedding_bag`` in float32 and ``torch.optim``; row-wise optimizers as
    their formulas say."""
    gradients, of_weights = gradients_of(one)
    if optimizer is None:
        return Trained(_as(gradients, one.tables), [], of_weights)
    tables, states = [table.float().clone() for table in one.tables], []
    for table, gradient in zip(tables, gradients, strict=True):
        if isinstance(optimizer, RowWiseAdagrad | PartialRowWiseAdam):
            states += _row_wise_step(optimizer, table, gradient)
        else:
            states += _pytorch_step(optimizer, table, gradient)
    return Trained(_as(tables, one.tables), states, of_weights)


def _row_wise_step(
    optimizer: RowWiseAdagrad | PartialRowWiseAdam, table: torch.Tensor, gradient: torch.Tensor
) -> list[torch.Tensor]:
    mean = gradient.square().mean(1)
    table -= optimizer.lr / (mean.sqrt() + optimizer.eps)[:, None] * gradient
    if isinstance(optimizer, RowWiseAdagrad):
        return [mean]
    return [(1 - optimizer.beta1) * gradient, (1 - optimizer.beta2) * mean]


def _pytorch_step(
    optimizer: SGD | Adagrad | Adam, table: torch.Tensor, gradient: torch.Tensor
) -> list[torch.Tensor]:
    leaf = torch.nn.Parameter(table)
    leaf.grad = gradient
    step = pytorch_optimizer(optimizer, [leaf])
    step.step()
    names = {Adagrad: ["sum"], Adam: ["exp_avg", "exp_avg_sq"]}.get(type(optimizer), [])
    return [step.state[leaf][name] for name in names]


def pytorch_optimizer(
    optimizer: SGD | Adagrad | Adam, tables: Sequence[torch.nn.Parameter]
) -> torch.optim.Optimizer:
    options: dict[str, Any] = {"lr": optimizer.lr, "weight_decay": optimizer.weight_decay}
    if isinstance(optimizer, SGD):
        return torch.optim.SGD(tables, **options)
    options["eps"] = optimizer.eps
    if isinstance(optimizer, Adagrad):
        return torch.optim.Adagrad(tables, **options)
    kind = torch.optim.AdamW if optimizer.decoupled else torch.optim.Adam
    return kind(tables, betas=(optimizer.beta1, optimizer.beta2), **options)


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
