"""Tables and batches as a program's input tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.embedding.inputs import (
    Inputs,
    bind_model,
    model_inputs,
    model_made_up,
    refuse_tensors,
    unbind_model,
)
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues
from gnarl.sw.workloads.made_up import MadeUp


def embedding_of(program: Program) -> EmbeddingProgram:
    """What a model was compiled to."""
    compiled = decode(program.launches[0])
    assert isinstance(compiled, EmbeddingProgram)
    return compiled


def inputs(
    program: Program,
    workload: EmbeddingModel | ModelWithValues | None,
    arguments: RunArguments,
) -> Inputs:
    """See ``model_inputs``, with option ``batch``; or the workload's own."""
    refuse_tensors(arguments.tensors)
    model, batch = embedding_of(program).model, arguments.options.get("batch")
    if isinstance(workload, ModelWithValues):
        return workload.inputs(arguments.values, batch)
    return model_inputs(model, arguments.values, batch, arguments.seed)


def made_up(
    program: Program,
    workload: EmbeddingModel | ModelWithValues | None,
    arguments: RunArguments,
) -> MadeUp:
    """See ``Reader.made_up``."""
    if isinstance(workload, ModelWithValues):
        return {}
    return model_made_up(embedding_of(program).model, arguments.values, arguments.seed)


def bind(program: Program, inputs: Any) -> dict[str, Array]:
    """See ``bind_model``; whether indices are in range is left to the machine."""
    return bind_model(embedding_of(program).model, inputs)


def unbind(
    program: Program, tensors: Mapping[str, Array]
) -> tuple[EmbeddingModel, Sequence[np.ndarray], Batch]:
    """The model, tables and batch that ``bind`` made ``tensors`` of."""
    model = embedding_of(program).model
    return model, *unbind_model(model, tensors)
