"""Compiles loop nests for the TMU: passes in order. Source: Ember, figure 8."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace, results, run_passes
from gnarl.sw.compiler.tmu.by_hand.written import launch_by_hand
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.pipeline import LEVELS, PIPELINE
from gnarl.sw.compiler.tmu.record import (
    DumpedWorkload,
    as_passes_leave,
    check_configuration,
)
from gnarl.sw.compiler.tmu.sections import TMU_SCHEMA
from gnarl.sw.compiler.tmu.step_passes import PASSES, TmuOptions, TmuPass, passes_from
from gnarl.sw.compiler.tmu.steps import Manner, Step, first_step, in_order, launch_of
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.inputs import DEFAULT_BATCH
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.program_tensors import model_tensors
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload, feature_groups
from gnarl.sw.workloads.loops.ir.sequence import in_sequence
from gnarl.sw.workloads.loops.workload import LoopWorkload

__all__ = ["LEVELS", "PASSES", "compile"]


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
    passes: Sequence[TmuPass] = PASSES,
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
    passes
        of decoupled programs, in their order.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if isinstance(workload, DumpedWorkload):
        given = {"--opt": opt is not None, "--coupled": coupled, "--batch": batch is not None}
        given |= {"--ref": ref, "--no-reassociate": not reassociate}
        _refuse(given, f"{workload.file} has its own: must be left out")
        check_configuration(workload, config)
        with as_passes_leave(workload):
            return _program(workload.name, workload.steps, config, trace, passes)
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
        return _program(workload.model.name, steps, config, trace, passes)
    if batch is not None:
        raise WorkloadError(f"--batch {batch}: only models have one: must be left out")
    return _program(workload.name, _in_sequence(workload, manner), config, trace, passes)


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
    # What one launch leaves there, the next one is given.
    temporaries = workload.temporaries | {*workload.nest.temporaries}
    whole = Meaning(
        replace(workload.nest, temporaries=()),
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
        steps.append(replace(step, temporaries=temporaries))
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


def _program(
    name: str,
    first: Sequence[Step],
    config: TmuConfig,
    trace: Trace,
    passes: Sequence[TmuPass],
) -> Program:
    """A launch for each of ``first``."""
    if len({_names(step, passes) for step in first}) > 1:
        raise ValueError("launches must have the same passes before them")
    chosen = {each.name for each in passes}
    left_out = [each.name for each in PASSES if each.name not in chosen]
    options = TmuOptions(name, config, left_out)
    last = run_passes(passes_from(first[0], passes), tuple(first), options, trace)
    launches = tuple(launch_of(each, config) for each in last)
    return _of_launches(name, launches, list(first[0].given), config, first[0].temporaries)


def _names(first: Step, passes: Sequence[TmuPass]) -> tuple[bool, tuple[str, ...]]:
    """The passes that a launch has before it, and whether it is coupled, whose passes differ."""
    left, manner = results(passes_from(first, passes)), first.manner
    levels = {} if manner.coupled else {each.name: each.level for each in PIPELINE}
    names = (each.name for each in left if levels.get(each.name, 0) <= manner.level)
    return manner.coupled, tuple(names)


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
