"""Workloads by name, or from files: ``embedding_bag:rm1:L0``, ``nest.py``, ``nest.py:function``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hw.lib.errors import WorkloadError
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.operation_inputs import (
    LOCALITIES,
    RECOMMENDATION_MODELS,
    TABLE_ROWS,
    BagShape,
    embedding_bag_inputs,
)
from sw.workloads.loops.operations import embedding_bag
from sw.workloads.loops.python_source import read_file
from sw.workloads.loops.workload import LoopWorkload

TINY = BagShape(6, 16, 4)
"""For tests."""

_TINY_ROWS = 64


@dataclass(frozen=True)
class Operation:
    """An operation of Ember's table I: its nest, and inputs for a shape and a locality."""

    nest: Nest
    shapes: Mapping[str, BagShape]
    inputs: Callable[[BagShape, str, int], dict[str, np.ndarray]]


def _bags(shape: BagShape, locality: str, seed: int) -> dict[str, np.ndarray]:
    rows = _TINY_ROWS if shape == TINY else TABLE_ROWS
    return embedding_bag_inputs(shape, locality, seed, rows)


_BAGS = {"tiny": TINY, **RECOMMENDATION_MODELS}

OPERATIONS: dict[str, Operation] = {
    "embedding_bag": Operation(embedding_bag.embedding_bag_sum, _BAGS, _bags),
    "embedding_bag_weighted": Operation(embedding_bag.embedding_bag_weighted, _BAGS, _bags),
    "embedding_bag_mean": Operation(embedding_bag.embedding_bag_mean, _BAGS, _bags),
}


def named_workload(name: str, seed: int = 0) -> LoopWorkload:
    """The workload ``OPERATION:SHAPE[:LOCALITY]``, by default of locality L0.

    Raises ``WorkloadError`` that names the nearest of those that there are.
    """
    operation, *rest = name.split(":")
    found = OPERATIONS.get(operation)
    if found is None:
        raise WorkloadError(
            f"{name}: no operation {operation!r}: {_nearest(operation, OPERATIONS)}"
        )
    shape, locality, *more = [*rest, "L0"] if len(rest) == 1 else [*rest, "", ""]
    if shape not in found.shapes:
        raise WorkloadError(f"{name}: no shape {shape!r}: {_nearest(shape, found.shapes)}")
    if locality not in LOCALITIES or any(more):
        raise WorkloadError(f"{name}: no locality {locality!r}: {_nearest(locality, LOCALITIES)}")
    inputs = found.inputs(found.shapes[shape], locality, seed)
    used = {each: inputs[each] for each in inputs if each in found.nest.arrays}
    return LoopWorkload(name, found.nest, used)


def is_named(text: str) -> bool:
    """Whether a text is such a name rather than that of a file."""
    return not Path(text).exists() and not Path(text.partition(":")[0]).suffix


def file_workload(text: str, tensors: Mapping[str, str]) -> LoopWorkload:
    """The nest of ``FILE.py`` or ``FILE.py:FUNCTION``, with arrays from ``.npy`` files by name."""
    file, _, function = text.partition(":")
    nest = read_file(file, function or None)
    return LoopWorkload(nest.name, nest, load_arrays(tensors))


def load_arrays(paths: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays of ``.npy`` files by name. Raises ``WorkloadError`` that names the file."""
    return {name: _array(path) for name, path in paths.items()}


def _array(path: str) -> np.ndarray:
    if not Path(path).is_file():
        raise WorkloadError(f"{path}: {'not a' if Path(path).exists() else 'no such'} file")
    try:
        found: np.ndarray = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise WorkloadError(f"{path}: not a .npy file: {error}") from error
    if not isinstance(found, np.ndarray):
        raise WorkloadError(f"{path}: must be a .npy file of one array")
    return found


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"nearest: {near[0]}" if near else f"must be one of {', '.join(known)}"
