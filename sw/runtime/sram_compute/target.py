"""In-SRAM computing as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from hw.lib.errors import WorkloadError, quoted
from hw.sram_compute.config import SramConfig
from hw.sram_compute.memory_map import memory_map
from hw.sram_compute.top import build
from sw.compiler.passes import Trace
from sw.compiler.sram_compute.command_program import (
    PASSES,
    SRAM_SCHEMA,
    CommandWorkload,
    compile,
    listing,
    read,
)
from sw.program.program import Program
from sw.program.rows import MachineRun, Rows, Wanted
from sw.program.tensor_spec import Array
from sw.program.tensor_spec import bind as bind_arrays
from sw.runtime.host_machine import HostJob
from sw.runtime.host_target import HostTarget
from sw.runtime.sram_compute.figures import figures
from sw.runtime.sram_compute.image import image, outputs, result_rows
from sw.runtime.sram_compute.model.system import System
from sw.workloads.loops.sources import load_arrays

Tensors = Mapping[str, Array]


class SramTarget(HostTarget[SramConfig, CommandWorkload, Tensors]):
    """See ``sw.runtime.target.Target``. What a program of commands means, the model says."""

    name = "sram"
    configuration = SramConfig
    passes = PASSES
    schema = SRAM_SCHEMA
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {
        "luts": ("banks", "arrays", "bitlines"),
        "flip_flops": ("banks", "arrays", "bitlines"),
        "dsps": (),
        "block_rams": ("memory_bytes", "banks", "arrays", "wordlines", "bitlines"),
    }

    build = staticmethod(build)
    memory_map = staticmethod(memory_map)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)
    figures = staticmethod(figures)

    def source(self, text: str, tensors: Mapping[str, str]) -> Any:
        return super().source(text, {})

    def workload(self, source: Any, seed: int = 0) -> CommandWorkload:
        if isinstance(source, CommandWorkload):
            return source
        if not isinstance(source, str | Path):
            raise WorkloadError(f"{quoted(source)}: must be the path of a file of commands")
        return read(Path(source))

    def compile(
        self,
        workload: CommandWorkload,
        config: SramConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)

    def listing(self, program: Program) -> Iterator[str]:
        yield from listing(program)

    def inputs(
        self,
        program: Program,
        workload: CommandWorkload | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        if values is not None:
            raise WorkloadError("--values: arrays are given by --tensor NAME=FILE.npy")
        return load_arrays(tensors)

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        """Arrays by name. Raises ``WorkloadError``."""
        arrays = super().bind(program, inputs)
        bind_arrays(program.inputs, arrays)
        return arrays

    def model(self, config: SramConfig, job: HostJob[Tensors], wanted: Wanted) -> MachineRun:
        """Raises ``StoppedError`` where the hardware stops."""
        system = System(config)
        memory, program = job.image["memory"], job.image["program"]
        system.memory[memory.numbers] = memory.words
        run = system.run(int(program.words[0, 0]))
        rows = wanted(run.counters)
        found = {window: Rows(numbers, system.memory[numbers]) for window, numbers in rows.items()}
        return MachineRun(found, run.cycles, run.counters)

    def golden(self, program: Program, tensors: Tensors) -> dict[str, Array]:
        found: dict[str, Array] = dict(tensors)
        config = SramConfig.from_dict(program.config)
        for launch in program.launches:
            job = HostJob[Tensors](launch, found, image(launch, found))
            memory = self.model(config, job, partial(result_rows, launch)).memory
            found |= outputs(launch, found, memory)
        return {spec.name: found[spec.name] for spec in program.outputs}


TARGET = SramTarget()
