"""Compiles loop nests for in-SRAM computing: passes in order. Source: Infinity Stream, figure 3."""

from __future__ import annotations

from hw.lib.errors import WorkloadError
from hw.sram_compute.assembly import line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.program import disassemble
from sw.compiler.passes import Pass, Trace, text_of
from sw.compiler.sram_compute import command_program
from sw.compiler.sram_compute.command_program import CommandWorkload, program_of
from sw.compiler.sram_compute.lower.lower import Lowered, lower
from sw.compiler.sram_compute.meaning import Meaning
from sw.compiler.sram_compute.optimise.saturate import optimise_plan
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
    *command_program.PASSES,
)


def compile(
    workload: LoopWorkload | CommandWorkload,
    config: SramConfig,
    *,
    seed: int = 0,
    trace: Trace,
    reassociate: bool = True,
    optimise: bool = True,
) -> Program:
    """A program for the sizes and scalars of a nest's inputs, or of commands as they stand.

    reassociate
        whether sums of float32 may be added up in another order.
    optimise
        whether graphs are made cheaper.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if isinstance(workload, CommandWorkload):
        return command_program.compile(workload, config, seed=seed, trace=trace)
    nest, binding = workload.nest, workload.binding
    steps = plan(nest, reassociate=reassociate, streams=False)
    trace.after("plan", lambda: _texts(steps))
    for each in refusals(steps):
        raise WorkloadError(each.reason)
    if optimise:
        steps, lowered = _fastest(nest, steps, binding, config, reassociate)
    else:
        lowered = lower(nest, steps, binding, config)
    trace.after("optimise", lambda: _texts(steps))
    commands = disassemble(lowered.units)
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for _, each in commands)})
    trace.after("assemble", lambda: {"txt": text_of(command_program.hexadecimal(lowered.units))})
    order, _ = compiled_order(nest, steps)
    scalars = {name: value.item() for name, value in binding.scalars.items()}
    meaning = Meaning(nest, order, binding.sizes, scalars, text_of(dot(steps)))
    specs = {
        name: TensorSpec(name, array.shape, nest.arrays[name].type.name)
        for name, array in binding.arrays.items()
    }
    given = [name for name in specs if name in workload.inputs or name not in nest.results]
    inputs, outputs = (
        [(specs[name], lowered.arrays[name].first_line) for name in names]
        for names in (given, nest.results)
    )
    units, name = lowered.units, workload.name
    return program_of(config, name, inputs, outputs, units, meaning.encoded())


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
