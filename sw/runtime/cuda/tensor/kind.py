"""Expressions as workloads: operands as arrays of kernels, and what results must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.formats import holds, range_of
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.compiler.cuda.tensor.compile import ExpressionProgram
from gnarl.sw.compiler.cuda.tensor.pooled_sum import bags, stacked_table
from gnarl.sw.compiler.cuda.tensor.sampled_product import SampledProductProgram, sampled_operands
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.cuda.figures import figures as embedding_figures
from gnarl.sw.runtime.cuda.job_machine import CudaJob
from gnarl.sw.runtime.cuda.kind import Kind
from gnarl.sw.runtime.cuda.machines import EmbeddingJob, chosen_grid
from gnarl.sw.runtime.cuda.picture import draw_tasks, tasks_figure
from gnarl.sw.runtime.cuda.tensor import verification
from gnarl.sw.runtime.cuda.tensor.sampled_product import SampledProductJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures
from gnarl.sw.runtime.report.vanished import Given, elements
from gnarl.sw.runtime.report.verify import Verification, entry_name
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.embedding.model import TABLE_TYPES
from gnarl.sw.workloads.made_up import MadeUp
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.tensor.operands import Operand, all_operands, bind_operands
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.workload import TensorWorkload

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PooledSumJob(EmbeddingJob):
    """A job of a pooled sum. ``modes``: the dimension of the result that each level of it
    stores."""

    modes: tuple[int, ...]

    def outputs(self, buffers: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = super().outputs(buffers)
        is_vector = len(self.modes) == 1
        return {
            name: (array[:, 0] if is_vector else array).transpose(np.argsort(self.modes))
            for name, array in found.items()
        }


class TensorKind(Kind[CudaJob]):
    """See ``Kind``."""

    def inputs(
        self,
        program: Program,
        workload: TensorWorkload | None,
        arguments: RunArguments,
    ) -> dict[str, Operand]:
        """The operands, from files in place of the workload's own.

        Raises ``WorkloadError`` naming those that are in neither, and what models have only.
        """
        if arguments.values is not None:
            raise WorkloadError(
                "--values: not supported for expressions: --tensor NAME=PATH gives their tensors"
            )
        batch = arguments.options.get("batch")
        if batch is not None:
            raise WorkloadError(
                f"--batch {batch}: not supported for expressions, whose operands have "
                "rows of their own: must be left out"
            )
        own = workload.inputs if workload is not None else None
        statement = _compiled(program).expression.statement
        return all_operands(program.workload, statement, own, arguments.tensors)

    def made_up(
        self,
        program: Program,
        workload: TensorWorkload | None,
        arguments: RunArguments,
    ) -> MadeUp:
        """Nothing: operands are given."""
        return {}

    def bind(self, program: Program, inputs: object) -> dict[str, Array]:
        """See ``bind_operands``."""
        expression = _compiled(program).expression
        return {**bind_operands(expression.statement, inputs, expression.sizes)}

    def given(self, program: Program, inputs: object) -> Iterator[Given]:
        tensors = self.bind(program, inputs)
        return (elements(spec, tensors[spec.name]) for spec in program.inputs)

    def job(
        self, program: Program, launch: Launch, tensors: Mapping[str, Array], **options: Any
    ) -> CudaJob:
        """The job of a launch. ``mapping``: one of ``MAPPINGS``, of pooled sums only. Raises
        ``WorkloadError`` for values that the format does not hold, and for more rows than a batch
        has."""
        compiled, mapping = _compiled(program), options.get("mapping")
        statement, operands = compiled.expression.statement, _operands(compiled, tensors)
        if isinstance(compiled, SampledProductProgram):
            if mapping is not None:
                raise WorkloadError(
                    f"mapping = {mapping!r}: not supported for sampled products, whose entries "
                    "are dealt evenly: must be left out"
                )
            return _sampled_job(compiled, operands)
        batch = bags(compiled.expression, compiled.pattern, operands)
        table = stacked_table(compiled.expression, compiled.pattern, operands)
        grid = chosen_grid(compiled.embedding, batch, mapping)
        modes = statement.formats[statement.result.tensor].modes
        return PooledSumJob(compiled.embedding, [table], batch, *grid, modes)

    def golden(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The bits that the result must have where sums do not depend on their order, but for
        signs of zeros."""
        compiled = _compiled(program)
        return verification.golden(program, compiled.expression, _operands(compiled, tensors))

    def reference(self, program: Program, tensors: Mapping[str, Array]) -> dict[str, Array]:
        compiled = _compiled(program)
        return verification.reference(program, compiled.expression, _operands(compiled, tensors))

    def verify(
        self, program: Program, tensors: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> Verification:
        """See ``gnarl.sw.runtime.cuda.tensor.verification``."""
        compiled = _compiled(program)
        operands = _operands(compiled, tensors)
        return verification.verify(program, compiled.expression, operands, outputs)

    def figures(self, program: Program, result: Result[Any]) -> Figures:
        """Operations are products that are added."""
        job = result.launches[0].job
        if isinstance(job, EmbeddingJob):
            return embedding_figures(program, result)
        operations = job.operands.samples.size * job.program.dim
        launch = Chart("Launch", list(result.counters.items()), 0)
        statistics = {**program.statistics, "entries": job.operands.samples.size}
        return Figures(operations, statistics=statistics, charts=[launch])

    def draw(self, program: Program, result: Result[Any], title: str, path: Path) -> None:
        """What each task of the launch looks up, of pooled sums."""
        run = _drawn(result, "--timeline")
        draw_tasks(run, _titled(title, run.job), path)

    def plot(self, program: Program, result: Result[Any], title: str, axes: Axes | None) -> Figure:
        run = _drawn(result, "plot")
        return tasks_figure(run, _titled(title, run.job), axes)


def _drawn(result: Result[Any], what: str) -> LaunchRun[EmbeddingJob]:
    """The launch of a result that can be drawn. Raises ``WorkloadError``, which begins with what
    was asked for."""
    (run,) = result.launches
    if not isinstance(run.job, EmbeddingJob):
        raise WorkloadError(f"{what}: not supported for sampled products")
    return run


def _titled(title: str, job: EmbeddingJob) -> str:
    return f"{title}, {job.batch.size:,} rows"


def _compiled(program: Program) -> ExpressionProgram:
    compiled = decode(program.launches[0])
    assert not isinstance(compiled, EmbeddingProgram)
    return compiled


def _operands(compiled: ExpressionProgram, tensors: Mapping[str, Array]) -> dict[str, Tensor]:
    """Operands with values of the expression's format, as float64. Raises ``WorkloadError`` naming
    the first entry that it does not hold."""
    format = compiled.expression.format
    return {name: _of_format(name, Tensor.from_any(tensors[name]), format) for name in tensors}


def _of_format(name: str, tensor: Tensor, format: str) -> Tensor:
    values = tensor.values
    refuse_first(
        ~holds(format, values),
        lambda at: f"{entry_name(name, tensor.coordinates[at])} = {values[at]}: {range_of(format)}",
    )
    return replace(tensor, values=values.astype(TABLE_TYPES[format]).astype(np.float64))


def _sampled_job(
    compiled: SampledProductProgram, operands: Mapping[str, Tensor]
) -> SampledProductJob:
    statement, samples = compiled.expression.statement, compiled.pattern.samples
    # The result has the entries of the samples, and perhaps its indices in another order.
    modes = [samples.indices.index(index) for index in statement.result.indices]
    tensor = operands[samples.tensor]
    shape = tuple(tensor.shape[mode] for mode in modes)
    arrays = sampled_operands(compiled, operands)
    return SampledProductJob(compiled, arrays, tensor.coordinates[:, modes], shape)
