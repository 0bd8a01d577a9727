"""Compiles loop nests for the TMU: passes in order. Source: Ember, figure 8."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from gnarl.hw.lib.errors import GnarlError, WorkloadError, one_line
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Pass, Trace
from gnarl.sw.compiler.tmu.by_hand.written import launch_by_hand
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.pipeline import LEVELS
from gnarl.sw.compiler.tmu.record import (
    DumpedWorkload,
    as_passes_leave,
    check_configuration,
    dumped,
)
from gnarl.sw.compiler.tmu.sections import TMU_SCHEMA
from gnarl.sw.compiler.tmu.steps import Manner, Step, first_step, in_order, launch_of, steps
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.inputs import DEFAULT_BATCH
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.program_tensors import model_tensors
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload, feature_groups
from gnarl.sw.workloads.loops.ir.sequence import in_sequence
from gnarl.sw.workloads.loops.workload import LoopWorkload

PASSES = (
    Pass("scf", "loops, arithmetic and memory accesses, in MLIR's own dialects"),
    Pass("select", "one store of what a condition chooses"),
    Pass("hoist", "out of loops what all of their iterations do alike"),
    Pass("decouple", "SLC: loops over streams, and callbacks"),
    Pass(
        "vectorize", "SLCV: the innermost loop in steps of a vector (level 1), in halves (level 4)"
    ),
    Pass("first_iterations", "which iteration is the first is a variable (level 4)"),
    Pass("store_streams", "stores past the execute unit (level 4)"),
    Pass("bufferize", "the innermost loop's vectors without tokens in between (level 2)"),
    Pass("align_queues", "no words between vectors (level 3)"),
    Pass("keep_sums", "sums in registers (level 4)"),
    Pass("fetch_rows", "rows of results that come soon are fetched (level 4)"),
    Pass("forward_stores", "what was just stored is not loaded (level 4)"),
    Pass("keep_rows", "a row that all iterations read in registers (level 4)"),
    Pass("partial_sums", "sums side by side (level 4)"),
    Pass("repeat_fibers", "what is read twice is queued twice (level 4)"),
    Pass("prefetch_rows", "the next iteration's row is fetched (level 4)"),
    Pass("count_iterations", "no tokens where all bounds are constants (level 4)"),
    Pass("stream_places", "places of results in the access unit (level 4)"),
    Pass("delay_stores", "stores in the next token's case (level 4)"),
    Pass("split_masks", "a way of its own for masks of a union (level 4)"),
    Pass("store_lanes", "what is stored late in a vector's lane (level 4)"),
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
    workload: LoopWorkload | ModelWorkload | DumpedWorkload,
    config: TmuConfig,
    *,
    seed: int = 0,
    trace: Trace,
    opt: int | None = None,
    coupled: bool = False,
    reassociate: bool = True,
    batch: int | None = None,
    ref: bool = False,
) -> Program:
    """A program for the shapes that the workload's arrays have: a launch for each of the nests that
    ``in_sequence`` makes of one, unless it is coupled; of a model for each kind of features; of a
    dump the program that it was written of, to which all options belong.

    opt
        of ``LEVELS``, by default the last.
    coupled
        for the execute unit alone, which has no levels.
    reassociate
        whether lanes may have sums of their own, from level 1 on; the program's nest then has the
        order in which they are added.
    batch
        samples that are synthesised, with ``seed``, to be looked up in a model.
    ref
        the program that was written by hand for an operation, which has no passes: for both units,
        or the execute unit alone where ``coupled``.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if isinstance(workload, DumpedWorkload):
        given = {"--opt": opt is not None, "--coupled": coupled, "--batch": batch is not None}
        given |= {"--ref": ref, "--no-reassociate": not reassociate}
        _refuse(given, f"{workload.file} has its own: must be left out")
        check_configuration(workload, config)
        with as_passes_leave(workload):
            return _program(workload.name, workload.steps, config, trace)
    if ref:
        given = {"--opt": opt is not None, "--batch": batch is not None}
        given |= {"--no-reassociate": not reassociate}
        _refuse(given, "must not be given with --ref, whose programs are fixed")
        return _by_hand(workload, config, coupled)
    if coupled and opt is not None:
        raise WorkloadError("--opt: must not be given with --coupled, which has no levels")
    manner = Manner(max(LEVELS) if opt is None else opt, coupled, reassociate)
    if isinstance(workload, ModelWorkload):
        steps = _of_groups(workload.model, _batch(workload, batch, seed), manner)
        return _program(workload.model.name, steps, config, trace)
    if batch is not None:
        raise WorkloadError(f"--batch {batch}: only models have one: must be left out")
    return _program(workload.name, _in_sequence(workload, manner), config, trace)


