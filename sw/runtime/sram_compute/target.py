"""In-SRAM computing as a target of loop nests, in Python or C, and of commands."""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import text_of
from gnarl.sw.compiler.sram_compute.meaning import meaning
from gnarl.sw.compiler.sram_compute.sections import fat_program, listing
from gnarl.sw.compiler.sram_compute.tdfg.text import dot
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.source_lines import SourceLines
from gnarl.sw.runtime.sram_compute.activity import activity
from gnarl.sw.runtime.sram_compute.command_line import COMMAND_LINE
from gnarl.sw.runtime.sram_compute.compiler import SramCompiler
from gnarl.sw.runtime.sram_compute.executor import SramExecutor
from gnarl.sw.runtime.sram_compute.figures import Tensors, figures
from gnarl.sw.runtime.sram_compute.reader import SramReader
from gnarl.sw.runtime.sram_compute.source_lines import source_lines
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.host_presenter import HostPresenter


class SramPresenter(HostPresenter[Tensors]):
    """Presents nests, commands and their runs."""

    activity = staticmethod(activity)
    figures = staticmethod(figures)

    def listing(self, program: Program) -> Iterator[str]:
        yield from listing(program)

    def source_lines(self, program: Program, result: Result[HostJob[Tensors]]) -> SourceLines:
        meant = meaning(program)
        if meant is None:
            raise WorkloadError(
                f"--lines: {program.workload} has commands alone: must be a loop nest"
            )
        if len(result.launches) != 1:
            raise WorkloadError("--lines: must be of a program as it was compiled, in one launch")
        return source_lines(result.launches[0], meant)

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


TARGET = Target(
    configuration=SramConfig,
    reader=SramReader(),
    compiler=SramCompiler(),
    executor=SramExecutor(),
    presenter=SramPresenter(),
    command_line=COMMAND_LINE,
    demo="sram_b4_64k",
)
