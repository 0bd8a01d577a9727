"""Compiles an expression to the program of its kernel, and from a program's plan back to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.tensor.kernel_expression import KernelExpression
from gnarl.sw.compiler.cuda.tensor.patterns import SampledProduct, match
from gnarl.sw.compiler.cuda.tensor.pooled_sum import PooledSumProgram, bags, pooled_model
from gnarl.sw.compiler.cuda.tensor.sampled_product import SampledProductProgram, sampled_program
from gnarl.sw.compiler.passes import Pass, Trace, made, run_passes
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.tensor.operands import grown_shapes
from gnarl.sw.workloads.tensor.shapes import check_shapes
from gnarl.sw.workloads.tensor.workload import TensorWorkload, read_expression

ExpressionProgram = PooledSumProgram | SampledProductProgram


class SampledOptions(NamedTuple):
    """What the passes of a sampled product are told."""

    expression: KernelExpression
    pattern: SampledProduct
    config: CudaConfig


SAMPLED_PASSES: tuple[Pass[SampledProductProgram | None, SampledOptions], ...] = (
    Pass(
        "fuse",
        "the kernel's source, for the one pair of kind and schedule that there is",
        lambda program, options: {"cu": made(program).source},
        run=lambda program, options: sampled_program(*options),
    ),
)

Embed = Callable[[EmbeddingModel, Sequence[Batch]], EmbeddingProgram]
"""Compiles a model, for batches like these, where there are any."""


def compile_expression(
    workload: TensorWorkload, config: CudaConfig, embed: Embed, trace: Trace
) -> ExpressionProgram:
    """The kernel that computes the expression, for the sizes of the workload's operands.

    Raises ``WorkloadError`` for expressions that no template computes, and for sizes that are not
    there or not supported.
    """
    statement, operands = workload.statement, workload.inputs or {}
    pattern = match(statement)
    known = check_shapes(statement, grown_shapes(statement, operands), complete=False)
    sizes = {index: known[index] for index in pattern.sized if index in known}
    expression = KernelExpression(workload.name, workload.text, statement, sizes, config.format)
    if isinstance(pattern, SampledProduct):
        sampled = SampledOptions(expression, pattern, config)
        return made(run_passes(SAMPLED_PASSES, None, sampled, trace))
    model = pooled_model(expression, pattern)
    tensors = {name: operand.tensor for name, operand in operands.items()}
    there = all(term.matrix.tensor in tensors for term in pattern.terms)
    batches = [bags(expression, pattern, tensors)] if there else []
    return PooledSumProgram(expression, pattern, embed(model, batches))


def to_plan(program: ExpressionProgram) -> dict[str, Any]:
    """What the program follows from, in JSON's types."""
    expression = program.expression
    plan = {"statement": expression.text, "sizes": dict(expression.sizes)}
    if isinstance(program, PooledSumProgram):
        plan["schedules"] = json.loads(schedule_file.to_text(program.embedding.schedules))
    return plan


def from_plan(plan: dict[str, Any], config: CudaConfig, place: str) -> ExpressionProgram:
    """Inverse of ``to_plan``. Raises ``GnarlError``, after ``place``, for what is not as that
    writes it."""
    try:
        return _from_plan(plan, config, place)
    except WorkloadError as error:
        text = str(error)
        raise ProgramError(text if text.startswith(place) else f"{place}: {text}") from error


def _from_plan(plan: dict[str, Any], config: CudaConfig, place: str) -> ExpressionProgram:
    read = read_expression(plan["statement"])
    pattern, sizes = match(read.statement), plan["sizes"]
    if set(sizes) != set(pattern.sized) or any(type(size) is not int for size in sizes.values()):
        indices = ", ".join(pattern.sized)
        raise ProgramError(f"{place}: sizes: must be whole numbers, of {indices}")
    expression = KernelExpression(read.name, read.text, read.statement, sizes, config.format)
    if isinstance(pattern, SampledProduct):
        return sampled_program(expression, pattern, config)
    model = pooled_model(expression, pattern)
    schedules = schedule_file.from_text(json.dumps(plan["schedules"]), model, config, place)
    return PooledSumProgram(expression, pattern, build_program(model, schedules))
