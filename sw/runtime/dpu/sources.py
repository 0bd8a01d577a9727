"""Workloads and input values from what people have."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeAlias

import networkx as nx
import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.dpu.compile import compile as compile_dag
from gnarl.sw.compiler.dpu.sections import dag_of, labels
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.dag.generate import random_dag
from gnarl.sw.workloads.dag.graph import from_networkx
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.rebind import made_up_with, values_from_file
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.made_up import MadeUp

DagSource: TypeAlias = str | nx.Graph | DagWorkload
"""What it may be beside the path of a file."""


def workload(source: Path | DagSource, seed: int = 0) -> DagWorkload:
    """The workload in a file, or that a directed networkx graph describes, or ``source`` itself.

    ``seed`` is for input values that the source lacks.
    """
    if isinstance(source, DagWorkload):
        return source
    if isinstance(source, nx.Graph):
        return from_networkx(source, seed=seed)
    return load(source, seed)


def inputs(
    program: Program,
    workload: DagWorkload | None,
    arguments: RunArguments,
) -> np.ndarray:
    """Input values, float64 [n_inputs], from a file; see ``rebind.values_from_file``."""
    for name in arguments.tensors:
        raise WorkloadError(
            f"--tensor {name}: not supported by target dpu: --values FILE gives its inputs"
        )
    names = labels(program.inputs[0])
    defaults = None if workload is None else workload.inputs
    if arguments.values is not None:
        dag = dag_of(program.launches[0].sections)
        return values_from_file(arguments.values, dag, names, defaults, arguments.seed)
    if defaults is not None:
        return defaults
    if len(names):
        raise WorkloadError(
            f"{program.workload}: a program has no input values: --values FILE gives them"
        )
    return np.zeros(0)


def made_up(
    program: Program,
    workload: DagWorkload | None,
    arguments: RunArguments,
) -> MadeUp:
    """See ``Reader.made_up``."""
    own: MadeUp = {} if workload is None else workload.made_up
    if arguments.values is None:
        return own
    return made_up_with(arguments.values, labels(program.inputs[0]), own, arguments.seed)


@cache
def warm_up() -> None:
    """Compiles something small, once in a process, so that the compiler's passes are machine code.

    numba translates them the first time, in about a minute, and keeps them on disk for the next.
    """
    compile_dag(random_dag(64, seed=0), DpuConfig())
