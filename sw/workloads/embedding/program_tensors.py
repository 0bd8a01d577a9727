"""Models in programs: their tensors as inputs and outputs, and models as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.tensor_spec import Ragged, TensorSpec
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

Specs = tuple[TensorSpec, ...]


def model_tensors(model: EmbeddingModel, batch: int | None = None) -> tuple[Specs, Specs]:
    """Inputs and outputs of a model's programs.

    For each feature ``FEATURE.table``, see ``Feature.table_shape``, ``FEATURE.indices`` [values],
    ``FEATURE.offsets`` [batch + 1] and, of weighted ones, ``FEATURE.weights`` [values]; the output
    ``FEATURE`` [batch, dim]. Each run chooses values of each feature, and the ``batch`` unless it
    is given. Raises ``WorkloadError`` for a feature that has the name of an input.
    """
    samples, ends = ("batch", "batch+1") if batch is None else (batch, batch + 1)
    inputs = []
    for feature in model.features:
        name, values, offsets = feature.name, f"{feature.name}.values", f"{feature.name}.offsets"
        inputs += [
            TensorSpec(f"{name}.table", feature.table_shape, feature.table_dtype.name),
            TensorSpec(f"{name}.indices", (values,), feature.index_type, Ragged(offsets)),
            TensorSpec(offsets, (ends,), feature.index_type),
        ]
        if feature.weighted:
            inputs.append(TensorSpec(f"{name}.weights", (values,), "float32", Ragged(offsets)))
    taken = {spec.name for spec in inputs}
    for feature in model.features:
        if feature.name in taken:
            raise WorkloadError(
                f"feature {feature.name}: an input tensor of another feature has that name"
            )
    outputs = (TensorSpec(f.name, (samples, f.dim), f.output_type) for f in model.features)
    return tuple(inputs), tuple(outputs)


def model_fields(model: EmbeddingModel) -> dict[str, Any]:
    """The model as JSON has it; features without padding or pruned rows do not mention them."""
    features = [asdict(feature) for feature in model.features]
    for feature in features:
        if feature["padding_idx"] is None:
            del feature["padding_idx"]
        if not feature["pruned"]:
            del feature["pruned"]
    return {"name": model.name, "features": features}


def model_of_fields(fields: Mapping[str, Any]) -> EmbeddingModel:
    """Inverse of ``model_fields``. Raises ``WorkloadError``, and what Python raises for data that
    is none of a model."""
    features = [
        Feature(**{**feature, "factors": PoolingFactors(**feature["factors"])})
        for feature in fields["features"]
    ]
    return EmbeddingModel(fields["name"], tuple(features))
