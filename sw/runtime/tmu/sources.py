"""Workloads from what people have: names of operations, Python files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import WorkloadError
from sw.program.program import Program
from sw.workloads.loops.sources import file_workload, is_named, load_arrays, named_workload
from sw.workloads.loops.workload import LoopWorkload

_Named = tuple[str, Mapping[str, str]]


def source(text: str, tensors: Mapping[str, str]) -> _Named:
    return text, tensors


def workload(source: Any, seed: int = 0) -> LoopWorkload:
    """The workload that ``source`` means: a ``LoopWorkload``, a name, or a path; or one of these
    two and paths of ``.npy`` files by the names of arrays. Raises ``WorkloadError``."""
    if isinstance(source, LoopWorkload):
        return source
    text, tensors = source if isinstance(source, tuple) else (source, {})
    if not isinstance(text, str | Path):
        raise WorkloadError(
            f"a {type(text).__name__}: must be the name of an operation, or the path of a .py file"
        )
    if is_named(str(text)):
        found = named_workload(str(text), seed)
        given = load_arrays(tensors)
        return replace(found, inputs={**found.inputs, **given}) if given else found
    return file_workload(str(text), tensors)


def inputs(
    program: Program,
    workload: LoopWorkload | None,
    values: Path | None,
    tensors: Mapping[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """The program's inputs, from files in place of the workload's own.

    Raises ``WorkloadError`` naming those that are in neither.
    """
    if values is not None:
        raise WorkloadError(
            "--values: not supported by target tmu: --tensor NAME=PATH gives its arrays"
        )
    own = dict(workload.inputs) if workload is not None else {}
    found = {**own, **load_arrays(tensors)}
    names = [spec.name for spec in program.inputs]
    for name in found:
        if name not in names:
            raise WorkloadError(
                f"--tensor {name}: no input of {program.workload}: must be one of "
                f"{', '.join(names)}"
            )
    missing = [name for name in names if name not in found]
    if missing:
        raise WorkloadError(
            f"{program.workload}: no values of {', '.join(missing)}: --tensor NAME=PATH gives them"
        )
    return found
