"""Compiles loop nests for in-SRAM computing: passes in order. Source: Infinity Stream, figure 3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hw.lib.errors import CapacityError, WorkloadError
from hw.lib.execute_assembly import encode
from hw.lib.lines.line_size import LINE_WORDS
from hw.sram_compute.assembly import line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import UNIT_WORDS, Opcode
from hw.sram_compute.program import assemble, command, disassemble
from sw.compiler.passes import Pass, Trace, text_of
from sw.compiler.sram_compute import command_program
from sw.compiler.sram_compute.command_program import CommandWorkload, program_of
from sw.compiler.sram_compute.lower.lower import Lowered, lower
from sw.compiler.sram_compute.meaning import Meaning
from sw.compiler.sram_compute.on_core import core_code
from sw.compiler.sram_compute.optimise.saturate import optimise_plan
from sw.compiler.sram_compute.places import PLACES
from sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from sw.compiler.sram_compute.tdfg.plan import Step, plan, refusals
from sw.compiler.sram_compute.tdfg.text import dot, text
from sw.program.program import Program
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.workload import LoopWorkload

PASSES: tuple[Pass, ...] = (
    Pass("plan", "regions of loop nests as tensor dataflow graphs"),
    Pass("optimise", "cheaper graphs, by equality saturation"),
    Pass("core", "instead of both, a nest that runs on the core: its instructions"),
    *command_program.PASSES,
)


def compile(
    workload: LoopWorkload | CommandWorkload,
    config: SramConfig,
    *,
    seed: int = 0,
    trace: Trace,
    reassociate: bool = True,
    place: str | None = None,
) -> Program:
    """A program for the sizes and scalars of a nest's inputs, or of commands as they stand.

    reassociate
        whether sums of float32 may be added up in another order.
    place
        where a nest runs, one of ``PLACES``, by default the first: in memory if it can, else on
        the core.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if place is not None and place not in PLACES:
        raise WorkloadError(f"--place {place}: not supported: must be one of {', '.join(PLACES)}")
    if isinstance(workload, CommandWorkload):
        if place is not None:
            raise WorkloadError(f"--place {place}: only nests have a place: must be left out")
        return command_program.compile(workload, config, seed=seed, trace=trace)
    if place == "core":
        if not config.core_lanes:
            raise WorkloadError("--place core: core_lanes = 0: the configuration has no core")
        return _on_core(workload, config, trace, reassociate)
    try:
        return _in_memory(workload, config, trace, reassociate)
    except (WorkloadError, CapacityError) as refusal:
        if place == "memory" or not config.core_lanes:
            raise
        try:
            return _on_core(workload, config, trace, reassociate)
        except (WorkloadError, CapacityError) as error:
            raise type(refusal)(f"{refusal}; on the core: {error}") from None


def _in_memory(
    workload: LoopWorkload, config: SramConfig, trace: Trace, reassociate: bool
) -> Program:
    nest, binding = workload.nest, workload.binding
    steps = plan(nest, reassociate=reassociate, streams=False)
    trace.after("plan", lambda: _texts(steps))
    for each in refusals(steps):
        raise WorkloadError(each.reason)
    steps, lowered = _fastest(nest, steps, binding, config, reassociate)
    trace.after("optimise", lambda: _texts(steps))
    order, _ = compiled_order(nest, steps)
    lines = {name: array.first_line for name, array in lowered.arrays.items()}
    return _program(workload, config, trace, lowered.units, lines, order, text_of(dot(steps)))


def _on_core(
    workload: LoopWorkload, config: SramConfig, trace: Trace, reassociate: bool
) -> Program:
    nest = workload.nest
    units = assemble([command(Opcode.CORE), command(Opcode.END)])
    made = core_code(
        nest,
        workload.binding,
        config,
        zeros=[name for name in nest.results if name not in workload.inputs],
        first_line=-(-len(units) * UNIT_WORDS // LINE_WORDS),
        reassociate=reassociate,
    )
    words = encode(made.instructions)
    trace.after("core", lambda: {"txt": text_of(command_program.core_listing(words))})
    return _program(workload, config, trace, units, made.first_lines, made.order, "", words)


def _program(
    workload: LoopWorkload,
    config: SramConfig,
    trace: Trace,
    units: np.ndarray,
    lines: Mapping[str, int],
    order: Nest,
    dot: str,
    instructions: np.ndarray | None = None,
) -> Program:
    """``lines``: the first one of each array."""
    nest, binding = workload.nest, workload.binding
    commands = disassemble(units)
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for _, each in commands)})
    trace.after("assemble", lambda: {"txt": text_of(command_program.hexadecimal(units))})
    scalars = {name: value.item() for name, value in binding.scalars.items()}
    meaning = Meaning(nest, order, binding.sizes, scalars, dot).encoded()
    specs = {
        name: TensorSpec(name, array.shape, nest.arrays[name].type.name)
        for name, array in binding.arrays.items()
    }
    given = [name for name in specs if name in workload.inputs or name not in nest.results]
    inputs, outputs = (
        [(specs[name], lines[name]) for name in names] for names in (given, nest.results)
    )
    return program_of(config, workload.name, inputs, outputs, units, meaning, instructions)


def _fastest(
    nest: Nest, steps: tuple[Step, ...], binding: Binding, config: SramConfig, reassociate: bool
) -> tuple[tuple[Step, ...], Lowered]:
    """Optimised graphs, as commands. Where they need more values at once than there are rows, those
    of which no sum is in another order are tried too, and those that are not optimised."""
    manners = [reassociate, False] if reassociate else [False]
    found: list[tuple[tuple[Step, ...], Lowered]] = []
    for manner in manners:
        better = optimise_plan(steps, reassociate=manner)
        found.append((better, lower(nest, better, binding, config)))
        if not found[-1][1].returns:
            return found[-1]
    found.append((steps, lower(nest, steps, binding, config)))
    return min(found, key=lambda each: each[1].estimate)


def _texts(steps: tuple[Step, ...]) -> dict[str, str]:
    return {"txt": text_of(text(steps)), "dot": text_of(dot(steps))}
