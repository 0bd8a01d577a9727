"""What a program of the CUDA target consists of: a model, its schedules, and the fused kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from hw.lib.errors import ProgramError, damaged_as
from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.fusion import FusedKernel
from sw.compiler.cuda.program import EmbeddingProgram
from sw.program.program import Program
from sw.program.schema import Schema, Section, Sections
from sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

_NUMBER_FORMAT = "float32"
"""Of results in reports."""


def encode(program: EmbeddingProgram, config: CudaConfig) -> Program:
    model, schedules, kernel = program.model, program.schedules, program.kernel
    plan = {
        "model": {"name": model.name, "features": [asdict(f) for f in model.features]},
        "schedules": json.loads(schedule_file.to_text(schedules)),
    }
    names = [feature.name for feature in model.features]
    return Program(
        target=config.target,
        config=config.to_dict(),
        digest=config.digest,
        format=_NUMBER_FORMAT,
        workload=model.name,
        input_names=names,
        output_names=names,
        statistics={
            "features": len(names),
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
    )


def decode(program: Program) -> EmbeddingProgram:
    """Raises ``ProgramError`` for a plan that is not as ``encode`` writes it."""
    with damaged_as(ProgramError, "section 'plan'"):
        plan = json.loads(program.sections["plan"].tobytes())
        model = EmbeddingModel(
            plan["model"]["name"],
            tuple(_feature(fields) for fields in plan["model"]["features"]),
        )
        config = CudaConfig.from_dict(program.config)
        schedules = schedule_file.from_text(
            json.dumps(plan["schedules"]), model, config, "section 'plan'"
        )
    kernel = FusedKernel(
        source_of(program.sections),
        tuple(program.sections["codes"].tolist()),
        program.statistics["shared_bytes"],
    )
    return EmbeddingProgram(model, schedules, kernel)


def source_of(sections: Sections) -> str:
    """The fused kernel's CUDA C++."""
    return sections["source"].tobytes().decode()


def _feature(fields: dict[str, Any]) -> Feature:
    return Feature(**{**fields, "factors": PoolingFactors(**fields["factors"])})


def _octets(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _check(sections: Sections, quantities: Mapping[str, Any]) -> None:
    with damaged_as(ProgramError, "section 'source'"):
        source_of(sections)
    with damaged_as(ProgramError, "section 'plan'"):
        json.loads(sections["plan"].tobytes())["model"]["features"]


CUDA_SCHEMA = Schema(
    [
        Section("plan", np.uint8, ("plan",)),
        Section("source", np.uint8, ("source",)),
        Section("codes", np.int32, ("inputs",), 0, (2**16,)),
    ],
    _check,
    ("shared_bytes",),
)
