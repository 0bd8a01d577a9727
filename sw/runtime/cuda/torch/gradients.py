"""Gradients of lookups: by backward kernels on a GPU and in the emulation, by PyTorch's own
operators for other tensors of the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.runtime.cuda.torch import pooling
from gnarl.sw.runtime.cuda.torch.backward import (
    BackwardInputs,
    Launch,
    TrainedTables,
    side_by_side,
    train_tables,
    weights_gradient,
)
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.kept import kept_addresses
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program
from gnarl.sw.runtime.cuda.torch.unpooled import find_embeddings, train_unpooled

Tensors = Sequence[torch.Tensor]


def check_weights(weights: torch.Tensor | None, program: str) -> None:
    """Raises ``WorkloadError`` for weights that require gradients, but cannot have any."""
    if weights is not None and weights.requires_grad:
        for feature in operator_program(program).model.features:
            if feature.rowwise and feature.weighted:
                raise WorkloadError(
                    f"feature {feature.name}: weights require gradients: not supported with "
                    f"{feature.table_type} tables, which are for inference"
                )


def by_kernels(lookup: Lookup) -> bool:
    """Whether backward kernels are what computes a lookup's gradients."""
    return lookup.values.device.type == "cuda" or lookup.compiled.emulated


def look_up_unpooled(lookup: Lookup, output: torch.Tensor) -> None:
    """Fills the output of a program that does not pool."""
    if not by_kernels(lookup):
        rows = lookup.of_features([output])
        for own, (_, table, (indices, _, _)) in zip(rows, lookup.features(), strict=True):
            own.copy_(lookup.tables[table].index_select(0, indices))
        return
    type, device = type_name(lookup.values.dtype), lookup.values.device
    lookup.addresses()
    program = backward_program(lookup.program, (False,) * len(lookup.tables), type, True)
    launch = launch_of(lookup, program, lookup.tables)
    tables = kept_addresses(tuple(table.data_ptr() for table in lookup.tables), device)
    inputs = BackwardInputs(lookup.values, lookup.offsets, None, output, tables)
    find_embeddings(launch, inputs, output)


def kernel_gradients(
    lookup: Lookup,
    gradients: Tensors,
    wanted: Sequence[bool],
    weights_wanted: bool,
    trained: Sequence[bool],
) -> list[torch.Tensor]:
    """Computes ``gnarl::fused_embedding_bags_backward`` by kernels."""
    program = backward_program(lookup.program, tuple(trained), type_name(lookup.values.dtype), True)
    totals = {
        number: torch.zeros_like(table)
        for number, (table, want) in enumerate(zip(lookup.tables, wanted, strict=True))
        if want
    }
    device = lookup.values.device
    launch = launch_of(lookup, program, [*lookup.tables, *totals.values()])
    inputs = _inputs(lookup, program, gradients)
    if totals:
        trained_tables = TrainedTables(_new_addresses(_of_order(program, totals), device))
        _train(program, launch, inputs, trained_tables)
    of_tables = list(totals.values())
    return [*of_tables, weights_gradient(launch, inputs)] if weights_wanted else of_tables


def take_step_by_kernels(
    lookup: Lookup,
    gradients: Tensors,
    wanted: Sequence[bool],
    states: Tensors,
    numbers: torch.Tensor,
) -> None:
    """Computes ``gnarl::step_embedding_bags`` by kernels. ``states``: of the tables, as many of
    each. ``numbers``: see ``step_numbers``."""
    program = backward_program(lookup.program, tuple(wanted), type_name(lookup.values.dtype), False)
    launch = launch_of(lookup, program, [*lookup.tables, *states])
    device = lookup.values.device
    trained = TrainedTables(
        kept_addresses(_of_order(program, dict(enumerate(lookup.tables))), device),
        kept_addresses(_states_of_order(program, states), device) if states else None,
        numbers,
    )
    _train(program, launch, _inputs(lookup, program, gradients), trained)


