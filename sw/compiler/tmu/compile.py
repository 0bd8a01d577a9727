"""Compiles loop nests for the TMU: passes in order. Source: Ember, figure 8."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from hw.lib.errors import GnarlError, one_line
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from sw.compiler.passes import Pass, Trace
from sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from sw.compiler.tmu.execute.code import execute_code
from sw.compiler.tmu.layout import layout
from sw.compiler.tmu.pipeline import LEVELS, pipeline
from sw.compiler.tmu.scf import to_scf
from sw.compiler.tmu.sections import TMU_SCHEMA, encode, specs_of
from sw.compiler.tmu.text import to_text
from sw.program.program import Program
from sw.workloads.loops.workload import LoopWorkload
from sw.workloads.tensor.parser import parse

PASSES = (
    Pass("scf", "loops, arithmetic and memory accesses, in MLIR's own dialects"),
    Pass("hoist", "out of loops what all of their iterations do alike"),
    Pass("decouple", "SLC: loops over streams, and callbacks"),
    Pass("vectorize", "SLCV: the innermost loop in steps of a vector (level 1)"),
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


def compile(workload: LoopWorkload, config: TmuConfig, *, trace: Trace, opt: int = 4) -> Program:
    """A program for the shapes that the workload's arrays have.

    ``opt``: of ``LEVELS``. Raises ``WorkloadError`` naming the line that cannot be compiled, and
    ``CapacityError``.
    """
    nest, sizes = workload.nest, workload.binding.sizes
    statement = parse(workload.expression) if workload.expression else None
    specs = specs_of(nest, sizes, statement)
    zeros = [name for name in nest.results if name not in workload.inputs]
    bases = layout(specs.values(), config)

    def after(name: str, module: ModuleOp) -> ModuleOp:
        trace.after(name, lambda: {"mlir": to_text(module)}, lambda: verify(module))
        return module

    module = after("scf", to_scf(nest, sizes))
    for name, run in pipeline(config, zeros, opt).items():
        module = after(name, run(module))

    code = execute_code(module, config, bases)
    (access,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
    layers = [
        layer_of(each, code.tokens, bases)
        for each in access.layers.block.ops
        if isinstance(each, LayerOp)
    ]
    sections = encode(workload, bases, AccessProgram(tuple(layers)), code.instructions, config)
    inputs = tuple(
        spec for name, spec in specs.items() if name not in nest.results or name in workload.inputs
    )
    return Program.of_one_launch(
        config,
        workload.name,
        inputs,
        tuple(specs[name] for name in nest.results),
        statistics={"level": opt, "program_words": len(code.instructions)},
        schema=TMU_SCHEMA,
        sections=sections,
    )
