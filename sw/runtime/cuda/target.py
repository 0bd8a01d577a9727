"""CUDA as a target of commands and devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.compiler.cuda.compile import PASSES, CudaWorkload, compile
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.sections import CUDA_SCHEMA, decode
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.cuda.command_line import COMMAND_LINE
from gnarl.sw.runtime.cuda.gpu.gpus import gpus
from gnarl.sw.runtime.cuda.job_machine import CudaJob, JobMachine
from gnarl.sw.runtime.cuda.kind import Kind
from gnarl.sw.runtime.cuda.model_kind import ModelKind
from gnarl.sw.runtime.cuda.sources import CudaSource, source, workload
from gnarl.sw.runtime.cuda.tensor.kind import TensorKind
from gnarl.sw.runtime.cuda.tuning import tune
from gnarl.sw.runtime.machine.board.serial_address import SerialAddress
from gnarl.sw.runtime.machine.machine import Machine
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Figures
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.report.vanished import Given
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.runtime.target.compiler import Compiler
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.executor import Executor
from gnarl.sw.runtime.target.generator import Hardware
from gnarl.sw.runtime.target.presenter import Presenter
from gnarl.sw.runtime.target.reader import Example, Reader, RunArguments
from gnarl.sw.workloads.embedding.recflex import write_example
from gnarl.sw.workloads.made_up import MadeUp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class CudaReader(Reader[CudaSource, CudaWorkload]):
    """Reads models and expressions."""

    target = "cuda"
    source = staticmethod(source)
    workload = staticmethod(workload)

    def examples(self, folder: Path) -> list[Example]:
        """A small recommendation model."""
        path = write_example(folder)
        return [Example(path.name, str(path))]

    def inputs(
        self, program: Program, workload: CudaWorkload | None, arguments: RunArguments
    ) -> object:
        return _kind(program).inputs(program, workload, arguments)

    def made_up(
        self, program: Program, workload: CudaWorkload | None, arguments: RunArguments
    ) -> MadeUp:
        return _kind(program).made_up(program, workload, arguments)


class CudaCompiler(Compiler[CudaConfig, CudaWorkload]):
    """Compiles to fused kernels."""

    passes = PASSES
    schema = CUDA_SCHEMA
    tune = staticmethod(tune)

    def compile(
        self,
        workload: CudaWorkload,
        config: CudaConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)


class CudaExecutor(Executor[CudaConfig, CudaJob]):
    """Executes kernels. Models and expressions are kinds of their own."""

    backends = ("cuda", "emulation")

    def bind(self, program: Program, inputs: object) -> dict[str, Array]:
        return _kind(program).bind(program, inputs)

    def given(self, program: Program, inputs: object) -> Iterator[Given]:
        return _kind(program).given(program, inputs)

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> CudaJob:
        return _kind(program).job(program, launch, tensors, **options)

    def default_backend(self) -> str:
        """``cuda`` if there is a GPU."""
        return "cuda" if gpus() else "emulation"

    def machine(
        self,
        hardware: Hardware[CudaConfig],
        backend: str,
        *,
        waves: Path | None,
        port: SerialAddress | None,
        stages: Stages,
    ) -> Machine[CudaJob]:
        if waves is not None:
            raise ConfigError(["waves: not supported by target cuda: must be left out"])
        return JobMachine(hardware.config, backend, stages)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return _kind(program).golden(program, tensors)

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return _kind(program).reference(program, tensors)

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """Verifies within a bound where sums depend on their order."""
        return _kind(program).verify(program, tensors, outputs)


class CudaPresenter(Presenter[CudaJob]):
    """Presents kernels and their runs."""

    def listing(self, program: Program) -> Iterator[str]:
        """The kernel's CUDA C++."""
        yield from text_lines(program.launches[0].sections["source"].tobytes().decode())

    def figures(self, program: Program, result: Result[CudaJob]) -> Figures:
        return _kind(program).figures(program, result)

    def draw(self, program: Program, result: Result[CudaJob], title: str, path: Path) -> None:
        """What each task of the launch looks up."""
        _kind(program).draw(program, result, title, path)

    def plot(
        self, program: Program, result: Result[CudaJob], title: str, axes: Axes | None = None
    ) -> Figure:
        return _kind(program).plot(program, result, title, axes)

    def note(self, backend: str) -> str:
        return "no GPU was used" if backend == "emulation" else ""


_MODELS, _EXPRESSIONS = ModelKind(), TensorKind()


def _kind(program: Program) -> Kind[Any]:
    """What a program was compiled from."""
    is_model = isinstance(decode(program.launches[0]), EmbeddingProgram)
    return _MODELS if is_model else _EXPRESSIONS


TARGET = Target(
    configuration=CudaConfig,
    reader=CudaReader(),
    compiler=CudaCompiler(),
    executor=CudaExecutor(),
    presenter=CudaPresenter(),
    command_line=COMMAND_LINE,
    demo="cuda_sm90",
)
