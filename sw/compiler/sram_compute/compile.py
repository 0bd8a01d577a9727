"""Compiles loop nests for in-SRAM computing, for any sizes. Source: Infinity Stream, figure 3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.passes import Pass, PassResult, Trace, results, run_passes, text_of
from gnarl.sw.compiler.sram_compute import command_program
from gnarl.sw.compiler.sram_compute.command_program import CommandWorkload
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram
from gnarl.sw.compiler.sram_compute.lowering import LOWERING, Specialiser, require_places
from gnarl.sw.compiler.sram_compute.optimise.saturate import optimise_plan
from gnarl.sw.compiler.sram_compute.placement import Part, elsewhere, planned
from gnarl.sw.compiler.sram_compute.places import ENGINES
from gnarl.sw.compiler.sram_compute.sections import fat_file
from gnarl.sw.compiler.sram_compute.tdfg.in_arrays import rewritten
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step, regions
from gnarl.sw.compiler.sram_compute.tdfg.text import dot, text
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.loops.workload import LoopWorkload


class GraphOptions(NamedTuple):
    """What the passes are told: whether graphs are made cheaper."""

    optimise: bool


PLAN: Pass[FatProgram, GraphOptions] = Pass(
    "plan",
    "regions of loop nests as tensor dataflow graphs",
    lambda fat, options: _texts(_steps(fat.parts)),
    run=lambda fat, options: _planned(fat),
)

OPTIMISE: Pass[FatProgram, GraphOptions] = Pass(
    "optimise",
    "cheaper graphs, by equality saturation",
    lambda fat, options: _texts(fat.steps),
    run=lambda fat, options: _optimised(fat) if options.optimise else fat,
    is_needed=lambda fat, options: bool(fat.steps),
    optional=True,
)

PASSES: tuple[PassResult[Any, Any], ...] = (PLAN, OPTIMISE, *results(LOWERING))
"""All, of which those of ``LOWERING`` need sizes."""


def compile(
    workload: LoopWorkload | CommandWorkload,
    config: SramConfig,
    *,
    seed: int = 0,
    trace: Trace,
    reassociate: bool = True,
    optimise: bool = True,
    place: str | None = None,
    tile: str | None = None,
) -> Program:
    """A program of a nest, for any sizes and configuration, or of commands as they stand.

    ``LOWERING`` passes run where a program does; here for ``trace`` alone, at the sizes and scalars
    of the workload's inputs.

    reassociate
        whether sums of float32 may be added up in another order.
    optimise
        whether graphs are made cheaper.
    place
        where a nest runs, one of ``ENGINES``, by default the first.
    tile
        in which tiles its arrays are, as ``tile_choice`` has it; by default a rule says it.

    Raises ``WorkloadError`` naming the line that ``config`` does not run, and ``CapacityError``.
    """
    if place is not None and place not in ENGINES:
        raise WorkloadError(f"--place {place}: not supported: must be one of {', '.join(ENGINES)}")
    if isinstance(workload, CommandWorkload):
        for option, value in (("place", place), ("tile", tile)):
            if value is not None:
                raise WorkloadError(no_nest(option, value))
        return command_program.compile(workload, config, seed=seed, trace=trace)
    if not workload.nest.outputs:
        nest = workload.nest
        raise WorkloadError(f"{nest.place}: {nest.name} writes no array: must write one")
    fat = FatProgram(workload.nest, (), place or ENGINES[0], reassociate, tile)
    fat = _with_graphs(fat, config, trace, optimise=optimise)
    if any(trace.wants(each.name) for each in results(LOWERING)):
        Specialiser(fat, workload.name, config).program(workload.binding, workload.inputs, trace)
    return fat_file(fat, workload.name)


def no_nest(option: str, value: str) -> str:
    """The text of an error: an option that only nests have is given to commands."""
    return f"--{option} {value}: only nests have a {option}: must be left out"


def in_place(fat: FatProgram, name: str, config: SramConfig, *, place: str) -> Program:
    """The program of a nest that was compiled for another place, with graphs made anew. ``place``:
    one of ``ENGINES``; raises as ``compile`` does."""
    fat = replace(fat, parts=(), engine=place)
    return fat_file(_with_graphs(fat, config, Trace(), optimise=True), name)


def _with_graphs(
    fat: FatProgram, config: SramConfig, trace: Trace, *, optimise: bool
) -> FatProgram:
    if fat.engine in ("core", "near") and fat.tile is not None:
        raise WorkloadError(f"--tile {fat.tile}: only memory has tiles: must be left out")
    nest, options = fat.nest, GraphOptions(optimise)
    if fat.engine in ("core", "near"):
        alone = (replace(nest, body=(each,)) for each in nest.body)
        fat = replace(fat, parts=tuple(elsewhere(each, "") for each in alone))
    else:
        fat = run_passes((PLAN,), fat, options, trace)
    require_places(fat, config)
    return run_passes((OPTIMISE,), fat, options, trace)


def _planned(fat: FatProgram) -> FatProgram:
    """Where only memory may run a nest, loops run in order and locals are in arrays, if that is
    what it takes; else such statements are for others."""
    reassociate, serial = fat.reassociate, fat.engine == "memory"
    found = replace(fat, parts=planned(fat.nest, reassociate=reassociate, serial=serial))
    if not serial or not _is_refused(found):
        return found
    for nest in rewritten(fat.nest):
        parts = planned(nest, reassociate=reassociate, serial=True)
        other = replace(fat, nest=nest, parts=parts)
        if not _is_refused(other):
            return other
    return found


def _is_refused(fat: FatProgram) -> bool:
    return any(part.refusal is not None for part in fat.parts)


def _optimised(fat: FatProgram) -> FatProgram:
    """Optimises the graphs of memory's parts; where floats are in another order then, also without
    that, which may need fewer values at once."""
    steps = tuple(step for part in fat.parts if part.refusal is None for step in part.steps)
    plans = [optimise_plan(steps, reassociate=fat.reassociate)]
    if fat.reassociate and any(region.is_reordered for region in regions(plans[0])):
        plans.append(optimise_plan(steps, reassociate=False))
    different = [plan for plan in dict.fromkeys(plans) if plan != steps]
    optimised, first = [], 0
    for part in fat.parts:
        if part.refusal is None:
            end = first + len(part.steps)
            part = replace(part, optimised=tuple(plan[first:end] for plan in different))
            first = end
        optimised.append(part)
    return replace(fat, parts=tuple(optimised))


def _steps(parts: Iterable[Part]) -> tuple[Step, ...]:
    return tuple(step for part in parts for step in part.steps)


def _texts(steps: tuple[Step, ...]) -> dict[str, str]:
    return {"txt": text_of(text(steps)), "dot": text_of(dot(steps))}
