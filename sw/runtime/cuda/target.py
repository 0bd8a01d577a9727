"""CUDA as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hw.lib.errors import ConfigError, WorkloadError
from sw.compiler.cuda.compile import PASSES, compile
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.schedule import MAPPINGS
from sw.compiler.cuda.sections import CUDA_SCHEMA, decode
from sw.compiler.passes import Trace
from sw.program.program import Launch, Program
from sw.program.tensor_spec import Array
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.cuda.figures import figures
from sw.runtime.cuda.gpu.gpus import gpus
from sw.runtime.cuda.grid import map_batch
from sw.runtime.cuda.inputs import bind, given, inputs, refuse_tensors, unbind
from sw.runtime.cuda.machines import EmbeddingJob, EmulationMachine, GpuMachine
from sw.runtime.cuda.options import OPTIONS
from sw.runtime.cuda.picture import draw_grid
from sw.runtime.cuda.tuning import tune
from sw.runtime.cuda.verify import golden, reference, verify
from sw.runtime.machine import Machine
from sw.runtime.result import Result
from sw.runtime.stages import Stages
from sw.runtime.target import Example, Target
from sw.runtime.verify import Verification
from sw.workloads.embedding.model import EmbeddingModel
from sw.workloads.embedding.recflex import load_model, write_example


class CudaTarget(Target[CudaConfig, EmbeddingModel, EmbeddingJob]):
    """See ``sw.runtime.target.Target``."""

    name = "cuda"
    configuration = CudaConfig
    backends = ("cuda", "emulation")
    options = OPTIONS
    demo = "cuda_sm90"
    passes = PASSES
    schema = CUDA_SCHEMA

    inputs = staticmethod(inputs)
    bind = staticmethod(bind)
    given = staticmethod(given)
    figures = staticmethod(figures)
    tune = staticmethod(tune)

    def examples(self, folder: Path) -> list[Example]:
        """A small recommendation model."""
        path = write_example(folder)
        return [Example(path.name, str(path))]

    def source(self, text: str, tensors: Mapping[str, str]) -> Path:
        """A model's folder or Python file."""
        refuse_tensors(tensors)
        return Path(text)

    def workload(self, source: Any, seed: int = 0) -> EmbeddingModel:
        """The model in a folder or Python file, or as it is."""
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
        return compile(workload, config, seed=seed, trace=trace, **options)

    def listing(self, program: Program) -> Iterator[str]:
        """The fused kernel's CUDA C++."""
        yield from decode(program.launches[0]).kernel.source.splitlines()

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> EmbeddingJob:
        """``mapping``: one of ``MAPPINGS``."""
        mapping = options.get("mapping") or MAPPINGS[0]
        if mapping not in MAPPINGS:
            raise WorkloadError(f"mapping = {mapping!r}: must be one of {', '.join(MAPPINGS)}")
        compiled = decode(launch)
        _, tables, batch = unbind(program, tensors)
        grid = map_batch(compiled, batch, mapping)
        return EmbeddingJob(compiled, tables, batch, grid, mapping == "device")

    def default_backend(self) -> str:
        """``cuda`` if there is a GPU."""
        return "cuda" if gpus() else "emulation"

    def machine(
        self,
        hardware: NamedConfiguration,
        backend: str,
        *,
        waves: Path | None,
        stages: Stages,
    ) -> Machine[EmbeddingJob]:
        if waves is not None:
            raise ConfigError(["waves: not supported by target cuda: must be left out"])
        if backend == "emulation":
            return EmulationMachine(stages)
        config: Any = hardware.config
        return GpuMachine(config, stages)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return golden(*unbind(program, tensors))

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return reference(*unbind(program, tensors))

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """Within a bound where sums depend on their order, see ``sw.runtime.cuda.verify``."""
        return verify(*unbind(program, tensors), outputs)

    def draw(self, program: Program, result: Result[EmbeddingJob], title: str, path: Path) -> None:
        """What each block of the grid does."""
        job = result.launches[0].job
        title = f"{title}, {job.batch.size:,} samples"
        draw_grid(job.program, job.batch, job.grid, title, path)

    def note(self, backend: str) -> str:
        return "no GPU was used" if backend == "emulation" else ""


TARGET = CudaTarget()
