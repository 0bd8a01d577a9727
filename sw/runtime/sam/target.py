"""SAM as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from gnarl.hw.lib.errors import CapacityError, GnarlError, ProgramError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory_map import memory_map
from gnarl.hw.sam.top import build
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sam.compile import PASSES, compile, resolve
from gnarl.sw.compiler.sam.dumps import listing
from gnarl.sw.compiler.sam.examples import EXAMPLES, write_operands
from gnarl.sw.compiler.sam.host_steps import step_program
from gnarl.sw.compiler.sam.optimise import optimise
from gnarl.sw.compiler.sam.sections import SAM_SCHEMA, graph_of
from gnarl.sw.compiler.sam.workload import SamGraph, SamModel, SamWorkload
from gnarl.sw.golden import einsum as golden_model
from gnarl.sw.golden.einsum import Entries
from gnarl.sw.golden.words import typed
from gnarl.sw.program.host_step import HostStep, with_made
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import Machine
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.sam.balanced import balanced
from gnarl.sw.runtime.sam.command_line import COMMAND_LINE
from gnarl.sw.runtime.sam.figures import activity, dot, drawn_counters, figures
from gnarl.sw.runtime.sam.image import (
    Operands,
    bind,
    given,
    operands,
    outputs,
    result_rows,
    volatile_rows,
)
from gnarl.sw.runtime.sam.model.accumulate import needed_sums
from gnarl.sw.runtime.sam.model.interpreter import graph_in, machine_run, settings_in
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.search.explorer import SamExplorer
from gnarl.sw.runtime.sam.sources import SamSource, inputs, source, workload
from gnarl.sw.runtime.sam.wave_units import UNITS
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator, Hardware
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.host_presenter import HostPresenter
from gnarl.sw.runtime.target.reader import Example, Reader
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.program_tensors import result_array
from gnarl.sw.workloads.tensor.tensor import Tensor


class SamReader(Reader[SamSource, SamWorkload | SamGraph | SamModel]):
    """Reads expressions, graphs and their operands."""

    target = "sam"
    source = staticmethod(source)
    workload = staticmethod(workload)
    inputs = staticmethod(inputs)

    def examples(self, folder: Path) -> list[Example]:
        """A product and a sum of random sparse matrices."""
        tensors = write_operands(folder)
        return [Example(name, text, tensors) for name, text in EXAMPLES.items()]


class SamCompiler(Compiler[SamConfig, SamWorkload | SamGraph | SamModel]):
    """Compiles expressions."""

    filled_in = ("expression", "graph")
    passes = PASSES
    schema = SAM_SCHEMA
    resolve = staticmethod(resolve)
    optimise = staticmethod(optimise)

    def compile(
        self,
        workload: SamWorkload | SamGraph | SamModel,
        config: SamConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)


class SamGenerator(Generator[SamConfig]):
    """Generates graphs and fabrics."""

    units = UNITS
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {
        "luts": ("index_bits", "queue_depth", "format"),
        "flip_flops": ("index_bits", "queue_depth"),
        "dsps": ("format",),
        "block_rams": ("array_words", "accumulator_words"),
    }
    build = staticmethod(build)


class SamExecutor(HostExecutor[SamConfig, Operands]):
    """Executes graphs."""

    generator = SamGenerator()
    memory_map = staticmethod(memory_map)
    bind = staticmethod(bind)
    given = staticmethod(given)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)
    volatile_rows = staticmethod(volatile_rows)
    drawn_counters = staticmethod(drawn_counters)

    def operands(self, launch: Launch, tensors: Mapping[str, Array]) -> Operands:
        return balanced(operands(launch, tensors))

    def image(self, launch: Launch, operands: Operands) -> dict[str, Rows]:
        return operands.image

    def check(self, job: HostJob[Operands]) -> None:
        """Raises ``ProgramError`` for words that configure no graph, and for keys that an
        accumulator has no sums for."""
        try:
            config = job.operands.config
            graph = graph_in(config, job.image)
            sums = needed_sums(graph, settings_in(config, graph, job.image))
            if sums > config.accumulator_words:
                # Which keys there are is known by the model alone, if there is memory for it.
                with suppress(CapacityError):
                    _ = job.operands.model
        except GnarlError as error:
            raise ProgramError(f"{job.launch.name}: model {error}") from error

    def model(self, config: SamConfig, job: HostJob[Operands], wanted: Wanted) -> MachineRun:
        """Words are those of the model of whole streams, cycles those of the simulator.

        Raises ``CycleLimitError`` for a run that takes more cycles, and ``DeadlockError``.
        """
        _, run = job.operands.model
        simulated = job.operands.simulated(job.max_cycles)
        return machine_run(config, job.image, run, simulated, wanted)

    def machine(
        self,
        hardware: Hardware[SamConfig],
        backend: str,
        *,
        waves: Path | None,
        port: SerialAddress | None,
        stages: Stages,
    ) -> Machine[HostJob[Operands]]:
        machine = super().machine(hardware, backend, waves=waves, port=port, stages=stages)
        if backend == "model":
            with stages("prepare simulator"):
                from gnarl.sw.runtime.sam.simulator.cycles import prepare

                prepare()
        return machine

    def made(self, step: HostStep, tensors: Mapping[str, Array]) -> Array:
        return moved(step, tensors)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The bits that the results must have, but for signs of zeros."""

        def words(
            part: EinsumProgram,
            own: Mapping[str, Tensor],
            type: str,
            lanes: Mapping[str, int],
            blocks: Mapping[str, int],
        ) -> dict[str, Entries]:
            found = golden_model.evaluate(part, own, type, lanes=lanes, blocks=blocks)
            return {name: (at, typed(each, type)) for name, (at, each) in found.items()}

        return _launch_by_launch(program, tensors, words)

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return _launch_by_launch(
            program, tensors, lambda part, own, *_: golden_model.reference(part, own)
        )


