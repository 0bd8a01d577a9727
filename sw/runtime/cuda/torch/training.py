"""The registered operators of lookups whose tables an optimizer trains in the backward pass:
``gnarl::trained_embedding_bags`` and ``gnarl::step_embedding_bags``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.optimizers import (
    Adagrad,
    Optimizer,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.golden_steps import has_golden_steps, take_golden_steps
from gnarl.sw.runtime.cuda.torch.gradients import (
    by_kernels,
    check_weights,
    pytorch_gradients,
    take_step_by_kernels,
)
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator import fused_embedding_bags_backward, look_up
from gnarl.sw.runtime.cuda.torch.optimizer_state import OptimizerState, check_tensor


@torch.library.custom_op("gnarl::trained_embedding_bags", mutates_args=())
def trained_embedding_bags(
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    states: Sequence[torch.Tensor],
    learning_rate: torch.Tensor,
    program: str,
) -> list[torch.Tensor]:
    """Does what ``gnarl::fused_embedding_bags`` does, but tables that require gradients are given
    none: the backward pass takes the optimizer's step of them.

    states
        of each table, as ``new_states`` makes them, then the count of iterations of optimizers
        that have one; empty for optimizers without.
    learning_rate
        float32 [].
    """
    return look_up(tables, values, offsets, weights, program)


@trained_embedding_bags.register_fake
def _fake(*arguments: Any) -> list[torch.Tensor]:
    tables, values, offsets, weights, _, _, program = arguments
    return Lookup(tables, values, offsets, weights, program).new_outputs()


# It returns nothing, since PyTorch's compilers take no operators that write to lists of tensors and
# return others.
@torch.library.custom_op("gnarl::step_embedding_bags", mutates_args=("tables", "states"))
def step_embedding_bags(
    gradients: Sequence[torch.Tensor],
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    states: Sequence[torch.Tensor],
    learning_rate: torch.Tensor,
    program: str,
    wanted: Sequence[bool],
) -> None:
    """Takes the optimizer's step of the wanted tables.

    gradients
        of the outputs, [batch, width] each; other arguments are the operator's.

    Raises ``WorkloadError`` for states that are not those of wanted tables.
    """
    lookup = Lookup(tables, values, offsets, weights, program)
    optimizer = lookup.compiled.optimizer
    if optimizer is None:
        raise WorkloadError("program: has no optimizer: must have one")
    check_tensor("learning rate", learning_rate, torch.Size(), values.device)
    state = OptimizerState(optimizer, tables, states, wanted)
    numbers = state.next_numbers(optimizer, learning_rate)
    if by_kernels(lookup):
        take_step_by_kernels(lookup, gradients, wanted, state.states, numbers)
        return
    computed = pytorch_gradients(lookup, gradients, wanted, False)
    of_tables = dict(zip(state.of_tables, computed, strict=True))
    if has_golden_steps(optimizer):
        take_golden_steps(lookup, optimizer, of_tables, state.of_tables, numbers)
        return
    for number, gradient in of_tables.items():
        own = state.of_tables[number]
        _take_step(optimizer, tables[number], gradient, own[0] if own else None, learning_rate)


def _take_step(
    optimizer: Optimizer,
    table: torch.Tensor,
    gradient: torch.Tensor,
    state: torch.Tensor | None,
    learning_rate: torch.Tensor,
) -> None:
    """Takes the optimizer's step of a table. ``gradient``: float32, in the shape of the table."""
    step = gradient * learning_rate
    if state is not None and isinstance(optimizer, Adagrad):
        state += gradient.square()
        step /= state.sqrt() + optimizer.eps
    elif state is not None and isinstance(optimizer, RowWiseAdagrad):
        state += gradient.square().mean(1)
        step /= (state.sqrt() + optimizer.eps)[:, None]
    table.copy_(table.float() - step)


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    tables, values, offsets, weights, states, learning_rate, program = inputs
    check_weights(weights, program)
    ctx.save_for_backward(values, offsets, weights, learning_rate, *tables, *states)
    ctx.tables = len(tables)
    ctx.program = program


def _step(ctx: Any, gradients: list[torch.Tensor]) -> tuple[Any, ...]:
    if getattr(ctx, "taken", False):
        raise WorkloadError(
            "backward: the optimizer has taken its step of this lookup: its outputs must be "
            "differentiated together, as in (a + b).backward()"
        )
    values, offsets, weights, learning_rate, *rest = ctx.saved_tensors
    tables, states = rest[: ctx.tables], rest[ctx.tables :]
    wanted, _, _, weights_wanted, *_ = ctx.needs_input_grad
    inputs = (gradients, tables, values, offsets, weights)
    of_weights = None
    if weights_wanted:
        none = [False] * len(tables)
        (of_weights,) = fused_embedding_bags_backward(*inputs, ctx.program, none, True)
    step_embedding_bags(*inputs, states, learning_rate, ctx.program, list(wanted))
    ctx.taken = True
    return [None] * len(tables), None, None, of_weights, [None] * len(states), None, None


trained_embedding_bags.register_autograd(_step, setup_context=_save)
