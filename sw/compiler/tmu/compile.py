"""Compiles loop nests for the TMU: passes in order. Source: Ember, figure 8."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from hw.lib.errors import GnarlError, WorkloadError, one_line
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from sw.compiler.passes import Pass, Trace
from sw.compiler.tmu.dialects.dlc import AccessOp, LayerOp, layer_of
from sw.compiler.tmu.execute.code import execute_code
from sw.compiler.tmu.layout import layout
from sw.compiler.tmu.meaning import Meaning
from sw.compiler.tmu.pipeline import LEVELS, pipeline
from sw.compiler.tmu.scf import to_scf
from sw.compiler.tmu.sections import TMU_SCHEMA, encode
from sw.compiler.tmu.text import to_text
from sw.program.program import Launch, Program
from sw.workloads.embedding.data import synthesise_batch
from sw.workloads.embedding.inputs import DEFAULT_BATCH
from sw.workloads.embedding.program_tensors import Specs, model_tensors
from sw.workloads.loops.embedding_model import ModelWorkload, feature_groups
from sw.workloads.loops.workload import LoopWorkload

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


def compile(
    workload: LoopWorkload | ModelWorkload,
    config: TmuConfig,
    *,
    seed: int = 0,
    trace: Trace,
    opt: int = 4,
    batch: int | None = None,
) -> Program:
    """A program for the shapes that the workload's arrays have; of a model a launch for each kind
    of features.

    opt
        of ``LEVELS``.
    batch
        samples that are synthesised, with ``seed``, to be looked up in a model.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if isinstance(workload, ModelWorkload):
        parts, tensors = _parts_of_model(workload, batch, seed)
        return _program(workload.model.name, parts, tensors, config, opt, trace)
    if batch is not None:
        raise WorkloadError(f"--batch {batch}: only models have one: must be left out")
    part = Meaning(workload.nest, workload.binding.sizes, workload.expression)
    tensors = part.inputs(workload.inputs), part.outputs
    return _program(workload.name, {workload.name: part}, tensors, config, opt, trace)


def _parts_of_model(
    workload: ModelWorkload, size: int | None, seed: int
) -> tuple[dict[str, Meaning], tuple[Specs, Specs]]:
    model, batch = workload.model, workload.batch
    if batch is None:
        batch = synthesise_batch(model, DEFAULT_BATCH if size is None else size, seed)
    elif size is not None:
        raise WorkloadError(
            f"--batch {size}: {workload.place} has {batch.size} samples: must be left out"
        )
    groups = feature_groups(model, batch)
    parts = {group.name: Meaning(group.nest, group.sizes, group=group) for group in groups}
    return parts, model_tensors(model, batch.size)


def _program(
    name: str,
    parts: Mapping[str, Meaning],
    tensors: tuple[Specs, Specs],
    config: TmuConfig,
    opt: int,
    trace: Trace,
) -> Program:
    """A launch for each of ``parts``, by name. ``tensors``: the program's."""
    inputs = [spec.name for spec in tensors[0]]
    bases = {key: layout(part.specs.values(), config) for key, part in parts.items()}

    def after(name: str, modules: dict[str, ModuleOp]) -> dict[str, ModuleOp]:
        def texts() -> dict[str, str]:
            if len(modules) == 1:
                return {"mlir": to_text(*modules.values())}
            return {f"{_file(key)}.mlir": to_text(module) for key, module in modules.items()}

        def check() -> None:
            for module in modules.values():
                verify(module)

        trace.after(name, texts, check)
        return modules

    passes = {
        key: pipeline(config, [each for each in part.results if each not in inputs], opt)
        for key, part in parts.items()
    }
    modules = after("scf", {key: to_scf(part.nest, part.sizes) for key, part in parts.items()})
    for each in next(iter(passes.values())):
        modules = after(each, {key: passes[key][each](modules[key]) for key in modules})
    launches = tuple(
        _launch(key, part, part.inputs(inputs), modules[key], bases[key], config, opt)
        for key, part in parts.items()
    )
    fields, digest = config.to_dict(), config.digest
    return Program(config.target, fields, digest, name, *tensors, launches, TMU_SCHEMA)


def _launch(
    name: str,
    part: Meaning,
    inputs: Specs,
    module: ModuleOp,
    bases: Mapping[str, int],
    config: TmuConfig,
    opt: int,
) -> Launch:
    code = execute_code(module, config, bases)
    (access,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
    layers = [
        layer_of(each, code.tokens, bases)
        for each in access.layers.block.ops
        if isinstance(each, LayerOp)
    ]
    sections = encode(part, bases, AccessProgram(tuple(layers)), code.instructions, config)
    statistics = {"level": opt, "program_words": len(code.instructions)}
    fields, digest = config.to_dict(), config.digest
    return Launch(name, inputs, part.outputs, statistics, sections, fields, digest)


def _file(name: str) -> str:
    """A launch's name in names of files."""
    return name.replace(", ", "_").replace(" ", "_")
