"""The registered operators: ``gnarl::fused_embedding_bags``, its backward, and
``gnarl::fused_embedding_bags_at``, which costs the host the same however many features there are.

Importing this module registers them, which processes that load an exported graph must do. What
computes depends on where the tensors are: on a GPU the fused kernel, on the CPU PyTorch's own
operators or the emulation of a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.gradients import (
    by_kernels,
    check_weights,
    kernel_gradients,
    look_up_unpooled,
    pytorch_gradients,
)
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.pooling import pool
from gnarl.sw.runtime.cuda.torch.sparse_gradients import sparse_gradients


def look_up(
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    program: str,
) -> list[torch.Tensor]:
    """What ``gnarl::fused_embedding_bags`` does."""
    weights = None if weights is None else weights.contiguous()
    lookup = Lookup(tables, values.contiguous(), offsets.contiguous(), weights, program)
    lookup.check()
    if lookup.compiled.checked:
        lookup.check_values()
    elif values.device.type == "cpu":
        lookup.check_offsets()
    outputs = lookup.new_outputs()
    if lookup.compiled.unpooled:
        look_up_unpooled(lookup, *outputs)
    elif values.device.type == "cuda":
        from gnarl.sw.runtime.cuda.torch.launch import launch, table_addresses

        launch(lookup, outputs, table_addresses(lookup))
    elif values.device.type != "cpu":
        raise WorkloadError(f"input: is on {values.device}: must be on a GPU or the CPU")
    elif lookup.compiled.emulated:
        from gnarl.sw.runtime.cuda.torch.emulation import emulate

        emulate(lookup, outputs)
    else:
        columns = lookup.of_features(outputs)
        for output, (feature, table, inputs) in zip(columns, lookup.features(), strict=True):
            output.copy_(pool(feature, tables[table], *inputs))
    return outputs


@torch.library.custom_op("gnarl::fused_embedding_bags", mutates_args=())
def fused_embedding_bags(
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    program: str,
) -> list[torch.Tensor]:
    """Looks up and pools all features of a model: a buffer [batch, width] for each output type, or
    [values, dim] of programs that do not pool.

    tables
        each [rows, dim]; which one a feature has is in the program.
    values, offsets, weights
        as in ``PackedInputs``.
    program
        ``OperatorProgram.text``, or the ``handle`` of one that this process knows.

    Differentiable once, in tables and weights. Raises ``WorkloadError`` for tables that are not
    the program's, tensors on several devices, and, if the program is checked, for the first bad
    offset or index. Unchecked, on a GPU, those mean undefined results.
    """
    return look_up(tables, values, offsets, weights, program)


@fused_embedding_bags.register_fake
def _fake(*arguments: Any) -> list[torch.Tensor]:
    return Lookup(*arguments).new_outputs()


# The kernels are given addresses of new gradients, which are copied from the host.
@torch.library.custom_op(
    "gnarl::fused_embedding_bags_backward",
    mutates_args=(),
    tags=(torch.Tag.cudagraph_unsafe,),
)
def fused_embedding_bags_backward(
    gradients: Sequence[torch.Tensor],
    tables: Sequence[torch.Tensor],
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    program: str,
    wanted: Sequence[bool],
    weights_wanted: bool,
    trained: Sequence[bool] | None = None,
) -> list[torch.Tensor]:
    """Gradients of the wanted tables, in order and in their types, then of weights if wanted.

    gradients
        of the outputs, [batch, width] each; other arguments are the operator's.
    wanted
        for each table whether its gradient is.
    trained
        for each table whether it is in some pass: kernels are compiled once for all of these.
    """
    lookup = Lookup(tables, values, offsets, weights, program)
    if by_kernels(lookup):
        return kernel_gradients(lookup, gradients, wanted, weights_wanted, trained or wanted)
    types = [table.dtype for table, want in zip(tables, wanted, strict=True) if want]
    computed = pytorch_gradients(lookup, gradients, wanted, weights_wanted)
    of_tables = [one.to(type) for one, type in zip(computed, types, strict=False)]
    return [*of_tables, *computed[len(types) :]]


@fused_embedding_bags_backward.register_fake
def _fake_backward(*arguments: Any) -> list[torch.Tensor]:
    _, tables, values, _, _, _, wanted, weights_wanted, *_ = arguments
    gradients_like = [
        table.new_empty(table.shape) for table, want in zip(tables, wanted, strict=True) if want
    ]
    if weights_wanted:
        gradients_like.append(values.new_empty(values.shape, dtype=torch.float32))
    return gradients_like


def _save(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    tables, values, offsets, weights, program = inputs
    check_weights(weights, program)
    ctx.save_for_backward(values, offsets, weights, *tables)
    ctx.program = program


def _backward(ctx: Any, gradients: list[torch.Tensor]) -> tuple[Any, ...]:
    values, offsets, weights, *tables = ctx.saved_tensors
    wanted, _, _, weights_wanted, *_ = ctx.needs_input_grad
    lookup = Lookup(tables, values, offsets, weights, ctx.program)
    of_tables, of_weights = find_gradients(lookup, gradients, wanted, weights_wanted)
    return of_tables, None, None, of_weights, None


def find_gradients(
    lookup: Lookup,
    gradients: Sequence[torch.Tensor],
    wanted: Sequence[bool],
    weights_wanted: bool,
    trained: Sequence[bool] | None = None,
) -> tuple[list[torch.Tensor | None], torch.Tensor | None]:
    """Gradients of tables, dense or sparse, and of weights, where they are wanted; arguments are
    those of ``fused_embedding_bags_backward``."""
    of_program = lookup.compiled.sparse
    sparse = [number for number in of_program if wanted[number]]
    found = dict(sparse_gradients(lookup, gradients, sparse)) if sparse else {}
    dense = [want and number not in found for number, want in enumerate(wanted)]
    if trained is not None:
        trained = [each and number not in of_program for number, each in enumerate(trained)]
    if any(dense) or weights_wanted or not found:
        inputs = (lookup.tables, lookup.values, lookup.offsets, lookup.weights, lookup.program)
        computed = fused_embedding_bags_backward(gradients, *inputs, dense, weights_wanted, trained)
        numbers = [number for number, want in enumerate(dense) if want]
        found.update(zip(numbers, computed, strict=False))
    of_weights = computed[-1] if weights_wanted else None
    return [found.get(number) for number in range(len(wanted))], of_weights


fused_embedding_bags.register_autograd(_backward, setup_context=_save)


_LIBRARY = torch.library.Library("gnarl", "FRAGMENT")
_LIBRARY.define(
    "fused_embedding_bags_at(Tensor addresses, Tensor values, Tensor offsets, Tensor? weights, "
    "str program) -> Tensor[]"
)


@torch.library.impl(_LIBRARY, "fused_embedding_bags_at", "CUDA")
def _fused_embedding_bags_at(
    addresses: torch.Tensor,
    values: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    program: str,
) -> list[torch.Tensor]:
    """Does what ``fused_embedding_bags`` does on a GPU, not differentiable; inputs are contiguous.

    addresses
        int64 [features], ``table_addresses`` of tables that somebody keeps.
    """
    from gnarl.sw.runtime.cuda.torch.launch import launch

    lookup = Lookup((), values, offsets, weights, program)
    lookup.check_inputs()
    outputs = lookup.new_outputs()
    launch(lookup, outputs, addresses)
    return outputs


@torch.library.register_fake("gnarl::fused_embedding_bags_at", lib=_LIBRARY)
def _fake_at(addresses: torch.Tensor, *arguments: Any) -> list[torch.Tensor]:
    return Lookup((), *arguments).new_outputs()
