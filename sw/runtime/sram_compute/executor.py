"""What executes commands of in-SRAM computing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.memory_map import memory_map
from gnarl.hw.sram_compute.top import build
from gnarl.sw.compiler.sram_compute.meaning import meaning
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.program.tensor_spec import bind as bind_arrays
from gnarl.sw.runtime.machine.host_machine import HostJob, ModelMachine
from gnarl.sw.runtime.sram_compute.command_checks import check_commands
from gnarl.sw.runtime.sram_compute.command_cycles import most_command_cycles
from gnarl.sw.runtime.sram_compute.figures import Tensors
from gnarl.sw.runtime.sram_compute.image import image, outputs, result_rows
from gnarl.sw.runtime.sram_compute.memory_reads import with_zeros
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.runtime.sram_compute.wave_units import UNITS
from gnarl.sw.runtime.target.executor import arrays_by_name
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.nest_cycles import most_cycles
from gnarl.sw.workloads.loops.ir.nest import Nest


class SramGenerator(Generator[SramConfig]):
    """Generates banks, their network and the core."""

    units = UNITS
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


class SramExecutor(HostExecutor[SramConfig, Tensors]):
    """Executes commands. What a nest means, the golden model of nests says; what commands that were
    written by hand mean, the model."""

    generator = SramGenerator()
    memory_map = staticmethod(memory_map)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)

    def bind(self, program: Program, inputs: object) -> dict[str, Array]:
        """Arrays by name. Raises ``WorkloadError``."""
        arrays = arrays_by_name(inputs)
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
        return _run(System(config), job, wanted)

    def model_machine(self, config: SramConfig) -> ModelMachine[Tensors]:
        return _Model(self, config)

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
        system = System(config)
        for launch in program.launches:
            job = HostJob[Tensors](launch, values, image(launch, values))
            system = system if system.keeps else System(config)
            memory = _run(system, job, partial(result_rows, launch)).memory
            values |= outputs(launch, values, memory)
        return {spec.name: values[spec.name] for spec in program.outputs}


class _Model(ModelMachine[Tensors]):
    """A machine on which launches of a program find what the one before keeps."""

    def __init__(self, executor: SramExecutor, config: SramConfig) -> None:
        super().__init__(executor, config)
        self._system = System(config)
        self._program: Program | None = None

    def load(self, job: HostJob[Tensors]) -> None:
        super().load(job)
        if not self._system.keeps or job.program is not self._program:
            self._system = System(self._system.config)
        self._program = job.program

    def wait(self) -> None:
        wanted = partial(result_rows, self._job.launch)
        self._run = _run(self._system, self._job, wanted)


def _run(system: System, job: HostJob[Tensors], wanted: Wanted) -> MachineRun:
    system.load(job.image)
    run = system.run(int(job.image["program"].words[0, 0]), job.max_cycles)
    rows = wanted(run.counters)
    contents = {window: Rows(numbers, system.memory[numbers]) for window, numbers in rows.items()}
    return MachineRun(contents, run.cycles, run.counters)


@lru_cache(maxsize=16)
def _golden(nest: Nest) -> GoldenLoops:
    """Compiled once in a process."""
    return GoldenLoops(nest)
