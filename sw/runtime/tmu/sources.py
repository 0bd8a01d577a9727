"""Workloads from what people have: names of operations, expressions, models, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.tmu.record import DumpedWorkload, read_dump
from gnarl.sw.compiler.tmu.sections import meaning
from gnarl.sw.program.program import Program
from gnarl.sw.program.python_files import split_name
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.program.tensor_spec import bind as bind_arrays
from gnarl.sw.runtime.report.vanished import Given
from gnarl.sw.runtime.report.verify import entry_name
from gnarl.sw.runtime.target import embedding_models
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.embedding.files import load_values
from gnarl.sw.workloads.embedding.inputs import (
    bind_model,
    model_inputs,
    model_made_up,
    refuse_tensors,
)
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import is_model, source_model
from gnarl.sw.workloads.executed_file import executed_value
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload
from gnarl.sw.workloads.loops.expressions.tensor_expression import (
    expression_arrays,
    expression_workload,
    result_shape,
)
from gnarl.sw.workloads.loops.modules import file_workload as pytorch_file_workload
from gnarl.sw.workloads.loops.modules import module_workload as pytorch_workload
from gnarl.sw.workloads.loops.sources import file_workload, is_named, load_arrays, named_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.made_up import MadeUp, without
from gnarl.sw.workloads.pytorch.export import SUFFIX, is_module
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.operands import all_operands, bind_operands
from gnarl.sw.workloads.tensor.sources import is_expression, load_expression, tensor_workload
from gnarl.sw.workloads.tensor.workload import TensorWorkload
from gnarl.sw.workloads.text_file import read_text

TmuWorkload: TypeAlias = LoopWorkload | ModelWorkload | DumpedWorkload

TmuSource: TypeAlias = str | Path | tuple[Any, Any] | TensorWorkload | EmbeddingModel | TmuWorkload


def source(text: str, tensors: Mapping[str, str]) -> TmuSource:
    if is_expression(text):
        return load_expression(text, tensors)
    if is_model(text):
        refuse_tensors(tensors)
        return Path(text)
    return text, tensors


def workload(source: TmuSource, seed: int = 0) -> TmuWorkload:
    """The workload that ``source`` means.

    ``source`` is the name of an operation or the path of a file, perhaps in a tuple with paths of
    ``.npy`` files by the names of arrays; an expression in a tuple with its operands by name, each
    what ``Tensor.from_any`` takes; an ``EmbeddingModel`` or the path of one; the path of a dump's
    ``.mlir`` file, without its inputs; a PyTorch module in a tuple with arguments of its
    ``forward``, ``FILE.py:NAME`` of a function that gives such a tuple, or the path of what
    ``torch.export.save`` wrote; or a ``TmuWorkload``. Raises ``WorkloadError``.
    """
    if isinstance(source, TmuWorkload):
        return source
    if isinstance(source, EmbeddingModel):
        return ModelWorkload(source)
    if is_module(source):
        raise WorkloadError(
            f"a {type(source).__name__}: must be in a tuple with arguments of its forward"
        )
    text, tensors = source if isinstance(source, tuple) and len(source) == 2 else (source, {})
    if isinstance(source, TensorWorkload) or is_expression(text):
        return _expression_workload(source)
    if is_module(text):
        return pytorch_workload(text, tensors)
    if not isinstance(text, str | Path):
        raise WorkloadError(
            f"a {type(text).__name__}: must be the name of an operation, an expression, a model, "
            "a PyTorch module, or the path of a file"
        )
    if is_model(text):
        return _python_model(text)
    if Path(text).suffix == ".mlir":
        return _dump(text, tensors)
    if is_named(str(text)):
        return _with(named_workload(str(text), seed), tensors)
    if Path(text).suffix == SUFFIX:
        return _with(pytorch_file_workload(text), tensors)
    return file_workload(str(text), tensors)


def _python_model(source: str | Path) -> TmuWorkload:
    """The model of a folder or of a Python file, which may give a PyTorch module with arguments of
    its ``forward``."""
    file, name = split_name(source)
    value = executed_value(Path(file), name) if name else None
    if isinstance(value, EmbeddingModel):
        return ModelWorkload(value)
    if isinstance(value, tuple) and len(value) == 2 and is_module(value[0]):
        return pytorch_workload(*value)
    return ModelWorkload(source_model(source))


def _dump(path: str | Path, tensors: Mapping[str, str]) -> DumpedWorkload:
    """Raises ``WorkloadError`` for files of ``tensors`` that are not what its program takes."""
    dump = read_dump(read_text(Path(path)), str(path))
    step = dump.steps[0]
    if not tensors:
        return dump
    if step.meaning.group is not None:
        refuse_tensors(tensors)
    statement = step.meaning.statement
    if statement is None:
        arrays = load_arrays(tensors)
    else:
        arrays = expression_arrays(statement, all_operands(str(path), statement, None, tensors))[0]
    specs = step.meaning.inputs(step.given)
    if {*arrays} <= {spec.name for spec in specs}:
        specs = tuple(spec for spec in specs if spec.name in arrays)
    bind_arrays(specs, arrays)
    return dump


def _with(workload: LoopWorkload, tensors: Mapping[str, str]) -> LoopWorkload:
    """The workload with arrays of files in place of its own."""
    given = load_arrays(tensors)
    if not given:
        return workload
    return replace(
        workload,
        inputs={**workload.inputs, **given},
        made_up=without(workload.made_up, given),
    )


def _expression_workload(source: Any) -> LoopWorkload:
    given = tensor_workload(source)
    assert given is not None
    operands = all_operands(given.name, given.statement, given.inputs, {})
    return expression_workload(given.text, operands)


def valued(workload: TmuWorkload, values: Path) -> TmuWorkload:
    """A model with the file's batch."""
    if not isinstance(workload, ModelWorkload):
        return workload
    batch = load_values(values, workload.model).batch
    return ModelWorkload(workload.model, batch, str(values))


