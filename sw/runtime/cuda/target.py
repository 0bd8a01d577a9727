"""CUDA as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hw.lib.errors import ConfigError, WorkloadError
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.schedule import MAPPINGS, STRATEGIES
from sw.compiler.passes import Pass, Trace
from sw.program.program import Launch, Program
from sw.program.schema import Schema
from sw.program.tensor_spec import Array
from sw.runtime.configuration_folder import CONFIGURATIONS
from sw.runtime.example import Example
from sw.runtime.stages import Stages
from sw.runtime.target import Figures, Target, TargetOption
from sw.runtime.verify import Verification
from sw.workloads.embedding.model import MAXIMUM_BATCH

if TYPE_CHECKING:
    from sw.runtime.configuration import NamedConfiguration
    from sw.runtime.cuda.machines import EmbeddingJob
    from sw.runtime.machine import Machine
    from sw.runtime.result import Result
    from sw.workloads.embedding.model import EmbeddingModel

_OPTIONS = (
    TargetOption(
        click.Option(
            ["--schedules"],
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="Schedules that `gnarl tune` found; without, the cost model chooses.",
        ),
        ("compile",),
    ),
    TargetOption(
        click.Option(
            ["--batch"],
            type=click.IntRange(1, MAXIMUM_BATCH),
            help="Samples to look up, by default 64.",
        ),
        ("run",),
    ),
    TargetOption(
        click.Option(
            ["--mapping"],
            type=click.Choice(MAPPINGS),
            help="How blocks of the grid are given to features, by default contiguous.",
        ),
        ("run",),
    ),
    TargetOption(
        click.Option(
            ["--strategy"],
            type=click.Choice(STRATEGIES),
            default=STRATEGIES[0],
            show_default=True,
            help="Measure candidates side by side under interference, then whole kernels; each "
            "alone; or trust the cost model.",
        ),
        ("tune",),
    ),
    TargetOption(
        click.Option(
            ["--batches"],
            type=click.IntRange(min=1),
            default=16,
            show_default=True,
            help="Historical batches to tune on.",
        ),
        ("tune",),
    ),
    TargetOption(
        click.Option(
            ["--candidates"],
            type=click.IntRange(min=1),
            default=8,
            show_default=True,
            help="Schedules of each feature to measure: the best by the cost model.",
        ),
        ("tune",),
    ),
)


class CudaTarget(Target[CudaConfig, "EmbeddingModel", "EmbeddingJob"]):
    """See ``sw.runtime.target.Target``. Its modules are imported when they are used."""

    name = "cuda"
    configuration = CudaConfig
    configurations = CONFIGURATIONS
    backends = ("cuda", "emulation")
    options = _OPTIONS
    demo = "cuda_sm90"

    @property
    def passes(self) -> tuple[Pass, ...]:
        from sw.compiler.cuda.compile import PASSES

        return PASSES

    @cached_property
    def schema(self) -> Schema:
        from sw.compiler.cuda.sections import CUDA_SCHEMA

        return CUDA_SCHEMA

    def examples(self, folder: Path) -> list[Example]:
        """A small recommendation model."""
        from sw.workloads.embedding.recflex import write_example

        path = write_example(folder)
        return [Example(path.name, str(path))]

    def source(self, text: str, tensors: Mapping[str, str]) -> Path:
        """A model's folder or Python file."""
        _refuse(tensors)
        return Path(text)

    def workload(self, source: Any, seed: int = 0) -> EmbeddingModel:
        """The model in a folder or Python file, or as it is."""
        from sw.workloads.embedding.model import EmbeddingModel
        from sw.workloads.embedding.recflex import load_model

        return source if isinstance(source, EmbeddingModel) else load_model(source)

    def compile(
        self,
        workload: EmbeddingModel,
        config: CudaConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        from sw.compiler.cuda.compile import compile

        return compile(workload, config, seed=seed, trace=trace, **options)

    def listing(self, program: Program) -> Iterator[str]:
        """The fused kernel's CUDA C++."""
        from sw.compiler.cuda.sections import decode

        yield from decode(program.launches[0]).kernel.source.splitlines()

    def inputs(
        self,
        program: Program,
        workload: EmbeddingModel | None,
        values: Path | None,
        tensors: Mapping[str, str],
        seed: int,
        options: Mapping[str, Any],
    ) -> Any:
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.inputs import new_inputs

        _refuse(tensors)
        model = decode(program.launches[0]).model
        return new_inputs(model, values, options.get("batch"), seed)

    def bind(self, program: Program, inputs: Any) -> dict[str, Array]:
        """Arrays by name, or a pair: tables, and a ``Batch``."""
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.inputs import bind

        return bind(decode(program.launches[0]).model, inputs)

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> EmbeddingJob:
        """``mapping``: one of ``MAPPINGS``."""
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.grid import map_batch
        from sw.runtime.cuda.inputs import unbind
        from sw.runtime.cuda.machines import EmbeddingJob

        mapping = options.get("mapping") or MAPPINGS[0]
        if mapping not in MAPPINGS:
            raise WorkloadError(f"mapping = {mapping!r}: must be one of {', '.join(MAPPINGS)}")
        compiled = decode(launch)
        tables, batch = unbind(compiled.model, tensors)
        grid = map_batch(compiled, batch, mapping)
        return EmbeddingJob(compiled, tables, batch, grid, mapping == "device")

    def default_backend(self) -> str:
        """``cuda`` if there is a GPU."""
        from sw.runtime.cuda.gpu.gpus import gpus

        return "cuda" if gpus() else "emulation"

    def machine(
        self,
        hardware: NamedConfiguration,
        backend: str,
        *,
        waves: Path | None,
        stages: Stages,
    ) -> Machine[EmbeddingJob]:
        from sw.runtime.cuda.machines import EmulationMachine, GpuMachine

        if waves is not None:
            raise ConfigError(["waves: not supported by target cuda: must be left out"])
        if backend == "emulation":
            return EmulationMachine(stages)
        config: Any = hardware.config
        return GpuMachine(config, stages)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.inputs import unbind
        from sw.runtime.cuda.verify import golden

        model = decode(program.launches[0]).model
        return golden(model, *unbind(model, tensors))

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.inputs import unbind
        from sw.runtime.cuda.verify import reference

        model = decode(program.launches[0]).model
        return reference(model, *unbind(model, tensors))

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """Within a bound where sums depend on their order, see ``sw.runtime.cuda.verify``."""
        from sw.compiler.cuda.sections import decode
        from sw.runtime.cuda.inputs import unbind
        from sw.runtime.cuda.verify import verify

        model = decode(program.launches[0]).model
        return verify(model, *unbind(model, tensors), outputs)

    def figures(self, program: Program, result: Result[EmbeddingJob]) -> Figures:
        from sw.runtime.cuda.figures import figures

        return figures(program, result.launches[0])

    def draw(self, program: Program, result: Result[EmbeddingJob], title: str, path: Path) -> None:
        """What each block of the grid does."""
        from sw.runtime.cuda.picture import draw_grid

        job = result.launches[0].job
        title = f"{title}, {job.batch.size:,} samples"
        draw_grid(job.program, job.batch, job.grid, title, path)

    def note(self, backend: str) -> str:
        return "no GPU was used" if backend == "emulation" else ""

    def tune(
        self,
        hardware: NamedConfiguration,
        source: str,
        output: Path,
        *,
        seed: int,
        stages: Stages,
        **options: Any,
    ) -> str:
        from sw.runtime.cuda.tuning import tune

        own = [each.option for each in self.options if "tune" in each.commands]
        options = {str(option.name): option.default for option in own} | options
        return tune(hardware, source, output, seed=seed, stages=stages, **options)


def _refuse(tensors: Mapping[str, str]) -> None:
    for name in tensors:
        raise WorkloadError(
            f"--tensor {name}: not supported by target cuda: --values gives tables and inputs"
        )


TARGET = CudaTarget()