def _refuse(given: Mapping[str, bool], problem: str) -> None:
    for option, is_given in given.items():
        if is_given:
            raise WorkloadError(f"{option}: {problem}")


def _of_groups(model: EmbeddingModel, looked_up: Batch, manner: Manner) -> list[Step]:
    """A step for each kind of features."""
    given = [spec.name for spec in model_tensors(model)[0]]
    return [
        first_step(group.name, Meaning(group.nest, group.sizes, group=group), given, manner)
        for group in feature_groups(model, looked_up)
    ]


def _in_sequence(workload: LoopWorkload, manner: Manner) -> list[Step]:
    """A step for each launch."""
    sizes = workload.binding.sizes
    whole = Meaning(
        workload.nest,
        sizes,
        workload.expression,
        shape=workload.shape,
        bag_offsets=workload.bag_offsets,
    )
    given = [spec.name for spec in whole.inputs(workload.inputs)]
    nests = (whole.nest,) if manner.coupled else in_sequence(whole.nest, given)
    steps: list[Step] = []
    for number, nest in enumerate(nests):
        own = {size.name: sizes[size.name] for size in nest.sizes}
        name = f"{number}: {', '.join(nest.results)}" if len(nests) > 1 else workload.name
        step = first_step(name, replace(whole, nest=nest, sizes=own), given, manner)
        steps.append(replace(step, temporaries=workload.temporaries))
    return in_order(steps)


def _by_hand(workload: LoopWorkload | ModelWorkload, config: TmuConfig, coupled: bool) -> Program:
    if isinstance(workload, ModelWorkload) or workload.expression:
        raise WorkloadError("--ref: must be given with the name of an operation")
    meaning = Meaning(workload.nest, workload.binding.sizes)
    given = [spec.name for spec in meaning.inputs(workload.inputs)]
    launch = launch_by_hand(workload.name, meaning, given, config, coupled)
    return _of_launches(workload.name, (launch,), given, config)


def _batch(workload: ModelWorkload, size: int | None, seed: int) -> Batch:
    if workload.batch is None:
        return synthesise_batch(workload.model, DEFAULT_BATCH if size is None else size, seed)
    if size is not None:
        raise WorkloadError(
            f"--batch {size}: {workload.place} has {workload.batch.size} samples: must be left out"
        )
    return workload.batch


def _program(name: str, first: Sequence[Step], config: TmuConfig, trace: Trace) -> Program:
    """A launch for each of ``first``."""
    last: Sequence[Step] = first
    for last in zip(*(steps(each, config) for each in first), strict=True):
        _report(name, last, config, trace)
    launches = tuple(launch_of(each, config) for each in last)
    return _of_launches(name, launches, list(first[0].given), config, first[0].temporaries)


def _of_launches(
    name: str,
    launches: tuple[Launch, ...],
    given: Sequence[str],
    config: TmuConfig,
    temporaries: Collection[str] = (),
) -> Program:
    inputs = {spec.name: spec for launch in launches for spec in launch.inputs}
    written = {spec.name: spec for launch in launches for spec in launch.outputs}
    outputs = {each: spec for each, spec in written.items() if each not in temporaries}
    ordered = sorted(outputs, key=lambda each: _first_of(each, given))
    return Program(
        config.target,
        config.to_dict(),
        config.digest,
        name,
        tuple(inputs[each] for each in given),
        tuple(outputs[each] for each in ordered),
        launches,
        TMU_SCHEMA,
    )


def _first_of(output: str, given: Sequence[str]) -> int:
    """The index at which inputs of a feature begin; other outputs keep their order."""
    table = f"{output}.table"
    return given.index(table) if table in given else 0


def _report(name: str, made: Sequence[Step], config: TmuConfig, trace: Trace) -> None:
    def check() -> None:
        for each in made:
            verify(each.module)

    trace.after(made[0].name, lambda: {"mlir": dumped(name, made, config)}, check)
