"""Workloads and operands from what people have: expressions, graphs, files of tensors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.sam.check import require_index_bits
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.sections import kernel_of, parameters_of
from gnarl.sw.compiler.sam.workload import SamGraph, SamModel, SamWorkload, model_of
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.python_files import split_name
from gnarl.sw.runtime.sam.image import host_inputs, is_model, own_name
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.result_shapes import with_result_shapes
from gnarl.sw.workloads.einsum.pytorch.sources import (
    file_program,
    function_program,
    module_program,
)
from gnarl.sw.workloads.einsum.rearranged_check import inputs_of_hosts
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.pytorch.export import SUFFIX, is_module
from gnarl.sw.workloads.tensor.operands import Operand, all_operands, load_operands
from gnarl.sw.workloads.tensor.program_tensors import format_of
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.workload import named_operands, read_expression, split_source
from gnarl.sw.workloads.text_file import read_text

GRAPH_SUFFIXES = (".gv", ".dot")

_MLIR_SUFFIX = ".mlir"

_FILE_NAME = re.compile(r"[^()*+]*\.[A-Za-z]\w*")


SamSource: TypeAlias = str | Path | tuple[Any, Any] | SamWorkload | SamGraph | SamModel


def source(text: str, tensors: Mapping[str, str]) -> SamWorkload | SamGraph | SamModel:
    """The workload of an expression, a graph's file or a model, with operands from files by
    name."""
    program = _program(text)
    if program is not None:
        of_hosts = inputs_of_hosts(program.statements)
        return model_of(program, load_operands(tensors, program.formats, of_hosts))
    parsed = workload(text)
    if not tensors:
        return parsed
    if isinstance(parsed, SamModel):
        formats = {name: each for name, each in parsed.program.formats.items()}
        named = {parsed.own_name(name): path for name, path in tensors.items()}
        given = load_operands(named, formats, inputs_of_hosts(parsed.program.statements))
        return replace(parsed, inputs={**parsed.inputs, **given})
    indexed = parsed.plan.kernel if isinstance(parsed, SamGraph) else parsed.statement
    return replace(parsed, inputs=load_operands(tensors, indexed.formats))


def workload(source: SamSource, seed: int = 0) -> SamWorkload | SamGraph | SamModel:
    """The workload that ``source`` means.

    ``source`` is an expression, the path of a ``.gv`` graph, a ``SamWorkload`` or a ``SamGraph``;
    or a tuple of one of the first two and operands by name, each whatever ``Tensor.from_any``
    takes, or ``None``.
    Or a model: a tuple of a PyTorch module and the arguments of its ``forward``, the path of a
    ``.pt2`` file, ``FILE.py:NAME``, or a ``SamModel``; or the text of an Einsum program, or the
    path of its ``.mlir`` file, with operands that tell all sizes.

    Raises ``WorkloadError`` that names the column, or the file and line.
    """
    if isinstance(source, SamWorkload | SamGraph | SamModel):
        return source
    if isinstance(source, tuple) and len(source) == 2 and is_module(source[0]):
        return _model(module_program(*source))
    text, inputs = split_source(source)
    if not isinstance(text, str | Path):
        raise WorkloadError(
            f"a {type(text).__name__}: must be an expression, the path of a graph or a model, or a "
            "tuple of one of the first two and operands by name, or of a module and its inputs"
        )
    program = _program(str(text))
    of_hosts = () if program is None else inputs_of_hosts(program.statements)
    operands = named_operands(inputs, of_hosts)
    if program is not None:
        return model_of(program, operands or {})
    if str(text).endswith(GRAPH_SUFFIXES):
        path = Path(text)
        return SamGraph(path.stem, read_dot(read_text(path), str(path)), operands)
    if str(text).endswith(SUFFIX):
        return _model(file_program(text))
    file, name = split_name(str(text))
    if name and file.endswith(".py"):
        return _model(function_program(str(text)))
    if "=" not in str(text) and (os.path.exists(text) or _FILE_NAME.fullmatch(str(text))):
        raise WorkloadError(
            f"{text}: must be an expression, a graph ({', '.join(GRAPH_SUFFIXES)}) or a model "
            f"({SUFFIX}, {_MLIR_SUFFIX}, FILE.py:NAME); --tensor NAME=PATH gives a file's tensor"
        )
    read = read_expression(str(text), operands)
    return SamWorkload(read.name, read.text, read.statement, read.inputs)


def _program(text: str) -> EinsumProgram | None:
    """The Einsum program that is written so: with ``;`` or reductions in brackets, or in an
    ``.mlir`` file; ``None`` for other workloads."""
    if text.endswith(_MLIR_SUFFIX):
        from gnarl.sw.workloads.einsum.mlir.read import read_mlir

        return read_mlir(read_text(Path(text)), text)
    statements = text.partition(" -")[0]
    return parse_program(text) if "=" in statements and set(statements) & {";", "["} else None


def _model(model: Model) -> SamModel:
    """A PyTorch model, whose results have the names that users know them by, and their shapes."""
    model = with_result_shapes(model)
    renamed = {
        name: user
        for name, user in model.names.items()
        if name in model.program and user.isidentifier() and user not in model.shapes
    }

    def name_of(name: str) -> str:
        return renamed.get(name, name)

    data = {name: Operand(tensor) for name, tensor in model.data.items()}
    return SamModel(
        model.program.name,
        model.program.renamed(renamed),
        {name_of(name): shape for name, shape in model.shapes.items()},
        {name: each for name, each in model.data.items() if name in model.parameters},
        data,
        {name_of(name): user for name, user in model.names.items()},
    )


def inputs(
    program: Program,
    workload: SamWorkload | SamGraph | SamModel | None,
    arguments: RunArguments,
) -> dict[str, Operand]:
    """The program's operands, from files in place of the workload's own.

    Raises ``WorkloadError`` naming those that are in neither.
    """
    tensors = arguments.tensors
    if arguments.values is not None:
        raise WorkloadError(
            "--values: not supported by target sam: --tensor NAME=PATH gives its tensors"
        )
    own = {} if workload is None else workload.inputs or {}
    if is_model(program):
        operands = _model_operands(program, own, tensors)
    else:
        kernel = kernel_of(program.launches[0].sections)
        operands = all_operands(program.workload, kernel, own, tensors)
    for launch in program.launches:
        _require_index_bits(program, launch, operands, tensors)
    return operands


def _model_operands(
    program: Program, own: Mapping[str, Operand], paths: Mapping[str, str]
) -> dict[str, Operand]:
    """A model's inputs by name: those of files, in place of ``own`` and of its parameters."""
    names = [spec.name for spec in program.inputs]
    formats = {spec.name: format_of(spec) for spec in program.inputs}
    for launch in program.launches:
        formats |= kernel_of(launch.sections).formats
    paths = {own_name(name, names): path for name, path in paths.items()}
    for name in paths:
        if name not in names:
            raise WorkloadError(
                f"{program.workload}: --tensor {name}: no such input; there are {', '.join(names)}"
            )
    parameters = parameters_of(program.launches[0].sections)
    available = {
        **{name: Operand(Tensor.from_any(value)) for name, value in parameters.items()},
        **own,
        **load_operands(paths, formats, host_inputs(program)),
    }
    if missing := [name for name in names if name not in available]:
        raise WorkloadError(
            f"{program.workload}: tensor {missing[0]} is not given: --tensor NAME=PATH gives one"
        )
    return {name: available[name] for name in names}


def _require_index_bits(
    program: Program,
    launch: Launch,
    operands: Mapping[str, Operand],
    paths: Mapping[str, str],
) -> None:
    """Raises ``CapacityError`` naming the file of a tensor that is too large for coordinates."""
    for access in kernel_of(launch.sections).operands:
        if access.tensor not in operands:
            continue
        for index, size in zip(access.indices, operands[access.tensor].tensor.shape, strict=False):
            try:
                require_index_bits(launch.config["index_bits"], index, size)
            except CapacityError as error:
                place = paths.get(access.tensor, program.workload)
                raise CapacityError(f"{place}: {error}") from error
