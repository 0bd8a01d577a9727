"""Runs backward kernels on PyTorch's tensors: gradients of all tables and weights of a model.

The host does nothing that depends on what tensors hold, so that a GPU is not waited for. Look-ups
are sorted by PyTorch's stable sort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.backward import SEGMENT, BackwardProgram
from gnarl.sw.compiler.cuda.backward_kernels import (
    BAG_LANES,
    BLOCK_THREADS,
    FIND_FIRST_MAXIMA,
    FIND_GRADIENTS,
    FIND_KEYS,
    FIND_WEIGHT_GRADIENTS,
    LOOKUP_GRADIENT_BYTES,
    SUM_LOOKUPS,
    SUM_SLOTS,
)
from gnarl.sw.runtime.cuda.arguments import TABLE_ALIGNMENT
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES

Arguments = dict[str, torch.Tensor | np.integer | None]
Launch = Callable[[str, int, Arguments], None]
"""Launches a kernel, by its name, with so many blocks of ``BLOCK_THREADS``. Arguments are in the
order of ``PARAMETERS``; ``None`` is a null pointer."""

_MOST_BLOCKS = 8192
_MOST = 2**31 - 1


@dataclass(frozen=True)
class BackwardInputs:
    """What the forward pass looked up, and the gradients of what it gave.

    values, offsets, weights
        as in ``PackedInputs``, contiguous.
    gradients
        of the outputs, float32 [batch, width], as ``side_by_side`` makes them.
    tables
        addresses of all tables, int64 [tables].
    """

    values: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    gradients: torch.Tensor
    tables: torch.Tensor


@dataclass(frozen=True)
class TrainedTables:
    """What the backward pass writes, by the tables of ``BackwardProgram.order``.

    elements
        addresses, int64 [tables]: of the tables if there is an optimizer, else of their gradients,
        which must be zeroes; 0 of those that are not wanted.
    states
        addresses, int64 [tables, states of each], of optimizers that have states.
    numbers
        float32, of optimizers: the learning rate, and what else kernels are given beside it.
    """

    elements: torch.Tensor
    states: torch.Tensor | None = None
    numbers: torch.Tensor | None = None


def side_by_side(program: BackwardProgram, gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    """Gradients of output buffers, [batch, width] each, as one: float32, contiguous, aligned."""
    if len(gradients) > 1:
        padded = [
            torch.nn.functional.pad(gradient.float(), (0, width - gradient.shape[1]))
            for gradient, width in zip(gradients, program.widths, strict=True)
        ]
        return torch.cat(padded, dim=1)
    found = gradients[0].float().contiguous()
    return found.clone() if found.data_ptr() % TABLE_ALIGNMENT else found


def weights_gradient(launch: Launch, inputs: BackwardInputs) -> torch.Tensor:
    """Float32 [values]; zeroes for features without weights, and past the last offset."""
    gradient = torch.zeros_like(inputs.values, dtype=torch.float32)
    if len(gradient):
        arguments: Arguments = {
            "tables": inputs.tables,
            "gradients": inputs.gradients,
            "found": gradient,
        }
        _launch_on_bags(FIND_WEIGHT_GRADIENTS, BAG_LANES, launch, inputs, arguments)
    return gradient


def train_tables(
    program: BackwardProgram, launch: Launch, inputs: BackwardInputs, trained: TrainedTables
) -> None:
    """Takes the optimizer's step, or stores gradients, of the rows that were looked up.

    Sums are in float32, in an order that depends on the look-ups alone. Raises ``WorkloadError``
    for more bags or values than kernels can count.
    """
    count, gradients = len(inputs.values), inputs.gradients
    if not count or not program.order:
        return
    maxima = None
    if program.has_maxima:
        maxima = torch.empty_like(gradients, dtype=torch.int32)
        of_maxima: Arguments = {"tables": inputs.tables, "places": maxima}
        _launch_on_bags(FIND_FIRST_MAXIMA, WARP_THREADS, launch, inputs, of_maxima)
    type = TORCH_TYPES[program.key_type]
    # Values past the last offset, which a captured graph may have, are of no table.
    keys = gradients.new_full((count,), torch.iinfo(type).max, dtype=type)
    bags = gradients.new_empty(count, dtype=torch.int32)
    _launch_on_bags(FIND_KEYS, BAG_LANES, launch, inputs, {"keys": keys, "bags": bags})
    keys, order = torch.sort(keys, stable=True)
    lookups = gradients.new_empty((count, LOOKUP_GRADIENT_BYTES), dtype=torch.uint8)
    arguments: Arguments = {"keys": keys, "order": order, "bags": bags, "found": lookups}
    launch(FIND_GRADIENTS, blocks_of(count), of_lookups(inputs) | arguments)
    entries: Arguments = {"lookups": lookups, "gradients": gradients, "maxima": maxima}
    sum_rows(program, launch, keys, entries, trained)


def sum_rows(
    program: BackwardProgram,
    launch: Launch,
    keys: torch.Tensor,
    entries: Arguments,
    trained: TrainedTables,
) -> None:
    """Takes steps, or stores gradients, of the rows of sorted keys.

    ``entries``: of each key, the last arguments of ``SUM_LOOKUPS``.
    """
    kernel, count = SUM_LOOKUPS, len(keys)
    for slots in [*program.slot_counts(count), 0]:
        slot_keys = keys.new_empty(slots)
        slot_values = keys.new_empty((slots, program.stride), dtype=torch.float32)
        arguments: Arguments = {
            "elements": trained.elements,
            "states": trained.states,
            "learning_rate": trained.numbers,
            "keys": keys,
            "count": np.int32(count),
            "slot_keys": slot_keys,
            "slot_values": slot_values,
        }
        # As many lanes for each segment as the widest rows need.
        blocks = len(program.tables_of_class) * blocks_of(-(-count // SEGMENT) * WARP_THREADS)
        launch(kernel, blocks, arguments | entries)
        kernel, keys, count, entries = SUM_SLOTS, slot_keys, slots, {"sums": slot_values}


def _launch_on_bags(
    kernel: str,
    lanes: int,
    launch: Launch,
    inputs: BackwardInputs,
    arguments: Arguments,
) -> None:
    """Launches a kernel with so many lanes for each bag."""
    blocks = blocks_of((len(inputs.offsets) - 1) * lanes)
    launch(kernel, blocks, of_lookups(inputs) | arguments)


def of_lookups(inputs: BackwardInputs) -> Arguments:
    """The first arguments of the kernels that read look-ups. Raises ``WorkloadError`` for more than
    they count."""
    for name, size in (("values", len(inputs.values)), ("bags", len(inputs.offsets) - 1)):
        if size > _MOST:
            raise WorkloadError(f"input: has {size} {name}: must be at most {_MOST}")
    return {
        "indices": inputs.values,
        "offsets": inputs.offsets,
        "weights": inputs.weights,
        "values": np.int32(len(inputs.values)),
        "batch": np.int32(len(inputs.gradients)),
    }


def blocks_of(threads: int) -> int:
    return min(_MOST_BLOCKS, -(-threads // BLOCK_THREADS))