def pytorch_gradients(
    lookup: Lookup, gradients: Tensors, wanted: Sequence[bool], weights_wanted: bool
) -> list[torch.Tensor]:
    """Computes ``gnarl::fused_embedding_bags_backward`` by PyTorch's operators; all are float32."""
    totals = [
        torch.zeros(table.shape, dtype=torch.float32) if want else None
        for table, want in zip(lookup.tables, wanted, strict=True)
    ]
    weight_parts = []
    columns = lookup.of_features(gradients)
    for gradient, (feature, number, inputs) in zip(columns, lookup.features(), strict=True):
        table, total = lookup.tables[number], totals[number]
        if total is not None:
            pooling.add_table_gradient(total, feature, gradient, table, *inputs)
        if weights_wanted:
            indices, bounds, _ = inputs
            weight_parts.append(
                pooling.weights_gradient(feature, gradient, table, indices, bounds)
                if feature.weighted
                else torch.zeros(len(indices))
            )
    wanted_totals = [total for total in totals if total is not None]
    if not weights_wanted:
        return wanted_totals
    past = len(lookup.values) - sum(lookup.counts)
    return [*wanted_totals, torch.cat([*weight_parts, torch.zeros(past)])]


@lru_cache(maxsize=64)
def backward_program(
    text: str, trained: tuple[bool, ...], index_type: str, stores: bool
) -> BackwardProgram:
    """The program of a backward pass. ``stores``: gradients, rather than taking the optimizer's
    step."""
    compiled = operator_program(text)
    optimizer = None if stores else compiled.optimizer
    tables, unpooled = compiled.table_of_feature, compiled.unpooled
    return BackwardProgram(compiled.model, tables, trained, index_type, optimizer, unpooled)


def _train(
    program: BackwardProgram, launch: Launch, inputs: BackwardInputs, trained: TrainedTables
) -> None:
    (train_unpooled if program.unpooled else train_tables)(program, launch, inputs, trained)


def launch_of(lookup: Lookup, program: BackwardProgram, memory: Tensors) -> Launch:
    """The launch function of a device. ``memory``: what kernels have addresses of."""
    from gnarl.sw.runtime.cuda.torch.backward_launch import emulated, on_gpu

    device = lookup.values.device
    if device.type == "cuda":
        return on_gpu(program, lookup.compiled.schedules.arch, device.index)
    return emulated(program, memory)


def _inputs(lookup: Lookup, program: BackwardProgram, gradients: Tensors) -> BackwardInputs:
    return BackwardInputs(
        lookup.values.contiguous(),
        lookup.offsets.contiguous(),
        None if lookup.weights is None else lookup.weights.contiguous(),
        side_by_side(program, gradients),
        kept_addresses(tuple(table.data_ptr() for table in lookup.tables), lookup.values.device),
    )


def _of_order(program: BackwardProgram, tensors: Mapping[int, torch.Tensor]) -> tuple[int, ...]:
    """Addresses by ``program.order``, 0 where there is no tensor; ``tensors``: by the tables'
    numbers."""
    return tuple(tensors[number].data_ptr() if number in tensors else 0 for number in program.order)


def _states_of_order(program: BackwardProgram, states: Tensors) -> tuple[int, ...]:
    """Addresses of all states of each table by ``program.order``."""
    each = len(states) // len(program.trained)
    return tuple(
        state.data_ptr()
        for number in program.order
        for state in states[number * each : (number + 1) * each]
    )


def _new_addresses(addresses: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """int64 [addresses] on the device, which is not waited for. Raises ``WorkloadError`` while a
    CUDA graph is being captured."""
    if device.type != "cuda":
        return torch.tensor(addresses, dtype=torch.int64, device=device)
    if torch.cuda.is_current_stream_capturing():
        raise WorkloadError(
            "input: dense gradients, which are at new addresses each time, cannot be captured in a "
            "CUDA graph: must be an optimizer's"
        )
    pinned = torch.tensor(addresses, dtype=torch.int64, pin_memory=True)
    return pinned.to(device, non_blocking=True)
