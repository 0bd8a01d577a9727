"""Workloads and input values from what people have."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from hw.dpu.config import DpuConfig
from sw.compiler.dpu import compile as compile_dag
from sw.compiler.frontend.generate import random_dag
from sw.compiler.frontend.rebind import values_from_file
from sw.compiler.frontend.workload import DagWorkload, from_networkx, load
from sw.runtime.dpu_sections import dag_of
from sw.runtime.program import Program


def workload(source: Any, seed: int = 0) -> DagWorkload:
    """The workload in a file, or that a directed networkx graph describes, or ``source`` itself.

    ``seed`` is for input values that the source lacks.
    """
    if isinstance(source, DagWorkload):
        return source
    if isinstance(source, nx.Graph):
        return from_networkx(source, seed=seed)
    return load(source, seed)


def input_values(
    program: Program, path: Path, defaults: np.ndarray | None, seed: int = 0
) -> np.ndarray:
    """Input values, float64 [n_inputs], from a file; see ``rebind.values_from_file``."""
    dag = dag_of(program.sections)
    return values_from_file(path, dag, program.input_names, defaults, seed)


@cache
def prepare() -> None:
    """Compiles something small, once in a process, so that the compiler's passes are machine code.

    numba translates them the first time, in about a minute, and keeps them on disk for the next.
    """
    compile_dag(random_dag(64, seed=0), DpuConfig())
