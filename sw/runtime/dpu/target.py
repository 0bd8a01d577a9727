"""The DPU as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hw.dpu.config import DpuConfig
from hw.lib.errors import WorkloadError
from sw.compiler.passes import Pass, Trace
from sw.program.program import Launch, Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.program.schema import Schema
from sw.program.tensor_spec import Array
from sw.runtime.configuration_folder import CONFIGURATIONS
from sw.runtime.example import Example
from sw.runtime.host_target import HostJob, HostTarget
from sw.runtime.target import Figures, TargetOption

if TYPE_CHECKING:
    from amaranth.lib import wiring

    from hw.lib.memory_map import MemoryMap
    from sw.runtime.machine import LaunchRun
    from sw.runtime.result import Result
    from sw.runtime.timeline import Activity
    from sw.workloads.dag.workload import DagWorkload

Job = HostJob[np.ndarray]
"""Its operands are the leaves: words, uint32, of all inputs and then all constants."""


class DpuTarget(HostTarget[DpuConfig, "DagWorkload", np.ndarray]):
    """See ``sw.runtime.target.Target``. Its modules are imported when they are used."""

    name = "dpu"
    configuration = DpuConfig
    configurations = CONFIGURATIONS
    demo = "dpu_d3_b64"
    options = (
        TargetOption(
            click.Option(
                ["--no-reassociate", "reassociate"],
                flag_value=False,
                default=None,
                help="Combine the operands of a sum or product from left to right, as they stand.",
            ),
            ("compile",),
        ),
    )

    @property
    def passes(self) -> tuple[Pass, ...]:
        from sw.compiler.dpu.compile import PASSES

        return PASSES

    @cached_property
    def schema(self) -> Schema:
        from sw.compiler.dpu.sections import DPU_SCHEMA

        return DPU_SCHEMA

    def build(self, config: DpuConfig) -> wiring.Component:
        from hw.dpu.top import build

        return build(config)

    def memory_map(self, config: DpuConfig) -> MemoryMap:
        from hw.dpu.memory_map import memory_map

        return memory_map(config)

    def model(self, config: DpuConfig, job: Job, wanted: Wanted) -> MachineRun:
        from sw.runtime.dpu.models import model

        return model(config, job.image, wanted)

    def examples(self, folder: Path) -> list[Example]:
        """A probabilistic circuit and a triangular system, both generated."""
        from sw.workloads.dag.generate import write_examples

        return [Example(path.stem, str(path)) for path in write_examples(folder)]

    def workload(self, source: Any, seed: int = 0) -> DagWorkload:
        """The workload in a file, or that a directed networkx graph describes, or as it is."""
        from sw.runtime.dpu.sources import workload

        return workload(source, seed)

    def warm_up(self) -> None:
        from sw.runtime.dpu.sources import warm_up

        warm_up()

    def compile(
        self,
        workload: DagWorkload,
        config: DpuConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        from sw.compiler.dpu.compile import compile

        return compile(workload, config, seed=seed, trace=trace, **options)

    def listing(self, program: Program) -> Iterator[str]:
        from sw.runtime.dpu.figures import listing

        return listing(program.launches[0])

    def inputs(
        self,
        program: Program,
        workload: DagWorkload | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> np.ndarray:
        from sw.runtime.dpu.sources import new_inputs

        for name in tensors:
            raise WorkloadError(
                f"--tensor {name}: not supported by target dpu: --values FILE gives its inputs"
            )
        return new_inputs(program, values, None if workload is None else workload.inputs, seed)

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        """Values in order, or numbers by label, or the tensor by its name."""
        from sw.runtime.dpu.image import bind

        return bind(program, inputs)

    def operands(self, launch: Launch, tensors: Mapping[str, Array]) -> np.ndarray:
        from sw.runtime.dpu.image import leaves

        return leaves(launch, tensors)

    def image(self, launch: Launch, operands: np.ndarray) -> dict[str, Rows]:
        from sw.runtime.dpu.image import image

        return image(launch, operands)

    def result_rows(self, launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        from sw.runtime.dpu.image import result_rows

        return result_rows(launch)

    def outputs(
        self, launch: Launch, operands: np.ndarray, memory: Mapping[str, Rows]
    ) -> dict[str, Array]:
        from sw.runtime.dpu.image import outputs

        return outputs(launch, operands, memory)

    def cycle_limit(self, launch: Launch) -> int:
        from sw.runtime.dpu.figures import cycle_limit

        return cycle_limit(launch)

    def written_rows(self, launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        from sw.runtime.dpu.diagnosis import written_rows

        return written_rows(launch)

    def volatile_rows(self, launch: Launch) -> dict[str, np.ndarray] | None:
        from sw.runtime.dpu.diagnosis import written_rows

        try:
            return written_rows(launch)
        except ValueError:  # not instructions, at which the machine will stop
            return None

    def first_difference(
        self, launch: Launch, found: Mapping[str, Rows], model: Mapping[str, Rows]
    ) -> str | None:
        from sw.runtime.dpu.diagnosis import first_difference

        return first_difference(launch, found, model)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.runtime.dpu.models import golden

        return golden(program.launches[0], tensors)

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.runtime.dpu.models import reference

        return reference(program.launches[0], tensors)

    def figures(self, program: Program, result: Result[Job]) -> Figures:
        from sw.runtime.dpu.figures import figures

        return figures(result.launches[0])

    def activity(self, run: LaunchRun[Job]) -> Activity:
        from sw.runtime.dpu.figures import activity

        return activity(run.launch)


TARGET = DpuTarget()
