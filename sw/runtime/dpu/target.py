"""The DPU as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.hw.dpu.top import build
from gnarl.sw.compiler.dpu.compile import PASSES, compile
from gnarl.sw.compiler.dpu.sections import DPU_SCHEMA, INPUTS, OUTPUTS, dag_of
from gnarl.sw.compiler.passes import Trace, results
from gnarl.sw.golden import dpu as golden_model
from gnarl.sw.golden.words import typed
from gnarl.sw.program.program import Program
from gnarl.sw.program.rows import MachineRun, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.dpu.command_line import COMMAND_LINE
from gnarl.sw.runtime.dpu.diagnosis import first_difference, volatile_rows, written_rows
from gnarl.sw.runtime.dpu.figures import activity, cycle_limit, figures, listing
from gnarl.sw.runtime.dpu.image import bind, given, image, leaves, outputs, result_rows
from gnarl.sw.runtime.dpu.model.interpreter import ModelError, run
from gnarl.sw.runtime.dpu.sources import DagSource, inputs, made_up, warm_up, workload
from gnarl.sw.runtime.dpu.wave_units import UNITS
from gnarl.sw.runtime.machine.cycle_limit import require_cycles
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.host_presenter import HostPresenter
from gnarl.sw.runtime.target.reader import Example, FileReader
from gnarl.sw.workloads.dag.generate import write_examples
from gnarl.sw.workloads.dag.workload import DagWorkload


class DpuReader(FileReader[DagSource, DagWorkload]):
    """Reads DAGs from files and networkx."""

    target = "dpu"
    workload = staticmethod(workload)
    inputs = staticmethod(inputs)
    made_up = staticmethod(made_up)

    def examples(self, folder: Path) -> list[Example]:
        """A probabilistic circuit and a triangular system, both generated."""
        return [Example(path.stem, str(path)) for path in write_examples(folder)]


class DpuCompiler(Compiler[DpuConfig, DagWorkload]):
    """Compiles DAGs."""

    passes = results(PASSES)
    schema = DPU_SCHEMA
    warm_up = staticmethod(warm_up)

    def compile(
        self,
        workload: DagWorkload,
        config: DpuConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)


class DpuGenerator(Generator[DpuConfig]):
    """Generates DPUs."""

    units = UNITS
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {
        "luts": ("banks", "depth", "registers"),
        "flip_flops": ("banks", "depth"),
        "dsps": ("banks", "depth"),
        "block_rams": ("instruction_words", "data_rows", "banks"),
    }
    build = staticmethod(build)


class DpuExecutor(HostExecutor[DpuConfig, np.ndarray]):
    """Executes programs of DPUs. Operands of jobs are the leaves: words, uint32, of all inputs and
    then all constants."""

    generator = DpuGenerator()
    memory_map = staticmethod(memory_map)
    bind = staticmethod(bind)
    given = staticmethod(given)
    operands = staticmethod(leaves)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)
    cycle_limit = staticmethod(cycle_limit)
    written_rows = staticmethod(written_rows)
    volatile_rows = staticmethod(volatile_rows)
    first_difference = staticmethod(first_difference)

    def model(self, config: DpuConfig, job: HostJob[np.ndarray], wanted: Wanted) -> MachineRun:
        """Raises as ``gnarl.sw.runtime.dpu.model.interpreter.run`` does, and
        ``CycleLimitError``."""
        words = np.ascontiguousarray(job.image["instructions"].words, "<u4")
        try:
            done = run(config, words.view(np.uint8).reshape(-1), job.image["data"])
        except ModelError as error:
            require_cycles(error.cycle, job.max_cycles)
            raise
        require_cycles(done.cycles, job.max_cycles)
        rows_wanted = wanted(done.counters)
        memory = {name: done.data.among(rows) for name, rows in rows_wanted.items()}
        return MachineRun(memory, done.cycles, done.counters)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        launch = program.launches[0]
        op, left, right = (launch.sections[f"tree_{name}"] for name in ("op", "left", "right"))
        format = launch.config["format"]
        words = golden_model.evaluate(op, left, right, leaves(launch, tensors), format)
        return {OUTPUTS: typed(words[launch.sections["output_value"]], format)}

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        dag = dag_of(program.launches[0].sections)
        return {OUTPUTS: golden_model.reference(dag, np.asarray(tensors[INPUTS]))[dag.outputs]}


class DpuPresenter(HostPresenter[np.ndarray]):
    """Presents programs and runs of DPUs."""

    listing = staticmethod(listing)
    figures = staticmethod(figures)
    activity = staticmethod(activity)


TARGET = Target(
    configuration=DpuConfig,
    reader=DpuReader(),
    compiler=DpuCompiler(),
    executor=DpuExecutor(),
    presenter=DpuPresenter(),
    command_line=COMMAND_LINE,
    demo="dpu_d3_b64",
)
