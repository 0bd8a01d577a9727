"""Launches the kernels of look-ups that are not pooled, each of which is an output of its own.

Offsets are [features + 1]; ``gradients`` of ``BackwardInputs`` are [values, dim], of look-ups.
"""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.backward_kernels import FIND_EMBEDDINGS, ROW_LANES
from gnarl.sw.runtime.cuda.torch.backward import (
    Arguments,
    BackwardInputs,
    Launch,
    TrainedTables,
    blocks_of,
    of_lookups,
    sum_rows,
)
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.kept import kept_addresses
from gnarl.sw.runtime.cuda.torch.pooling import TORCH_TYPES

_UNDIVIDED = int(np.float32(1).view(np.int32))
"""Weight 1 and bag 0 of a ``gnarl::LookupGradient``, its second half."""


def find_embeddings(launch: Launch, inputs: BackwardInputs, output: torch.Tensor) -> None:
    """Fills the output, float32 [values, dim], contiguous."""
    if len(output):
        arguments: Arguments = {"batch": np.int32(1), "tables": inputs.tables, "found": output}
        blocks = blocks_of(len(output) * ROW_LANES)
        launch(FIND_EMBEDDINGS, blocks, of_lookups(inputs) | arguments)


def train_unpooled(
    program: BackwardProgram, launch: Launch, inputs: BackwardInputs, trained: TrainedTables
) -> None:
    """Does as ``train_tables``."""
    gradients = inputs.gradients
    if not len(inputs.values) or not program.order:
        return
    keys, order = torch.sort(_keys(program, inputs), stable=True)
    sources = torch.stack([order * gradients.shape[1], torch.full_like(order, _UNDIVIDED)], dim=1)
    entries: Arguments = {"lookups": sources, "gradients": gradients, "maxima": None}
    sum_rows(program, launch, keys, entries, trained)


def _keys(program: BackwardProgram, inputs: BackwardInputs) -> torch.Tensor:
    """[values]: each one's table's first key plus its row; the highest where nothing is trained."""
    values, ends, features = inputs.values, inputs.offsets[1:], program.model.features
    of_tables = dict(zip(program.order, program.first_keys, strict=False))
    firsts = [of_tables.get(table, 0) for table in program.table_of_feature]
    rows = [
        feature.rows if table in of_tables else 0
        for feature, table in zip(features, program.table_of_feature, strict=True)
    ]
    first, limit = kept_addresses((*firsts, *rows), values.device).view(2, -1)
    steps = torch.arange(len(values), dtype=ends.dtype, device=ends.device)
    feature = torch.searchsorted(ends, steps, right=True).clamp(max=len(features) - 1)
    goes = (values >= 0) & (values < limit[feature]) & (steps < ends[-1])
    type = TORCH_TYPES[program.key_type]
    return torch.where(goes, first[feature] + values, torch.iinfo(type).max).to(type)
