"""What a program of the CUDA target consists of: a model, its schedules, and the fused kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, WorkloadError, damaged_as
from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.fusion import MAXIMUM_CODES, FusedKernel
from sw.compiler.cuda.program import EmbeddingProgram
from sw.program.program import Launch, Program
from sw.program.schema import Schema, Section
from sw.program.tensor_spec import Ragged, TensorSpec
from sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

_PLAN = "section 'plan'"

_KEPT = 16
"""Decoded programs."""

Specs = tuple[TensorSpec, ...]


def tensors(model: EmbeddingModel) -> tuple[Specs, Specs]:
    """Inputs and outputs of a model's programs.

    For each feature ``FEATURE.table`` [rows, dim], ``FEATURE.indices`` [values],
    ``FEATURE.offsets`` [batch + 1] and, of weighted ones, ``FEATURE.weights`` [values]; the output
    ``FEATURE`` [batch, dim]. Each run chooses the batch, and values of each feature. Raises
    ``WorkloadError`` for a feature that has the name of an input.
    """
    inputs = []
    for feature in model.features:
        name, values, offsets = feature.name, f"{feature.name}.values", f"{feature.name}.offsets"
        inputs += [
            TensorSpec(f"{name}.table", (feature.rows, feature.dim), feature.table_type),
            TensorSpec(f"{name}.indices", (values,), feature.index_type, Ragged(offsets)),
            TensorSpec(offsets, ("batch+1",), feature.index_type),
        ]
        if feature.weighted:
            inputs.append(TensorSpec(f"{name}.weights", (values,), "float32", Ragged(offsets)))
    taken = {spec.name for spec in inputs}
    for feature in model.features:
        if feature.name in taken:
            raise WorkloadError(
                f"feature {feature.name}: an input tensor of another feature has that name"
            )
    outputs = (TensorSpec(f.name, ("batch", f.dim), f.output_type) for f in model.features)
    return tuple(inputs), tuple(outputs)


def encode(program: EmbeddingProgram, config: CudaConfig) -> Program:
    """Raises ``WorkloadError`` as ``tensors`` does."""
    model, schedules, kernel = program.model, program.schedules, program.kernel
    plan = {
        "model": {"name": model.name, "features": [asdict(f) for f in model.features]},
        "schedules": json.loads(schedule_file.to_text(schedules)),
    }
    return Program.of_one_launch(
        config,
        model.name,
        *tensors(model),
        statistics={
            "features": len(model.features),
            "schedules": len(schedules.schedules),
            "codes": max(kernel.code_of_feature) + 1,
            "block_threads": schedules.block_threads,
            "blocks_per_sm": schedules.blocks_per_sm,
            "shared_bytes": kernel.shared_bytes,
            "source_bytes": len(kernel.source.encode()),
        },
        sections={
            "plan": _octets(json.dumps(plan, sort_keys=True)),
            "source": _octets(kernel.source),
            "codes": np.array(kernel.code_of_feature, np.int32),
        },
        schema=CUDA_SCHEMA,
    )


def decode(launch: Launch) -> EmbeddingProgram:
    """Inverse of ``encode``; equal launches give the same object, as long as it is among the last.

    Raises ``ProgramError`` for sections that are not as ``encode`` writes them.
    """
    sections = launch.sections
    try:
        return _decoded(
            CudaConfig.from_dict(launch.config),
            sections["plan"].tobytes(),
            sections["source"].tobytes(),
            tuple(sections["codes"].tolist()),
            launch.statistics["shared_bytes"],
        )
    except ProgramError:
        raise
    except GnarlError as error:
        raise ProgramError(str(error)) from error


@lru_cache(_KEPT)
def _decoded(
    config: CudaConfig, plan: bytes, source: bytes, codes: tuple[int, ...], shared_bytes: int
) -> EmbeddingProgram:
    with damaged_as(ProgramError, _PLAN):
        fields = json.loads(plan)
        model = _model(fields["model"])
        text = json.dumps(fields["schedules"])
        schedules = schedule_file.from_text(text, model, config, _PLAN)
    with damaged_as(ProgramError, "section 'source'"):
        kernel = FusedKernel(source.decode(), codes, shared_bytes)
    return EmbeddingProgram(model, schedules, kernel)


def _model(fields: dict[str, Any]) -> EmbeddingModel:
    try:
        features = [
            Feature(**{**feature, "factors": PoolingFactors(**feature["factors"])})
            for feature in fields["features"]
        ]
        return EmbeddingModel(fields["name"], tuple(features))
    except WorkloadError as error:
        raise ProgramError(f"{_PLAN}: {error}") from error


def _octets(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _check(launch: Launch, sizes: Mapping[str, Any]) -> None:
    """That plan, tensors and codes are those of one model."""
    model = decode(launch).model
    if (launch.inputs, launch.outputs) != tensors(model):
        raise ProgramError(f"tensors: must be those of the features in {_PLAN}")
    if sizes["features"] != len(model.features):
        raise ProgramError(
            f"codes has {sizes['features']} features: must be {len(model.features)}, as {_PLAN}"
        )


CUDA_SCHEMA = Schema(
    [
        Section("plan", np.uint8, ("plan",)),
        Section("source", np.uint8, ("source",)),
        Section("codes", np.int32, ("features",), 0, (MAXIMUM_CODES,)),
    ],
    _check,
    ("shared_bytes",),
)
