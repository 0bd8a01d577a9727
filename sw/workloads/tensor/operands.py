"""Operands of statements: from files, and from what else people have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.python_files import split_name
from gnarl.sw.workloads.compressed_file import suffix_of
from gnarl.sw.workloads.tensor.expression import Indexed
from gnarl.sw.workloads.tensor.shapes import check_shapes
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_array, load_tensor

_EXACT_SUFFIXES = (".mtx", ".ttx", ".npz", ".npy")
"""Suffixes of files that say how large a tensor is; others say which coordinates it has."""

_ARRAY_SUFFIXES = (".npz", ".npy")


@dataclass(frozen=True)
class Operand:
    """A tensor to compute with. ``grows``: its sizes are the least possible ones only.

    Files without a shape, such as .tns, say no more than what their largest coordinates are.
    """

    tensor: Tensor
    grows: bool = False


def operand(source: Any, finite: bool = True) -> Operand:
    """An operand from what ``Tensor.from_any`` takes, or as it is."""
    return source if isinstance(source, Operand) else Operand(Tensor.from_any(source, finite))


def named_operand(name: str, source: Any, finite: bool = True) -> Operand:
    """What ``operand`` makes of ``source``; errors name the tensor."""
    try:
        return operand(source, finite)
    except WorkloadError as error:
        raise WorkloadError(f"tensor {name}: {error}") from error


def load_operands(
    paths: Mapping[str, str],
    formats: Mapping[str, TensorFormat],
    not_finite: Collection[str] = (),
) -> dict[str, Operand]:
    """Operands from files, by name; a folder has each stored as ``formats`` say. Where a file has
    several tensors and none is named, it is the one with the operand's name.

    ``not_finite``: names of those that dense arrays may give any numbers for.

    A file of a matrix of one column is a vector where ``formats`` say that it has one dimension.

    Raises ``WorkloadError`` naming the file and line.
    """
    operands = {}
    for name, path in paths.items():
        file, _ = split_name(path)
        suffix = suffix_of(file)
        if Path(path).is_dir():
            modes = formats[name].modes if name in formats else None
            tensor = load_tensor(path, name, modes)
        elif name in not_finite and suffix in _ARRAY_SUFFIXES:
            tensor = Tensor.from_any(load_array(path, name), finite=False)
        else:
            tensor = load_tensor(path, name)
            is_vector = name in formats and formats[name].order == 1
            if is_vector and tensor.shape[1:] == (1,) and suffix in _EXACT_SUFFIXES:
                tensor = Tensor(tensor.shape[:1], tensor.coordinates[:, :1], tensor.values)
        operands[name] = Operand(tensor, grows=suffix not in _EXACT_SUFFIXES)
    return operands


def all_operands(
    place: str,
    statement: Indexed,
    own: Mapping[str, Operand] | None,
    paths: Mapping[str, str],
) -> dict[str, Operand]:
    """A statement's operands by name: those of files, in place of a workload's ``own``.

    Raises ``WorkloadError`` naming those that are in neither, after ``place``.
    """
    available = {**(own or {}), **load_operands(paths, statement.formats)}
    operands = dict.fromkeys(access.tensor for access in statement.operands)
    missing = [name for name in operands if name not in available]
    if missing:
        are = "tensor {} is" if len(missing) == 1 else "tensors {} are"
        raise WorkloadError(
            f"{place}: {are.format(', '.join(missing))} not given: --tensor NAME=PATH gives one"
        )
    return available


def bind_operands(
    statement: Indexed, inputs: Any, sizes: Mapping[str, int] = {}
) -> dict[str, Tensor]:
    """The operands as tensors, from what ``operand`` takes, by name.

    Those that may grow have the sizes that others give, or ``sizes`` of indices that are known.
    Raises ``WorkloadError`` for tensors that are missing or unknown, of another order, or of sizes
    that contradict each other.
    """
    if not isinstance(inputs, Mapping):
        raise WorkloadError(f"inputs are a {type(inputs).__name__}: must be tensors by name")
    operands_by_name = {name: named_operand(name, source) for name, source in inputs.items()}
    shapes = grown_shapes(statement, operands_by_name, sizes)
    check_shapes(statement, shapes)
    return {name: entry.tensor.with_shape(shapes[name]) for name, entry in operands_by_name.items()}


def grown_shapes(
    statement: Indexed, operands: Mapping[str, Operand], known: Mapping[str, int] = {}
) -> dict[str, tuple[int, ...]]:
    """Shapes by name; those that may grow have the sizes that other operands give, or ``known``
    ones of indices."""
    names = statement.size_names
    sizes = {names[index]: size for index, size in known.items()}
    for may_grow in (False, True):
        for access in statement.operands:
            entry = operands.get(access.tensor)
            if entry is None or entry.grows != may_grow:
                continue
            for index, size in zip(access.indices, entry.tensor.shape, strict=False):
                name = names[index]
                known_size = sizes.get(name, 0)
                sizes[name] = max(known_size, size) if may_grow else known_size or size
    shapes = {name: entry.tensor.shape for name, entry in operands.items()}
    for access in statement.operands:
        entry = operands.get(access.tensor)
        if entry is not None and entry.grows and len(access.indices) == entry.tensor.order:
            shapes[access.tensor] = tuple(sizes[names[index]] for index in access.indices)
    return shapes