def inputs(
    program: Program,
    workload: TmuWorkload | None,
    arguments: RunArguments,
) -> Any:
    """The program's inputs, from files in place of the workload's own: arrays by name, operands
    where it was made of an expression, or what ``model_inputs`` gives.

    Raises ``WorkloadError`` naming those that are in neither.
    """
    model = model_of(program)
    values, tensors, seed = arguments.values, arguments.tensors, arguments.seed
    if model is not None:
        refuse_tensors(tensors)
        batch = int(program.outputs[0].shape[0]) if values is None else None
        return model_inputs(model, values, batch, seed)
    if values is not None:
        raise WorkloadError(
            "--values: not supported by target tmu: --tensor NAME=PATH gives its arrays"
        )
    own = dict(workload.inputs) if isinstance(workload, LoopWorkload) else {}
    statement = meaning(program.launches[0].sections).statement
    if statement is not None:
        if own and not tensors:
            return own
        return {**all_operands(program.workload, statement, None, tensors)}
    arrays = {**own, **load_arrays(tensors)}
    names = [spec.name for spec in program.inputs]
    for name in arrays:
        if name not in names:
            raise WorkloadError(
                f"--tensor {name}: no input of {program.workload}: must be one of "
                f"{', '.join(names)}"
            )
    missing = [name for name in names if name not in arrays]
    if missing:
        raise WorkloadError(
            f"{program.workload}: no values of {', '.join(missing)}: --tensor NAME=PATH gives them"
        )
    return arrays


def made_up(
    program: Program,
    workload: TmuWorkload | None,
    arguments: RunArguments,
) -> MadeUp:
    """See ``Reader.made_up``."""
    model = model_of(program)
    if model is not None:
        return model_made_up(model, arguments.values, arguments.seed)
    return (
        without(workload.made_up, arguments.tensors) if isinstance(workload, LoopWorkload) else {}
    )


def bind(program: Program, inputs: Any) -> dict[str, Array]:
    """The program's tensors, from arrays by name, from operands where it was made of an
    expression, or see ``bind_model``. Raises ``WorkloadError``."""
    model = model_of(program)
    if model is not None:
        return bind_model(model, inputs, indices=True)
    if not isinstance(inputs, Mapping):
        raise WorkloadError(f"inputs are a {type(inputs).__name__}: must be arrays by name")
    statement = _statement_of_operands(program, inputs)
    if statement is not None:
        arrays, sizes = expression_arrays(statement, inputs)
        _require_shape(program, statement, sizes)
        return {**arrays}
    return {name: np.asarray(value) for name, value in inputs.items()}


def _require_shape(program: Program, statement: Statement, sizes: Mapping[str, int]) -> None:
    """Raises ``WorkloadError`` for operands whose result has another shape than the program's,
    where arrays do not tell."""
    shape = result_shape(statement, sizes)
    (output,) = program.outputs
    if shape != output.shape:
        raise WorkloadError(
            f"{output.name} is {list(shape)} with these tensors: must be {list(output.shape)}, as "
            "the program's"
        )


def given(program: Program, inputs: Any) -> Iterator[Given]:
    """Values of models, and operands of expressions, which are given as float64, see
    ``Executor.given``."""
    if model_of(program) is not None:
        yield from embedding_models.given(program, inputs)
        return
    statement = _statement_of_operands(program, inputs)
    if statement is not None:
        for name, tensor in bind_operands(statement, inputs).items():
            yield Given(tensor.values, "float32", partial(_entry, name, tensor.coordinates))


def model_of(program: Program) -> EmbeddingModel | None:
    """The model that it was made of, if of one."""
    groups = [meaning(launch.sections).group for launch in program.launches]
    features = {each.name: each for group in groups if group for each in group.features}
    if not features:
        return None
    names = [spec.name for spec in program.outputs]
    return EmbeddingModel(program.workload, tuple(features[name] for name in names))


def _entry(name: str, places: np.ndarray, at: int) -> str:
    return entry_name(name, places[at])


def _statement_of_operands(program: Program, inputs: Mapping[str, Any]) -> Statement | None:
    """The program's expression, if ``inputs`` are its operands rather than arrays."""
    if {*inputs} <= {spec.name for spec in program.inputs}:
        return None
    return meaning(program.launches[0].sections).statement
