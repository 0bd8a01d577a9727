"""Lookups in float64 tables, on the CPU, by PyTorch's own operators, which differentiate them."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.pooling import without_pruned
from gnarl.sw.workloads.embedding.model import Feature


def has_float64(tables: Sequence[torch.Tensor]) -> bool:
    return any(table.dtype == torch.float64 for table in tables)


def look_up_in_float64(
    tables: Sequence[torch.Tensor], inputs: PackedInputs, program: str
) -> list[torch.Tensor]:
    """Each feature's output, with sums and outputs in float64.

    Raises ``WorkloadError`` unless all tables are of that type and on the CPU, and for programs
    that are emulated or have an optimizer.
    """
    lookup = Lookup(tables, inputs.values, inputs.offsets, inputs.weights, program)
    compiled = lookup.compiled
    for holds, reason in (
        (any(table.dtype != torch.float64 for table in tables), "some are float64: must be all"),
        (inputs.values.device.type != "cpu", "are float64: must be on the CPU"),
        (compiled.emulated, "are float64: not supported with emulated=True"),
        (compiled.optimizer is not None, "are float64: not supported with an optimizer"),
    ):
        if holds:
            raise WorkloadError(f"tables: {reason}")
    lookup.check_offsets()
    return [
        _pool(feature, tables[number], *bags, sparse=number in compiled.sparse)
        for feature, number, bags in lookup.features()
    ]


def _pool(
    feature: Feature,
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
    *,
    sparse: bool,
) -> torch.Tensor:
    """[batch, dim]; arguments are those of ``pooling.pool``, and whether gradients are sparse."""
    divisors = offsets.diff().clamp(min=1)[:, None]
    indices, offsets, weights = without_pruned(feature, indices, offsets, weights)
    divides = feature.pooling == "mean" and (feature.weighted or feature.pruned)
    pooled = torch.nn.functional.embedding_bag(
        indices,
        table,
        offsets,
        mode="sum" if divides else feature.pooling,
        per_sample_weights=None if weights is None else weights.double(),
        include_last_offset=True,
        sparse=sparse,
    )
    return pooled / divisors if divides else pooled
