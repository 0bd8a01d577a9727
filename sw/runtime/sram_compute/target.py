"""In-SRAM computing as a target of loop nests, in Python or C, and of commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.memory_map import memory_map
from gnarl.hw.sram_compute.top import build
from gnarl.sw.compiler.passes import Trace, text_of
from gnarl.sw.compiler.sram_compute.command_program import CommandWorkload, read
from gnarl.sw.compiler.sram_compute.compile import PASSES, compile
from gnarl.sw.compiler.sram_compute.lowering import prepare, specialiser
from gnarl.sw.compiler.sram_compute.meaning import meaning
from gnarl.sw.compiler.sram_compute.sections import SRAM_SCHEMA, fat_program, listing
from gnarl.sw.compiler.sram_compute.tdfg.text import dot
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.python_files import split_name
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.program.tensor_spec import bind as bind_arrays
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.sram_compute.command_checks import check_commands
from gnarl.sw.runtime.sram_compute.command_cycles import most_command_cycles
from gnarl.sw.runtime.sram_compute.figures import Tensors, figures
from gnarl.sw.runtime.sram_compute.image import image, outputs, result_rows
from gnarl.sw.runtime.sram_compute.memory_reads import with_zeros
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.runtime.sram_compute.options import OPTIONS
from gnarl.sw.runtime.target.contract import Example
from gnarl.sw.runtime.target.host_target import HostTarget
from gnarl.sw.runtime.target.nest_cycles import most_cycles
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.sequence import begun
from gnarl.sw.workloads.loops.sources import file_workload, load_arrays
from gnarl.sw.workloads.loops.synthesise import made_up, synthesised
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.made_up import ZEROS, MadeUp, without

_NESTS = (".py", ".c")

_EXAMPLE = """/* By how much each element is more than the one before it. */

