"""What a program should do: by its binary, by its binarised DAG, and by its source."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.dpu.config import DpuConfig
from sw.compiler.dpu.sections import dag_of
from sw.golden.dpu import evaluate
from sw.golden.dpu import reference as reference_values
from sw.program.program import Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.runtime.dpu.image import Inputs, input_values, operands
from sw.runtime.dpu.model.interpreter import run
from sw.runtime.result import Result
from sw.runtime.verify import Verification, compare


def model(config: DpuConfig, image: Mapping[str, Rows], wanted: Wanted) -> MachineRun:
    """Runs the instructions of ``image`` on the interpreter; the ``wanted`` rows at the end.

    Raises as ``sw.runtime.dpu.model.interpreter.run`` does.
    """
    stream = np.ascontiguousarray(image["instructions"].words, "<u4").view(np.uint8).reshape(-1)
    data = np.zeros((config.data_rows, config.banks), np.uint32)
    data[image["data"].numbers] = image["data"].words
    done = run(config, stream, data)
    rows_wanted = wanted(done.counters)
    memory = {name: Rows(rows, done.data[rows]) for name, rows in rows_wanted.items()}
    return MachineRun(memory, done.cycles, done.counters)


def golden(program: Program, leaves: np.ndarray) -> np.ndarray:
    """The words, uint32 [k], that the outputs must have."""
    op, left, right = (program.sections[f"tree_{name}"] for name in ("op", "left", "right"))
    values = evaluate(op, left, right, leaves, program.format)
    return values[program.sections["output_value"]]


def reference(program: Program, inputs: np.ndarray) -> np.ndarray:
    """The outputs, float64 [k], of the source DAG in float64."""
    dag = dag_of(program.sections)
    return reference_values(dag, inputs)[dag.outputs]


def verify(program: Program, inputs: Inputs, result: Result) -> Verification:
    """Compares a result with the golden model and with float64."""
    return compare(
        program.output_names,
        result.words,
        golden(program, operands(program, inputs)),
        result.outputs,
        reference(program, input_values(program, inputs)),
    )
