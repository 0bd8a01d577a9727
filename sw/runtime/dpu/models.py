"""What a program should do: by its binary, by its binarised DAG, and by its source."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.dpu.config import DpuConfig
from sw.compiler.dpu.sections import INPUTS, OUTPUTS, dag_of
from sw.golden.dpu import evaluate
from sw.golden.dpu import reference as reference_values
from sw.golden.words import typed
from sw.program.program import Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.program.tensor_spec import Array
from sw.runtime.dpu.image import leaves
from sw.runtime.dpu.model.interpreter import run
from sw.runtime.host_target import HostJob


def model(config: DpuConfig, job: HostJob[np.ndarray], wanted: Wanted) -> MachineRun:
    """Runs the instructions of the job's image on the interpreter; the ``wanted`` rows at the end.

    Raises as ``sw.runtime.dpu.model.interpreter.run`` does.
    """
    image = job.image
    stream = np.ascontiguousarray(image["instructions"].words, "<u4").view(np.uint8).reshape(-1)
    data = np.zeros((config.data_rows, config.banks), np.uint32)
    data[image["data"].numbers] = image["data"].words
    done = run(config, stream, data)
    rows_wanted = wanted(done.counters)
    memory = {name: Rows(rows, done.data[rows]) for name, rows in rows_wanted.items()}
    return MachineRun(memory, done.cycles, done.counters)


def golden(program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The bits that the outputs must have."""
    launch = program.launches[0]
    op, left, right = (launch.sections[f"tree_{name}"] for name in ("op", "left", "right"))
    format = launch.config["format"]
    words = evaluate(op, left, right, leaves(launch, tensors), format)
    return {OUTPUTS: typed(words[launch.sections["output_value"]], format)}


def reference(program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of the source DAG in float64."""
    dag = dag_of(program.launches[0].sections)
    return {OUTPUTS: reference_values(dag, np.asarray(tensors[INPUTS]))[dag.outputs]}
