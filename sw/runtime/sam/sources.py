"""Workloads and operands from what people have: expressions, graphs, files of tensors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hw.lib.errors import CapacityError, WorkloadError
from sw.compiler.sam.check import require_index_bits
from sw.compiler.sam.dot_read import read_dot
from sw.compiler.sam.sections import statement_of
from sw.compiler.sam.workload import Operand, SamWorkload, operand
from sw.program.program import Program
from sw.workloads.tensor.parser import parse
from sw.workloads.tensor.storage import TensorFormat
from sw.workloads.tensor.tensor import Tensor
from sw.workloads.tensor.tensor_files import load_tensor
from sw.workloads.text_file import read_text

GRAPH_SUFFIXES = (".gv", ".dot")

_FILE_NAME = re.compile(r"[^()*+]*\.[A-Za-z]\w*")

_EXACT_SUFFIXES = (".mtx", ".npz", ".npy")
"""Of files that say how large a tensor is; others say which coordinates it has."""


def source(text: str, tensors: Mapping[str, str]) -> SamWorkload:
    """The workload of an expression or a graph's file, with operands from files by name."""
    found = workload(text)
    if not tensors:
        return found
    return replace(found, inputs=load_tensors(tensors, found.statement.formats))


def workload(source: Any, seed: int = 0) -> SamWorkload:
    """The workload that ``source`` means.

    ``source`` is an expression, the path of a ``.gv`` graph, or a ``SamWorkload``; or a tuple of
    one of the first two and operands by name, each whatever ``Tensor.from_any`` takes, or ``None``.

    Raises ``WorkloadError`` that names the column, or the file and line.
    """
    if isinstance(source, SamWorkload):
        return source
    text, inputs = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    if not isinstance(text, str | Path):
        raise WorkloadError(
            f"a {type(text).__name__}: must be an expression or the path of a graph, or a tuple of "
            "one and operands by name"
        )
    operands = None
    if inputs is not None:
        operands = {name: named_operand(name, tensor) for name, tensor in inputs.items()}
    if str(text).endswith(GRAPH_SUFFIXES):
        path = Path(text)
        found = read_dot(read_text(path), str(path))
        parsed = parse(found.statement)
        return SamWorkload(path.stem, found.statement, parsed, found.graph, operands)
    if "=" not in str(text) and (os.path.exists(text) or _FILE_NAME.fullmatch(str(text))):
        raise WorkloadError(
            f"{text}: must be an expression or a graph ({', '.join(GRAPH_SUFFIXES)}); "
            "--tensor NAME=PATH gives a file's tensor"
        )
    statement = parse(str(text))
    name = str(text).split(" -")[0].strip()
    return SamWorkload(name, str(text), statement, None, operands)


def load_tensors(
    paths: Mapping[str, str], formats: Mapping[str, TensorFormat]
) -> dict[str, Operand]:
    """Operands from files, by name; a folder has each stored as ``formats`` say.

    A Matrix Market file of one column is a vector where ``formats`` say that it has one dimension.

    Raises ``WorkloadError`` naming the file and line.
    """
    found = {}
    for name, path in paths.items():
        suffix = Path(path).suffix.lower()
        if Path(path).is_dir():
            modes = formats[name].modes if name in formats else None
            tensor = load_tensor(path, name, modes)
        else:
            tensor = load_tensor(path)
            is_vector = name in formats and formats[name].order == 1
            if suffix == ".mtx" and is_vector and tensor.shape[1] == 1:
                tensor = Tensor(tensor.shape[:1], tensor.coordinates[:, :1], tensor.values)
        found[name] = Operand(tensor, grows=suffix not in _EXACT_SUFFIXES)
    return found


def inputs(
    program: Program,
    workload: SamWorkload | None,
    values: Path | None,
    tensors: Mapping[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, Operand]:
    """The program's operands, from files in place of the workload's own.

    Raises ``WorkloadError`` naming those that are in neither.
    """
    if values is not None:
        raise WorkloadError(
            "--values: not supported by target sam: --tensor NAME=PATH gives its tensors"
        )
    launch = program.launches[0]
    statement = statement_of(launch.sections)
    given = workload.inputs if workload is not None else None
    found = {**(given or {}), **load_tensors(tensors, statement.formats)}
    operands = dict.fromkeys(access.tensor for access in statement.operands)
    missing = [name for name in operands if name not in found]
    if missing:
        are = "tensor {} is" if len(missing) == 1 else "tensors {} are"
        raise WorkloadError(
            f"{program.workload}: {are.format(', '.join(missing))} not given: "
            "--tensor NAME=PATH gives one"
        )
    for access in statement.operands:
        for index, size in zip(access.indices, found[access.tensor].tensor.shape, strict=False):
            try:
                require_index_bits(launch.config["index_bits"], index, size)
            except CapacityError as error:
                place = tensors.get(access.tensor, program.workload)
                raise CapacityError(f"{place}: {error}") from error
    return found


def named_operand(name: str, source: Any) -> Operand:
    """What ``operand`` makes of ``source``; errors name the tensor."""
    try:
        return operand(source)
    except WorkloadError as error:
        raise WorkloadError(f"tensor {name}: {error}") from error
