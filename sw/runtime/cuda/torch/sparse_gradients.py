"""Gradients of tables as sparse tensors with a row for each look-up, as those of
``nn.EmbeddingBag(sparse=True)``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.optimizers import Optimizer
from gnarl.sw.runtime.cuda.torch import pooling
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.workloads.embedding.model import Feature


def sparse_tables(
    given: bool | Collection[str],
    features: Sequence[Feature],
    tables_of: Sequence[str],
    optimizer: Optimizer | None,
) -> tuple[str, ...]:
    """Names of the tables whose gradients are sparse: all, none, or those that are given.

    tables_of
        for each feature its table's name.

    Raises ``WorkloadError`` for those that cannot have such.
    """
    tables = dict.fromkeys(tables_of)
    sparse = tuple(tables if given is True else given or ())
    for name in sparse:
        if name not in tables:
            raise WorkloadError(f"sparse: no such table: {name}")
    if sparse and optimizer is not None:
        raise WorkloadError("sparse: not supported with an optimizer, which leaves no gradients")
    for feature, table in zip(features, tables_of, strict=True):
        if table in sparse and feature.pooling == "max":
            raise WorkloadError(
                f"table {table}: sparse gradients are not supported with pooling max, as of "
                f"{feature.name}"
            )
    return sparse


def sparse_gradients(
    lookup: Lookup, gradients: Sequence[torch.Tensor], wanted: Sequence[int]
) -> Mapping[int, torch.Tensor]:
    """Gradients of the wanted tables, by their numbers: sparse [rows, dim], not coalesced.

    ``gradients``: of the outputs, [batch, width] each. Waits for the device.
    """
    rows: dict[int, list[torch.Tensor]] = {number: [] for number in wanted}
    values: dict[int, list[torch.Tensor]] = {number: [] for number in wanted}
    columns = lookup.of_features(gradients)
    for gradient, (feature, number, inputs) in zip(columns, lookup.features(), strict=True):
        if number in rows:
            indices, offsets, weights = inputs
            rows[number].append(indices.clamp(min=0).long())
            own = pooling.gradients_of_values(feature, gradient, indices, offsets, weights)
            values[number].append(own)
    return {
        number: torch.sparse_coo_tensor(
            torch.cat(rows[number])[None],
            torch.cat(values[number]).to(lookup.tables[number].dtype),
            lookup.tables[number].shape,
            check_invariants=False,
        )
        for number in wanted
    }
