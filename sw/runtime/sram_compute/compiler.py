"""What compiles loop nests for in-SRAM computing, and lowers them when a run says their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.sram_compute.compile import PASSES, compile, in_place, no_nest
from gnarl.sw.compiler.sram_compute.lowering import prepare, specialiser
from gnarl.sw.compiler.sram_compute.sections import SRAM_SCHEMA, fat_program
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.sram_compute.reader import SramWorkload, refuse_sizes
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.executor import arrays_by_name
from gnarl.sw.runtime.target.unsupported import refuse_named
from gnarl.sw.workloads.loops.sources import load_arrays
from gnarl.sw.workloads.loops.synthesise import synthesised


class SramCompiler(Compiler[SramConfig, SramWorkload]):
    """Compiles loop nests and commands."""

    passes = PASSES
    schema = SRAM_SCHEMA
    changeable = ("place",)

    def compile(
        self,
        workload: SramWorkload,
        config: SramConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)

    def changed(self, program: Program, config: SramConfig, **options: Any) -> Program:
        fat = fat_program(program)
        if fat is None:
            raise WorkloadError(no_nest("place", options["place"]))
        return in_place(fat, program.workload, config, **options)

    def differences(self, program: Program, config: SramConfig) -> list[str]:
        """A program that is yet to be lowered is for any configuration."""
        return [] if fat_program(program) else super().differences(program, config)

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
            refuse_named("--tensor", tensors, program.target)
            refuse_sizes(sizes)
            return program
        values, extents = synthesised(fat.nest, load_arrays(tensors), 0, sizes)
        return self.lowered(program, {**values, **extents}, config, quiet)

    def lowered(self, program: Program, inputs: Any, config: SramConfig, stages: Stages) -> Program:
        """The program for such inputs. ``inputs``: arrays, scalars and sizes by name."""
        with stages("lower"):
            fat = fat_program(program)
            if fat is None:
                return program
            given = arrays_by_name(inputs)
        with stages("prepare compiler"):
            prepare()
        with stages("lower"):
            return specialiser(fat, program.workload, config).program(fat.binding(inputs), given)
