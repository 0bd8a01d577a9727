"""Tables and batches as the input tensors of a model's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.embedding.data import (
    batch_of,
    check_batch,
    check_tables,
    synthesise_batch,
    synthesise_tables,
)
from gnarl.sw.workloads.embedding.files import load_values, names_in, values_of
from gnarl.sw.workloads.embedding.left_out import without_padding, without_tails
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, FeatureInputs
from gnarl.sw.workloads.embedding.program_tensors import model_tensors
from gnarl.sw.workloads.made_up import MadeUp, random_values

DEFAULT_BATCH = 64
"""Samples that are synthesised."""

Inputs = tuple[Sequence[np.ndarray], Batch] | Mapping[str, np.ndarray]
"""For each feature a table [rows, dim] of its table type, and what is looked up; or arrays by the
names that ``load_values`` reads."""


def refuse_tensors(tensors: Mapping[str, str]) -> None:
    """Raises ``WorkloadError`` for the command line's ``--tensor NAME=PATH``."""
    for name in tensors:
        raise WorkloadError(
            f"--tensor {name}: not supported for models: --values gives tables and inputs"
        )


def model_inputs(
    model: EmbeddingModel, values: Path | None, batch: int | None, seed: int
) -> Inputs:
    """Synthesised from what the model says, but for what the file ``values`` has.

    Raises ``WorkloadError`` for a size of the ``batch`` where the file has a batch of its own.
    """
    tables = synthesise_tables(model, seed)
    if values is None:
        return tables, synthesise_batch(model, DEFAULT_BATCH if batch is None else batch, seed)
    return file_inputs(model, values, batch, tables)


def file_inputs(
    model: EmbeddingModel, values: Path, batch: int | None, tables: Sequence[np.ndarray]
) -> Inputs:
    """What the file ``values`` has, and ``tables`` where it has none. Raises ``WorkloadError`` for
    a size of the ``batch``."""
    loaded = load_values(values, model)
    refuse_batch(batch, str(values), loaded.batch)
    names = [f"{feature.name}.table" for feature in model.features]
    return {**dict(zip(names, tables, strict=True)), **loaded.arrays}


def refuse_batch(size: int | None, owner: str, own: Batch) -> None:
    """Raises ``WorkloadError`` for the command line's size of a batch where the owner has one."""
    if size is not None:
        raise WorkloadError(f"--batch {size}: {owner} has {own.size} samples: must be left out")


def model_made_up(model: EmbeddingModel, values: Path | None, seed: int) -> MadeUp:
    """What of ``model_inputs`` is synthesised."""
    specs = model_tensors(model)[0]
    names = [spec.name for spec in specs]
    if values is not None:
        given = names_in(values, model)
        names = [name for name in names if name not in given]
    return random_values(names, seed)


def bind_model(model: EmbeddingModel, inputs: Any, *, indices: bool = False) -> dict[str, Array]:
    """The tensors in ``program_tensors.model_tensors``, from arrays by name or ``Inputs``.

    Indices past a feature's last offset and those of padding are left out, see ``left_out``. Tables
    of the features' types are not copied. Raises ``WorkloadError`` for what is not the
    model's. ``indices``: whether each index is looked at.
    """
    if isinstance(inputs, Mapping):
        bound = values_of({name: np.asarray(array) for name, array in inputs.items()}, model)
        for number, feature in enumerate(model.features):
            if number not in bound.tables:
                raise WorkloadError(f"{feature.name}.table: is missing")
        tables: Sequence[np.ndarray] = [bound.tables[at] for at in range(len(model.features))]
        batch = bound.batch
    elif isinstance(inputs, tuple | list) and len(inputs) == 2 and isinstance(inputs[1], Batch):
        tables, batch = inputs
    else:
        raise WorkloadError(
            f"inputs are a {type(inputs).__name__}: must be arrays by name, or tables and a Batch"
        )
    check_tables(model, tables)
    batch = without_tails(model, batch)
    check_batch(model, batch, indices=indices)
    batch = without_padding(model, batch)
    tensors: dict[str, Array] = {}
    for feature, table, bags in zip(model.features, tables, batch.features, strict=True):
        name = feature.name
        tensors[f"{name}.table"] = table
        tensors[f"{name}.indices"] = bags.indices
        tensors[f"{name}.offsets"] = bags.offsets
        if bags.weights is not None:
            tensors[f"{name}.weights"] = bags.weights
    return tensors


def unbind_model(
    model: EmbeddingModel, tensors: Mapping[str, Array]
) -> tuple[Sequence[np.ndarray], Batch]:
    """The tables and the batch that ``bind_model`` made ``tensors`` of."""
    arrays: Mapping[str, Any] = tensors
    names = [feature.name for feature in model.features]
    tables = [arrays[f"{name}.table"] for name in names]
    bags = [
        FeatureInputs(
            arrays[f"{name}.indices"], arrays[f"{name}.offsets"], arrays.get(f"{name}.weights")
        )
        for name in names
    ]
    return tables, batch_of(model, bags)
