"""Models of embedding layers as workloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.cuda.figures import figures
from gnarl.sw.runtime.cuda.inputs import bind, embedding_of, inputs, made_up, unbind
from gnarl.sw.runtime.cuda.kind import Kind
from gnarl.sw.runtime.cuda.machines import EmbeddingJob, chosen_grid
from gnarl.sw.runtime.cuda.picture import draw_tasks, tasks_figure
from gnarl.sw.runtime.cuda.verify import golden, reference, verify
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.vanished import Given
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.runtime.target.embedding_models import given

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ModelKind(Kind[EmbeddingJob]):
    """See ``Kind``."""

    inputs = staticmethod(inputs)
    made_up = staticmethod(made_up)
    bind = staticmethod(bind)
    figures = staticmethod(figures)

    def given(self, program: Program, inputs: Any) -> Iterator[Given]:
        return given(program, inputs)

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> EmbeddingJob:
        """The job of a launch. ``mapping``: one of ``MAPPINGS``."""
        _, tables, batch = unbind(program, tensors)
        compiled = embedding_of(program)
        grid = chosen_grid(compiled, batch, options.get("mapping"))
        return EmbeddingJob(compiled, tables, batch, *grid)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return golden(*unbind(program, tensors))

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        return reference(*unbind(program, tensors))

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """Verifies within a bound where sums depend on their order, see
        ``gnarl.sw.runtime.cuda.verify``."""
        return verify(*unbind(program, tensors), outputs)

    def draw(self, program: Program, result: Result[EmbeddingJob], title: str, path: Path) -> None:
        """What each task of the launch looks up."""
        (run,) = result.launches
        draw_tasks(run, _titled(title, run.job), path)

    def plot(
        self, program: Program, result: Result[EmbeddingJob], title: str, axes: Axes | None
    ) -> Figure:
        (run,) = result.launches
        return tasks_figure(run, _titled(title, run.job), axes)


def _titled(title: str, job: EmbeddingJob) -> str:
    return f"{title}, {job.batch.size:,} samples"
