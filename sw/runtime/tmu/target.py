"""The TMU as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gnarl.hw.lib.lines.line_size import LINE_BYTES
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import memory_map
from gnarl.hw.tmu.top import build
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import PASSES, compile
from gnarl.sw.compiler.tmu.listing import listing
from gnarl.sw.compiler.tmu.optimise import optimise
from gnarl.sw.compiler.tmu.sections import TMU_SCHEMA, check_units
from gnarl.sw.program.program import Program
from gnarl.sw.program.rows import MachineRun, Wanted
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.host_presenter import HostPresenter
from gnarl.sw.runtime.target.nest_cycles import most_cycles
from gnarl.sw.runtime.target.reader import Example, Reader
from gnarl.sw.runtime.tmu.activity import activity, drawn_counters
from gnarl.sw.runtime.tmu.command_line import COMMAND_LINE
from gnarl.sw.runtime.tmu.figures import figures
from gnarl.sw.runtime.tmu.image import (
    Operands,
    image,
    operands,
    outputs,
    result_rows,
    volatile_rows,
)
from gnarl.sw.runtime.tmu.model import machine
from gnarl.sw.runtime.tmu.sources import (
    TmuSource,
    TmuWorkload,
    bind,
    given,
    inputs,
    made_up,
    source,
    valued,
    workload,
)
from gnarl.sw.runtime.tmu.wave_units import UNITS


class TmuReader(Reader[TmuSource, TmuWorkload]):
    """Reads loop nests, named operations, expressions, models and dumps."""

    target = "tmu"
    source = staticmethod(source)
    workload = staticmethod(workload)
    valued = staticmethod(valued)
    inputs = staticmethod(inputs)
    made_up = staticmethod(made_up)

    def examples(self, folder: Path) -> list[Example]:
        """EmbeddingBag of the first model of Ember's table IV."""
        return [Example("embedding_bag", "embedding_bag:rm1")]


class TmuCompiler(Compiler[TmuConfig, TmuWorkload]):
    """Compiles loop nests."""

    passes = PASSES
    schema = TMU_SCHEMA
    optimise = staticmethod(optimise)

    def compile(
        self,
        workload: TmuWorkload,
        config: TmuConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)


class TmuGenerator(Generator[TmuConfig]):
    """Generates TMUs."""

    units = UNITS
    sizes: ClassVar[Mapping[str, Sequence[str]]] = {
        "luts": ("lanes", "layers", "streams", "requests"),
        "flip_flops": ("lanes", "layers", "streams", "stream_words"),
        "dsps": ("lanes",),
        "block_rams": ("memory_bytes", "l2_bytes", "l1_bytes", "program_words"),
    }
    build = staticmethod(build)


class TmuExecutor(HostExecutor[TmuConfig, Operands]):
    """Executes programs of both units."""

    generator: Generator[TmuConfig] = TmuGenerator()
    memory_map = staticmethod(memory_map)
    bind = staticmethod(bind)
    given = staticmethod(given)
    operands = staticmethod(operands)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    volatile_rows = staticmethod(volatile_rows)
    outputs = staticmethod(outputs)
    drawn_counters = staticmethod(drawn_counters)

    def check(self, job: HostJob[Operands]) -> None:
        check_units(job.launch)

    def model(self, config: TmuConfig, job: HostJob[Operands], wanted: Wanted) -> MachineRun:
        """Raises as ``gnarl.sw.runtime.tmu.model.machine.run`` does."""
        return machine.run(config, job.image, wanted, job.max_cycles)

    def cycle_limit(self, job: HostJob[Operands]) -> int:
        """Limits cycles by what the nest does with the run's values."""
        config = TmuConfig.from_dict(job.launch.config)
        nest, iterations = job.operands.meaning.nest, job.operands.counted.iterations
        return most_cycles(nest, iterations, config.latency, LINE_BYTES // config.bandwidth)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        found: dict[str, Array] = {**tensors}
        for launch in program.launches:
            found |= Operands(launch, found).golden
        return {spec.name: found[spec.name] for spec in program.outputs}

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        found: dict[str, Array] = {**tensors}
        for launch in program.launches:
            found |= Operands(launch, found).reference
        return {spec.name: found[spec.name] for spec in program.outputs}


class TmuPresenter(HostPresenter[Operands]):
    """Presents programs and runs of TMUs."""

    activity = staticmethod(activity)
    figures = staticmethod(figures)

    def listing(self, program: Program) -> Iterator[str]:
        for launch in program.launches:
            if len(program.launches) > 1:
                yield f"# launch {launch.name}"
            yield from listing(launch)


TARGET = Target(
    configuration=TmuConfig,
    reader=TmuReader(),
    compiler=TmuCompiler(),
    executor=TmuExecutor(),
    presenter=TmuPresenter(),
    command_line=COMMAND_LINE,
    demo="tmu_l2_4m",
)
