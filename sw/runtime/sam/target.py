"""SAM as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, WorkloadError
from hw.sam.config import SamConfig
from sw.compiler.passes import Pass, Trace
from sw.program.program import Launch, Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.program.schema import Schema
from sw.program.tensor_spec import Array
from sw.runtime.configuration_folder import CONFIGURATIONS
from sw.runtime.example import Example
from sw.runtime.host_target import HostJob, HostTarget
from sw.runtime.target import Figures

if TYPE_CHECKING:
    from amaranth.lib import wiring

    from hw.lib.memory_map import MemoryMap
    from sw.compiler.sam.workload import SamWorkload
    from sw.runtime.machine import LaunchRun
    from sw.runtime.result import Result
    from sw.runtime.sam.image import Operands
    from sw.runtime.timeline import Activity


class SamTarget(HostTarget[SamConfig, "SamWorkload", "Operands"]):
    """See ``sw.runtime.target.Target``. Its modules are imported when they are used."""

    name = "sam"
    configuration = SamConfig
    configurations = CONFIGURATIONS
    demo = "sam_fp32"
    own_workload = "expression"
    filled_in = ("expression", "graph")

    @property
    def passes(self) -> tuple[Pass, ...]:
        from sw.compiler.sam.compile import PASSES

        return PASSES

    @cached_property
    def schema(self) -> Schema:
        from sw.compiler.sam.sections import SAM_SCHEMA

        return SAM_SCHEMA

    def resolve(self, config: SamConfig) -> SamConfig:
        """With the graph of the expression."""
        from sw.compiler.sam.compile import resolve

        return resolve(config)

    def build(self, config: SamConfig) -> wiring.Component:
        from hw.sam.top import build

        return build(config)

    def memory_map(self, config: SamConfig) -> MemoryMap:
        from hw.sam.memory_map import memory_map

        return memory_map(config)

    def model(self, config: SamConfig, job: HostJob[Operands], wanted: Wanted) -> MachineRun:
        from sw.runtime.sam.model.interpreter import machine_run

        return machine_run(config, *job.operands.model, wanted)

    def examples(self, folder: Path) -> list[Example]:
        """A product and a sum of random sparse matrices."""
        from sw.compiler.sam.examples import examples, write_operands

        operands = write_operands(folder)
        return [Example(name, text, operands) for name, text in examples().items()]

    def source(self, text: str, tensors: Mapping[str, str]) -> SamWorkload:
        """The workload of an expression or a graph's file, with operands from files by name."""
        from sw.runtime.sam.sources import source

        return source(text, tensors)

    def workload(self, source: Any, seed: int = 0) -> SamWorkload:
        from sw.runtime.sam.sources import workload

        return workload(source)

    def compile(
        self,
        workload: SamWorkload,
        config: SamConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        from sw.compiler.sam.compile import compile

        return compile(workload, config, seed=seed, trace=trace, **options)

    def dot(self, program: Program) -> str:
        """The graph in the DOT dialect of the SAM tools."""
        from sw.runtime.sam.figures import dot

        return dot(program.launches[0])

    def listing(self, program: Program) -> Iterator[str]:
        from sw.compiler.sam.dumps import listing
        from sw.compiler.sam.sections import graph_of

        return listing(graph_of(program.launches[0].sections))

    def inputs(
        self,
        program: Program,
        workload: SamWorkload | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        from sw.runtime.sam.sources import new_inputs

        if values is not None:
            raise WorkloadError(
                "--values: not supported by target sam: --tensor NAME=PATH gives its tensors"
            )
        return new_inputs(program, None if workload is None else workload.inputs, tensors)

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        from sw.runtime.sam.image import bind

        return bind(program, inputs)

    def operands(self, launch: Launch, tensors: Mapping[str, Array]) -> Operands:
        from sw.runtime.sam.image import operands

        return operands(launch, tensors)

    def image(self, launch: Launch, operands: Operands) -> dict[str, Rows]:
        return operands.image

    def check(self, job: HostJob[Operands]) -> None:
        try:
            job.operands.model  # noqa: B018, whose first use runs it
        except GnarlError as error:
            raise ProgramError(f"{job.launch.name}: model {error}") from error

    def result_rows(self, launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
        from sw.runtime.sam.image import result_rows

        return result_rows(launch, counters)

    def outputs(
        self, launch: Launch, operands: Operands, memory: Mapping[str, Rows]
    ) -> dict[str, Array]:
        from sw.runtime.sam.image import outputs

        return outputs(launch, operands, memory)

    def volatile_rows(self, launch: Launch) -> dict[str, np.ndarray]:
        """None: writers' arrays are never loaded."""
        return {}

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.runtime.sam.models import golden

        return golden(program.launches[0], tensors)

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.runtime.sam.models import reference

        return reference(program.launches[0], tensors)

    def figures(self, program: Program, result: Result[HostJob[Operands]]) -> Figures:
        from sw.runtime.sam.figures import figures

        return figures(result.launches[0])

    def activity(self, run: LaunchRun[HostJob[Operands]]) -> Activity:
        from sw.runtime.sam.figures import activity

        return activity(run.launch, run.job.operands)


TARGET = SamTarget()