void differences(int n, const float a[n], float b[n]) {
    for (int i = 1; i < n; i++)
        b[i] = a[i] - a[i - 1];
}
"""


class SramTarget(HostTarget[SramConfig, LoopWorkload | CommandWorkload, Tensors]):
    """See ``gnarl.sw.runtime.target.contract.Target``. Nests are lowered when a run says their
    sizes. What a nest means, the golden model of nests says; what commands that were written by
    hand mean, the model.
    """

    name = "sram"
    demo = "sram_b2"
    configuration = SramConfig
    passes = PASSES
    options = OPTIONS
    schema = SRAM_SCHEMA
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {
        "luts": ("banks", "arrays", "wordlines", "bitlines", "near_lanes", "core_lanes"),
        "flip_flops": ("banks", "arrays", "wordlines", "bitlines", "near_lanes", "core_lanes"),
        "dsps": ("near_lanes", "core_lanes"),
        "block_rams": (
            "memory_bytes",
            "banks",
            "arrays",
            "wordlines",
            "bitlines",
            "core_cache_bytes",
            "core_instructions",
        ),
    }

    build = staticmethod(build)
    memory_map = staticmethod(memory_map)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)
    figures = staticmethod(figures)

    def examples(self, folder: Path) -> list[Example]:
        """A nest in C, on bitlines: of so few elements, the core would be faster."""
        path = folder / "differences.c"
        write_text(path, _EXAMPLE)
        return [Example(path.stem, str(path), options={"place": "memory"})]

    def differences(self, program: Program, config: SramConfig) -> list[str]:
        """A program that is yet to be lowered is for any configuration."""
        return [] if fat_program(program) else super().differences(program, config)

    def source(self, text: str, tensors: Mapping[str, str]) -> Any:
        return (text, dict(tensors)) if _is_nest(text) else super().source(text, {})

    def sized_source(self, source: Any, sizes: Mapping[str, int]) -> Any:
        if isinstance(source, tuple):
            return (*source, dict(sizes))
        return super().sized_source(source, sizes)

    def workload(self, source: Any, seed: int = 0) -> LoopWorkload | CommandWorkload:
        """Reads a workload from a path, in a tuple with paths of ``.npy`` files by the names of
        arrays and, perhaps, with sizes by name. A nest lacks no values: those that are not given
        are synthesised. Raises ``WorkloadError``."""
        if isinstance(source, LoopWorkload | CommandWorkload):
            return source
        text, tensors, *sizes = source if isinstance(source, tuple) else (source, {})
        if not isinstance(text, str | Path):
            raise WorkloadError(
                f"{quoted(text)}: must be the path of a loop nest (.py or .c) or of a file of "
                "commands"
            )
        if not _is_nest(str(text)):
            return read(Path(text))
        loaded = file_workload(str(text), tensors)
        arguments = loaded.nest, loaded.inputs, seed, *sizes
        values, extents = synthesised(*arguments)
        return replace(loaded, inputs=values, sizes=extents, made_up=made_up(*arguments))

    def compile(
        self,
        workload: LoopWorkload | CommandWorkload,
        config: SramConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)

    def at_sizes(
        self,
        program: Program,
        config: SramConfig,
        tensors: Mapping[str, str],
        sizes: Mapping[str, int],
    ) -> Program:
        """What is not given is synthesised, as for a nest."""
        fat = fat_program(program)
        if fat is None:
            return super().at_sizes(program, config, tensors, sizes)
        values, extents = synthesised(fat.nest, load_arrays(tensors), 0, sizes)
        return self.lowered(program, {**values, **extents}, config, quiet)

    def listing(self, program: Program) -> Iterator[str]:
        yield from listing(program)

    def dot(self, program: Program) -> str:
        fat, meant = fat_program(program), meaning(program)
        if fat is None and meant is None:
            return super().dot(program)
        steps = fat.steps if fat is not None else meant.steps if meant is not None else ()
        if not steps:
            raise WorkloadError(
                f"--dot: {program.workload} has no graph: it does not run in memory"
            )
        return text_of(dot(steps))

    def inputs(
        self,
        program: Program,
        workload: LoopWorkload | CommandWorkload | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        if values is not None:
            raise WorkloadError("--values: arrays are given by --tensor NAME=FILE.npy")
        loaded = load_arrays(tensors)
        if isinstance(workload, LoopWorkload):
            return {**workload.inputs, **loaded, **(workload.sizes or {})}
        return loaded

    def made_up(
        self,
        program: Program,
        workload: LoopWorkload | CommandWorkload | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
    ) -> MadeUp:
        fat = fat_program(program)
        if workload is None and fat is not None:
            return without(dict.fromkeys(begun(fat.nest), ZEROS), tensors)
        return super().made_up(program, workload, values, tensors, seed)

    def sized_inputs(self, program: Program, inputs: Any, sizes: Mapping[str, int]) -> Any:
        fat = fat_program(program)
        if fat is None:
            return super().sized_inputs(program, inputs, sizes)
        fat.require_sizes(sizes)
        return {**inputs, **sizes}

    def refuse_sizes(self, sizes: Mapping[str, int]) -> None:
        for name in sizes:
            raise WorkloadError(f"--size {name}: only nests have sizes: must be left out")

    def lowered(self, program: Program, inputs: Any, config: SramConfig, stages: Stages) -> Program:
        """The program for such inputs. ``inputs``: arrays, scalars and sizes by name."""
        fat = fat_program(program)
        if fat is None:
            return program
        given = super().bind(program, inputs)
        with stages("prepare compiler"):
            prepare()
        with stages("lower"):
            return specialiser(fat, program.workload, config).program(fat.binding(inputs), given)

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        """Arrays by name. Raises ``WorkloadError``."""
        arrays = super().bind(program, inputs)
        if meaning(program) is not None:  # as it was lowered for them
            arrays = {spec.name: arrays[spec.name] for spec in program.inputs}
        bind_arrays(program.inputs, arrays)
        return arrays

    def job(
        self, program: Program, launch: Launch, tensors: Tensors, **options: Any
    ) -> HostJob[Tensors]:
        """Checks the values for the core: no access of the nest is outside its arrays, which the
        hardware does not notice. A program that is from no nest finds zeros where it has written
        nothing. Raises ``WorkloadError``, and ``ProgramError`` as ``check_commands`` does."""
        config, meant = SramConfig.from_dict(launch.config), meaning(program)
        job = super().job(program, launch, tensors, **options)
        commands = launch.sections["commands"]
        if meant is None:
            check_commands(config, commands)
            job = replace(job, image=with_zeros(config, commands, job.image))
        has_core = bool(len(launch.sections["instructions"]))
        iterations = 0
        if meant is not None and has_core:
            iterations = _golden(meant.nest).counted(meant.binding(meant.nest, tensors)).iterations
        most = most_command_cycles(config, launch, of_nest=meant is not None)
        if meant is not None:
            most += most_cycles(meant.nest, iterations, config.latency, config.line_cycles)
        return replace(job, max_cycles=most)

    def cycle_limit(self, job: HostJob[Tensors]) -> int:
        return job.max_cycles

    def model(self, config: SramConfig, job: HostJob[Tensors], wanted: Wanted) -> MachineRun:
        """Raises ``StoppedError`` where the hardware stops, ``CycleLimitError``."""
        system = System(config)
        memory, program = job.image["memory"], job.image["program"]
        system.memory[memory.numbers] = memory.words
        if (instructions := job.image.get("instructions")) is not None:
            system.instructions[instructions.numbers] = instructions.words
        run = system.run(int(program.words[0, 0]), job.max_cycles)
        rows = wanted(run.counters)
        contents = {
            window: Rows(numbers, system.memory[numbers]) for window, numbers in rows.items()
        }
        return MachineRun(contents, run.cycles, run.counters)

    def cause(self, program: Program, tensors: Tensors) -> str:
        """An index that the golden model finds outside of its array."""
        meant = meaning(program)
        if meant is not None:
            try:
                _golden(meant.nest).run(meant.binding(meant.nest, tensors))
            except WorkloadError as error:
                return str(error)
        return ""

    def golden(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        nest = meaning(program)
        if nest is None:
            return self._of_model(program, tensors)
        results = _golden(nest.order).run(nest.binding(nest.order, tensors))
        return {spec.name: results[spec.name] for spec in program.outputs}

    def reference(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        nest = meaning(program)
        if nest is None:
            return self._of_model(program, tensors)
        results = _golden(nest.nest).reference(nest.binding(nest.nest, tensors))
        return {spec.name: results[spec.name] for spec in program.outputs}

    def _of_model(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        values: dict[str, Array] = dict(tensors)
        config = SramConfig.from_dict(program.config)
        for launch in program.launches:
            job = HostJob[Tensors](launch, values, image(launch, values))
            memory = self.model(config, job, partial(result_rows, launch)).memory
            values |= outputs(launch, values, memory)
        return {spec.name: values[spec.name] for spec in program.outputs}


@lru_cache(maxsize=16)
def _golden(nest: Nest) -> GoldenLoops:
    """Compiled once in a process."""
    return GoldenLoops(nest)


def _is_nest(text: str) -> bool:
    """Whether it names a file of Python or C, perhaps with a function."""
    return Path(split_name(text)[0]).suffix in _NESTS


TARGET = SramTarget()
