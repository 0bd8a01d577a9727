"""Pooling and its gradients in PyTorch's own operators, one feature at a time.

The forward is what tensors of the CPU are computed with; the gradients are those of any device.
Sums are in float32 whatever the types of tables and outputs, as in the fused kernel.
"""

from __future__ import annotations

from gnarl.sw.runtime.cuda.torch.extra import to_array, torch
from gnarl.sw.workloads.embedding.model import Feature

TORCH_TYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "uint8": torch.uint8,
    "int32": torch.int32,
    "int64": torch.int64,
}
"""PyTorch's types by the model's names; quantised tables are uint8."""


def pool(
    feature: Feature,
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
) -> torch.Tensor:
    """The feature's output, [batch, dim] of its output type.

    indices, offsets, weights
        [values], [batch + 1], float32 [values] where the feature is weighted.
    """
    divisors = _divisors(offsets)
    indices, offsets, weights = without_pruned(feature, indices, offsets, weights)
    if table.dtype != torch.float32:
        table = _looked_up(feature, table, indices)
        indices = torch.arange(len(indices), dtype=indices.dtype, device=indices.device)
    pooled = torch.nn.functional.embedding_bag(
        indices,
        table,
        offsets,
        mode="max" if feature.pooling == "max" else "sum",
        per_sample_weights=weights if feature.weighted else None,
        include_last_offset=True,
    )
    if feature.pooling == "mean":
        pooled = pooled / divisors
    return pooled.to(TORCH_TYPES[feature.output_type])


def add_table_gradient(
    total: torch.Tensor,
    feature: Feature,
    gradient: torch.Tensor,
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
) -> None:
    """Adds to ``total``, float32 [rows, dim], the table's gradient for the output's, [batch, dim].

    Of equal maxima the first gets the gradient, as in ``torch.nn.EmbeddingBag``.
    """
    if feature.pooling == "max":
        _add_max_gradient(total, gradient, table, indices, offsets)
        return
    values = gradients_of_values(feature, gradient, indices, offsets, weights)
    total.index_add_(0, indices.clamp(min=0) if feature.pruned else indices, values)


def gradients_of_values(
    feature: Feature,
    gradient: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    weights: torch.Tensor | None,
) -> torch.Tensor:
    """Float32 [values, dim]: the gradient of each looked-up row; zeroes of pruned ones. Not for
    ``max``."""
    values = _of_values(feature, gradient, indices, offsets)
    if feature.weighted and weights is not None:
        values = values * weights[:, None]
    return torch.where((indices == -1)[:, None], 0.0, values) if feature.pruned else values


def weights_gradient(
    feature: Feature,
    gradient: torch.Tensor,
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
) -> torch.Tensor:
    """Float32 [values], for the output's gradient, [batch, dim]; not for ``max``."""
    rows = table.index_select(0, indices.clamp(min=0) if feature.pruned else indices).float()
    found = (rows * _of_values(feature, gradient, indices, offsets)).sum(1)
    return torch.where(indices == -1, 0.0, found) if feature.pruned else found


def without_pruned(
    feature: Feature, indices: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """The inputs of a feature without the indices of pruned rows."""
    if not feature.pruned:
        return indices, offsets, weights
    kept = indices != -1
    places = torch.nn.functional.pad(kept.cumsum(0), (1, 0)).to(offsets.dtype)
    return indices[kept], places[offsets], None if weights is None else weights[kept]


def _looked_up(feature: Feature, table: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Float32 [values, dim], of a table on the CPU where it is quantised."""
    rows = table.index_select(0, indices)
    if feature.rowwise:
        return torch.from_numpy(feature.rowwise.elements(to_array(rows), feature.dim))
    return rows.float()


def _divisors(offsets: torch.Tensor) -> torch.Tensor:
    return offsets.diff().clamp(min=1).float()[:, None]


def _bags(indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """int64 [values]: each one's sample."""
    samples = torch.arange(len(offsets) - 1, device=offsets.device)
    return torch.repeat_interleave(samples, offsets.diff(), output_size=len(indices))


def _of_values(
    feature: Feature, gradient: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """Float32 [values, dim]: each looked-up row's gradient, before its weight."""
    gradient = gradient.float()
    if feature.pooling == "mean":
        gradient = gradient / _divisors(offsets)
    return gradient.index_select(0, _bags(indices, offsets))


def _add_max_gradient(
    total: torch.Tensor,
    gradient: torch.Tensor,
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
) -> None:
    samples, dim = gradient.shape
    rows = table.index_select(0, indices).float()
    bags = _bags(indices, offsets)[:, None].expand(-1, dim)
    highest = rows.new_full((samples, dim), -torch.inf).scatter_reduce_(0, bags, rows, "amax")
    # A position past the last stands for none: that of empty bags, and of values below the maximum.
    none = len(indices)
    positions = torch.arange(none, device=indices.device)[:, None].expand(-1, dim)
    positions = torch.where(rows == highest.gather(0, bags), positions, none)
    first = torch.full((samples, dim), none, device=indices.device)
    first.scatter_reduce_(0, bags, positions, "amin")
    sources = torch.cat([indices.long(), indices.new_zeros(1, dtype=torch.long)])[first]
    total.scatter_add_(0, sources, torch.where(first < none, gradient.float(), 0.0))