def _launch_by_launch(
    program: Program,
    tensors: Mapping[str, Array],
    evaluate: Callable[
        [EinsumProgram, Mapping[str, Tensor], str, Mapping[str, int], Mapping[str, int]],
        dict[str, Entries],
    ],
) -> dict[str, Array]:
    """The program's outputs, where a launch's are what ``evaluate`` makes of its operands in a
    number format, with the lanes of its sums and the blocks of its values, and so is what the host
    makes between launches."""

    def make(step: HostStep, own: Mapping[str, Array]) -> Array:
        entries = {name: Tensor.from_result(each) for name, each in own.items()}
        found = evaluate(step_program(step), entries, step.output.type, {}, {})
        return result_array(step.output, {}, *found[step.output.name])

    known = with_made(program.steps, tensors, make)
    for launch in program.launches:
        own = operands(launch, {spec.name: known[spec.name] for spec in launch.inputs})
        type = launch.config["format"]
        found = evaluate(own.program, own.tensors, type, own.sum_lanes, own.blocks)
        for spec in launch.outputs:
            known[spec.name] = result_array(spec, own.sizes, *found[spec.name])
        known = with_made(program.steps, known, make)
    return {spec.name: known[spec.name] for spec in program.outputs}


class SamPresenter(HostPresenter[Operands]):
    """Presents graphs and their runs."""

    dot = staticmethod(dot)
    figures = staticmethod(figures)
    activity = staticmethod(activity)

    def listing(self, program: Program) -> Iterator[str]:
        return listing(graph_of(program.launches[0].sections))


TARGET = Target(
    configuration=SamConfig,
    reader=SamReader(),
    compiler=SamCompiler(),
    executor=SamExecutor(),
    presenter=SamPresenter(),
    command_line=COMMAND_LINE,
    explorer=SamExplorer(),
    demo="sam_fp32",
    own_workload="expression",
)
