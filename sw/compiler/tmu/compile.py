"""Compiles loop nests for the TMU: passes in order. Source: Ember, figure 8."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from hw.lib.errors import GnarlError, WorkloadError, one_line
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import Instruction
from sw.compiler.passes import Pass, Trace
from sw.compiler.tmu.coupled.pipeline import couple
from sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from sw.compiler.tmu.execute.code import execute_code
from sw.compiler.tmu.lane_sums import summed_loops
from sw.compiler.tmu.layout import layout
from sw.compiler.tmu.pipeline import LEVELS, pipeline
from sw.compiler.tmu.scf import to_scf
from sw.compiler.tmu.sections import TMU_SCHEMA, encode, specs_of
from sw.compiler.tmu.text import to_text
from sw.program.program import Program
from sw.workloads.loops.lane_sums import sum_by_lanes
from sw.workloads.loops.workload import LoopWorkload

PASSES = (
    Pass("scf", "loops, arithmetic and memory accesses, in MLIR's own dialects"),
    Pass("hoist", "out of loops what all of their iterations do alike"),
    Pass("decouple", "SLC: loops over streams, and callbacks"),
    Pass("vectorize", "SLCV: the innermost loop in steps of a vector (level 1)"),
    Pass("store_streams", "stores past the execute unit (level 4)"),
    Pass("bufferize", "the innermost loop's vectors without tokens in between (level 2)"),
    Pass("align_queues", "no words between vectors (level 3)"),
    Pass("keep_sums", "sums in registers (level 4)"),
    Pass("lower", "DLC: layers and events of the access unit, cases of the execute unit"),
)

__all__ = ["LEVELS", "PASSES", "compile"]


def verify(module: ModuleOp) -> None:
    """Raises ``GnarlError`` for what a dialect does not allow."""
    try:
        module.verify()
    except VerifyException as error:
        raise GnarlError(one_line(error)) from error


def compile(
    workload: LoopWorkload,
    config: TmuConfig,
    *,
    trace: Trace,
    opt: int | None = None,
    coupled: bool = False,
    reassociate: bool = True,
) -> Program:
    """A program for the shapes that the workload's arrays have.

    ``opt``: of ``LEVELS``, by default the last; ``coupled``: for the execute unit alone, which has
    no levels. ``reassociate``: whether lanes may have sums of their own, from level 1 on; the
    program's nest then has the order in which they are added. Raises ``WorkloadError`` naming the
    line that cannot be compiled, and ``CapacityError``.
    """
    if coupled and opt is not None:
        raise WorkloadError("--opt: must not be given with --coupled, which has no levels")
    level = max(LEVELS) if opt is None else opt
    nest, sizes = workload.nest, workload.binding.sizes
    specs = specs_of(nest, sizes)
    zeros = [name for name in nest.results if name not in workload.inputs]
    bases = layout(specs.values(), config)

    def after(name: str, module: ModuleOp) -> ModuleOp:
        trace.after(name, lambda: {"mlir": to_text(module)}, lambda: verify(module))
        return module

    module = after("scf", to_scf(nest, sizes))
    if coupled:
        made, instructions = couple(module, config, zeros, bases)
        for name, module in made.items():
            after(name, module)
        access = AccessProgram(())
    else:
        for name, run in pipeline(config, zeros, level, reassociate).items():
            module = after(name, run(module))
            if name == "vectorize":
                nest = sum_by_lanes(nest, sizes, summed_loops(module), config.lanes)
        access, instructions = _decoupled_code(module, config, bases)
    sections = encode(nest, sizes, bases, access, instructions, config)
    inputs = tuple(
        spec for name, spec in specs.items() if name not in nest.results or name in workload.inputs
    )
    statistics = {"coupled": 1} if coupled else {"level": level}
    return Program.of_one_launch(
        config,
        workload.name,
        inputs,
        tuple(specs[name] for name in nest.results),
        statistics={**statistics, "program_words": len(instructions)},
        schema=TMU_SCHEMA,
        sections=sections,
    )


def _decoupled_code(
    module: ModuleOp, config: TmuConfig, bases: Mapping[str, int]
) -> tuple[AccessProgram, list[Instruction]]:
    """Both units' programs, from DLC."""
    code = execute_code(module, config, bases)
    (access,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
    layers = [
        layer_of(each, code.tokens, bases)
        for each in access.layers.block.ops
        if isinstance(each, LayerOp)
    ]
    return AccessProgram(tuple(layers)), code.instructions
