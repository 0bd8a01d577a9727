"""Tables and batches as a program's input tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import WorkloadError
from hw.lib.formats import FLOAT_FORMATS
from sw.compiler.cuda.program import EmbeddingProgram
from sw.compiler.cuda.sections import decode
from sw.program.program import Program
from sw.program.tensor_spec import Array
from sw.runtime.cuda.options import DEFAULT_BATCH
from sw.runtime.vanished import Given, elements
from sw.workloads.embedding.data import (
    check_batch,
    check_tables,
    synthesise_batch,
    synthesise_tables,
)
from sw.workloads.embedding.files import load_values, values_of
from sw.workloads.embedding.model import Batch, EmbeddingModel, FeatureInputs

Inputs = tuple[Sequence[np.ndarray], Batch] | Mapping[str, np.ndarray]
"""For each feature a table [rows, dim] of its table type, and what is looked up; or arrays by the
names that ``load_values`` reads."""


def embedding_of(program: Program) -> EmbeddingProgram:
    """What a model was compiled to."""
    compiled = decode(program.launches[0])
    assert isinstance(compiled, EmbeddingProgram)
    return compiled


def refuse_tensors(tensors: Mapping[str, str]) -> None:
    """Raises ``WorkloadError`` for the command line's ``--tensor NAME=PATH``."""
    for name in tensors:
        raise WorkloadError(
            f"--tensor {name}: not supported for models: --values gives tables and inputs"
        )


def inputs(
    program: Program,
    workload: EmbeddingModel | None,
    values: Path | None,
    tensors: Mapping[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> Inputs:
    """Synthesised from what the model says, but for what the file ``values`` has.

    Raises ``WorkloadError`` for option ``batch`` where the file has a batch of its own.
    """
    refuse_tensors(tensors)
    model, size = embedding_of(program).model, options.get("batch")
    tables = synthesise_tables(model, seed)
    if values is None:
        return tables, synthesise_batch(model, DEFAULT_BATCH if size is None else size, seed)
    found = load_values(values, model)
    if size is not None:
        raise WorkloadError(
            f"--batch {size}: {values} has {found.batch.size} samples: must be left out"
        )
    names = [f"{feature.name}.table" for feature in model.features]
    return {**dict(zip(names, tables, strict=True)), **found.arrays}


def bind(program: Program, inputs: Any) -> dict[str, Array]:
    """The tensors in ``sw.compiler.cuda.sections.tensors``, from arrays by name or ``Inputs``.

    Tables of the features' types are not copied. Raises ``WorkloadError`` for what is not the
    model's; whether indices are in range is left to the machine.
    """
    model = embedding_of(program).model
    if isinstance(inputs, Mapping):
        found = values_of({name: np.asarray(array) for name, array in inputs.items()}, model)
        for number, feature in enumerate(model.features):
            if number not in found.tables:
                raise WorkloadError(f"{feature.name}.table: is missing")
        tables: Sequence[np.ndarray] = [found.tables[at] for at in range(len(model.features))]
        batch = found.batch
    elif isinstance(inputs, tuple | list) and len(inputs) == 2 and isinstance(inputs[1], Batch):
        tables, batch = inputs
    else:
        raise WorkloadError(
            f"inputs are a {type(inputs).__name__}: must be arrays by name, or tables and a Batch"
        )
    check_tables(model, tables)
    check_batch(model, batch, indices=False)
    tensors: dict[str, Array] = {}
    for feature, table, bags in zip(model.features, tables, batch.features, strict=True):
        name = feature.name
        tensors[f"{name}.table"] = table
        tensors[f"{name}.indices"] = bags.indices
        tensors[f"{name}.offsets"] = bags.offsets
        if bags.weights is not None:
            tensors[f"{name}.weights"] = bags.weights
    return tensors


def given(program: Program, inputs: Inputs) -> Iterator[Given]:
    """Tables and weights that are given in other types than their own, see ``Target.given``."""
    arrays = inputs if isinstance(inputs, Mapping) else {}
    for spec in program.inputs:
        if spec.name in arrays and spec.type in FLOAT_FORMATS:
            array = np.asarray(arrays[spec.name])
            if array.dtype != spec.dtype:
                yield elements(spec, array)


def unbind(
    program: Program, tensors: Mapping[str, Array]
) -> tuple[EmbeddingModel, Sequence[np.ndarray], Batch]:
    """The model, tables and batch that ``bind`` made ``tensors`` of."""
    model = embedding_of(program).model
    arrays: Mapping[str, Any] = tensors
    names = [feature.name for feature in model.features]
    tables = [arrays[f"{name}.table"] for name in names]
    bags = [
        FeatureInputs(
            arrays[f"{name}.indices"], arrays[f"{name}.offsets"], arrays.get(f"{name}.weights")
        )
        for name in names
    ]
    return model, tables, Batch(len(bags[0].offsets) - 1, bags)
