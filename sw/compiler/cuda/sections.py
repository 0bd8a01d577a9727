"""What a program of the CUDA target consists of: a model or an expression, schedules, the kernel.

A file is data: what runs is generated from what its section ``plan`` has: the model, or the
expression and the sizes of its indices, and schedules. The other sections let people read what that
is, and must agree with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import GnarlError, ProgramError, WorkloadError, damaged_as, short
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.fusion import MAXIMUM_CODES
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.tensor.compile import ExpressionProgram, from_plan, to_plan
from gnarl.sw.compiler.cuda.tensor.pooled_sum import PooledSumProgram
from gnarl.sw.compiler.cuda.tensor.sampled_product import SampledProductProgram
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.unique_keys import unique_keys
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.program_tensors import (
    model_fields,
    model_of_fields,
    model_tensors,
)
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.program_tensors import statement_tensors

_PLAN = "section 'plan'"

_KEPT = 16
"""Decoded programs."""

CudaProgram = EmbeddingProgram | ExpressionProgram
"""A model, or an expression, and the kernel that computes it."""


def encode(program: CudaProgram, config: CudaConfig) -> Program:
    """Raises ``WorkloadError`` as ``model_tensors`` does."""
    codes: tuple[int, ...] = ()
    statistics = {"block_threads": config.plain_block_threads, "shared_bytes": 0}
    if isinstance(program, EmbeddingProgram):
        name, plan, specs = program.model.name, _model_plan(program), model_tensors(program.model)
    else:
        expression = program.expression
        name, plan = expression.name, to_plan(program)
        specs = statement_tensors(expression.statement, config.format, expression.sizes)
    if isinstance(program, SampledProductProgram):
        source = program.source
    else:
        fused = program.embedding if isinstance(program, PooledSumProgram) else program
        source, codes = fused.kernel.source, fused.kernel.code_of_feature
        statistics = _statistics(fused)
    return Program.of_one_launch(
        config,
        name,
        *specs,
        statistics={**statistics, "source_bytes": len(source.encode())},
        sections={
            "plan": _octets(json.dumps(plan, sort_keys=True)),
            "source": _octets(source),
            "codes": np.array(codes, np.int32),
        },
        schema=CUDA_SCHEMA,
    )


def _model_plan(program: EmbeddingProgram) -> dict[str, Any]:
    return {
        "model": model_fields(program.model),
        "schedules": json.loads(schedule_file.to_text(program.schedules)),
    }


def _statistics(program: EmbeddingProgram) -> dict[str, int]:
    kernel, schedules = program.kernel, program.schedules
    return {
        "features": len(program.model.features),
        "schedules": len(schedules.schedules),
        "codes": max(kernel.code_of_feature) + 1,
        "block_threads": schedules.block_threads,
        "blocks_per_sm": schedules.blocks_per_sm,
        "shared_bytes": kernel.shared_bytes,
    }


def decode(launch: Launch) -> CudaProgram:
    """Inverse of ``encode``; equal plans give the same object, as long as it is among the last.

    The kernel is generated from the plan. Raises ``ProgramError`` for a plan that is not as
    ``encode`` writes it.
    """
    try:
        return _decoded(CudaConfig.from_dict(launch.config), launch.sections["plan"].tobytes())
    except ProgramError:
        raise
    except GnarlError as error:
        raise ProgramError(str(error)) from error


@lru_cache(_KEPT)
def _decoded(config: CudaConfig, plan: bytes) -> CudaProgram:
    with damaged_as(ProgramError, _PLAN):
        fields = json.loads(plan, object_pairs_hook=unique_keys)
        if "statement" in fields:
            return from_plan(fields, config, _PLAN)
        model = _model(fields["model"])
        text = json.dumps(fields["schedules"])
        return build_program(model, schedule_file.from_text(text, model, config, _PLAN))


def _model(fields: dict[str, Any]) -> EmbeddingModel:
    try:
        return model_of_fields(fields)
    except WorkloadError as error:
        raise ProgramError(f"{_PLAN}: {error}") from error


def _octets(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _check(launch: Launch, sizes: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` unless everything else is what the plan gives."""
    program = decode(launch)
    (expected,) = encode(program, CudaConfig.from_dict(launch.config)).launches
    if (launch.inputs, launch.outputs) != (expected.inputs, expected.outputs):
        what = "features" if isinstance(program, EmbeddingProgram) else "expression"
        raise ProgramError(f"tensors: must be those of the {what} in {_PLAN}")
    codes, expected_codes = launch.sections["codes"], expected.sections["codes"]
    if len(codes) != len(expected_codes):
        raise ProgramError(
            f"codes has {len(codes)} features: must be {len(expected_codes)}, as {_PLAN}"
        )
    refuse_first(
        codes != expected_codes,
        lambda at: f"codes[{at}] = {codes[at]}: must be {expected_codes[at]}, as {_PLAN}",
        ProgramError,
    )
    for name, value in expected.statistics.items():
        if launch.statistics.get(name) != value:
            raise ProgramError(
                f"statistics.{name} is {launch.statistics.get(name)}: must be {value}, as {_PLAN}"
            )
    _check_source(launch.sections["source"].tobytes(), expected.sections["source"].tobytes())


def _check_source(given: bytes, generated: bytes) -> None:
    """Raises ``ProgramError`` naming the first line that is not the one generated."""
    lines, expected = given.split(b"\n"), generated.split(b"\n")
    for number, (line, wanted) in enumerate(zip_longest(lines, expected), 1):
        if line != wanted:
            found = "missing" if line is None else short(ascii(line.decode(errors="replace")))
            raise ProgramError(
                f"section 'source': line {number} is {found}: does not match what {_PLAN} gives: "
                "compile the workload again"
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
