"""Workloads and input values from what people have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from hw.dpu.config import DpuConfig
from hw.lib.errors import WorkloadError
from sw.compiler.dpu import compile as compile_dag
from sw.compiler.dpu.sections import dag_of
from sw.program.program import Program
from sw.runtime.example import Example
from sw.workloads.dag.generate import random_dag, write_examples
from sw.workloads.dag.load import DagWorkload, from_networkx, load
from sw.workloads.dag.rebind import values_from_file


def workload(source: Any, seed: int = 0) -> DagWorkload:
    """The workload in a file, or that a directed networkx graph describes, or ``source`` itself.

    ``seed`` is for input values that the source lacks.
    """
    if isinstance(source, DagWorkload):
        return source
    if isinstance(source, nx.Graph):
        return from_networkx(source, seed=seed)
    return load(source, seed)


def examples(folder: Path) -> list[Example]:
    """A probabilistic circuit and a triangular system, both generated."""
    return [Example(path.stem, str(path)) for path in write_examples(folder)]


def source(text: str, tensors: Mapping[str, str]) -> Path:
    """The path of a workload's file."""
    _refuse(tensors)
    if not Path(text).is_file():
        raise WorkloadError(f"{text}: {'not a' if Path(text).exists() else 'no such'} file")
    return Path(text)


def new_inputs(
    program: Program,
    values: Path | None,
    tensors: Mapping[str, str],
    defaults: np.ndarray | None,
    seed: int = 0,
) -> np.ndarray:
    """Input values, float64 [n_inputs], from a file; see ``rebind.values_from_file``."""
    _refuse(tensors)
    if values is not None:
        dag = dag_of(program.sections)
        return values_from_file(values, dag, program.input_names, defaults, seed)
    return np.zeros(0) if defaults is None else defaults


def _refuse(tensors: Mapping[str, str]) -> None:
    for name in tensors:
        raise WorkloadError(f"--tensor {name}: target dpu has no tensors; --values gives inputs")


@cache
def prepare() -> None:
    """Compiles something small, once in a process, so that the compiler's passes are machine code.

    numba translates them the first time, in about a minute, and keeps them on disk for the next.
    """
    compile_dag(random_dag(64, seed=0), DpuConfig())
