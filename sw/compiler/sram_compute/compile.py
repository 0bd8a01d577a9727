"""Compiles loop nests for in-SRAM computing: passes in order. Source: Infinity Stream, figure 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hw.lib.errors import CapacityError, WorkloadError
from hw.lib.execute_assembly import encode
from hw.lib.execute_isa import Instruction
from hw.sram_compute.assembly import line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.program import disassemble
from sw.compiler.passes import Pass, Trace, text_of
from sw.compiler.sram_compute import command_program
from sw.compiler.sram_compute.command_program import CommandWorkload, line_count, program_of
from sw.compiler.sram_compute.joined import joined, lines_of_commands
from sw.compiler.sram_compute.lower.lower import Lowered, OutsideError, lower
from sw.compiler.sram_compute.meaning import Meaning
from sw.compiler.sram_compute.on_core import core_code
from sw.compiler.sram_compute.on_near import near_program
from sw.compiler.sram_compute.optimise.saturate import egglog_bindings, optimise_plan
from sw.compiler.sram_compute.placement import Part, on_core, placed
from sw.compiler.sram_compute.places import PLACES
from sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from sw.compiler.sram_compute.tdfg.plan import Step
from sw.compiler.sram_compute.tdfg.text import dot, text
from sw.program.program import Program
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest, Statement
from sw.workloads.loops.workload import LoopWorkload

PASSES: tuple[Pass, ...] = (
    Pass("plan", "regions of loop nests as tensor dataflow graphs"),
    Pass("optimise", "cheaper graphs, by equality saturation"),
    Pass("core", "what memory does not compute, for the core: its instructions"),
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
    place: str | None = None,
) -> Program:
    """A program for the sizes and scalars of a nest's inputs, or of commands as they stand.

    reassociate
        whether sums of float32 may be added up in another order.
    optimise
        whether graphs are made cheaper.
    place
        where a nest runs, one of ``PLACES``, by default the first.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if place is not None and place not in PLACES:
        raise WorkloadError(f"--place {place}: not supported: must be one of {', '.join(PLACES)}")
    if isinstance(workload, CommandWorkload):
        if place is not None:
            raise WorkloadError(f"--place {place}: only nests have a place: must be left out")
        return command_program.compile(workload, config, seed=seed, trace=trace)
    if place == "near":
        return near_program(workload, config, trace, reassociate=reassociate)
    parts = _parts(workload.nest, config, trace, reassociate, place or PLACES[0])
    is_core_open = place != "memory" and config.core_lanes > 0
    found = [
        _lowered(part, workload.binding, config, reassociate, optimise, is_core_open)
        for part in parts
    ]
    if steps := _steps(part for part, lowered in found if lowered is not None):
        trace.after("optimise", lambda: _texts(steps))
    return _program(workload, config, trace, reassociate, found)


Made = tuple[Part, Lowered | None]
"""A part with its commands, which one on the core does not have."""


def _parts(
    nest: Nest, config: SramConfig, trace: Trace, reassociate: bool, place: str
) -> tuple[Part, ...]:
    if place == "core":
        if not config.core_lanes:
            raise WorkloadError("--place core: core_lanes = 0: the configuration has no core")
        return (on_core(nest, ""),)
    parts = placed(nest, reassociate=reassociate)
    trace.after("plan", lambda: _texts(_steps(parts)))
    for part in parts:
        if part.refusal is not None and (place == "memory" or not config.core_lanes):
            raise WorkloadError(part.refusal)
    return parts


def _lowered(
    part: Part,
    binding: Binding,
    config: SramConfig,
    reassociate: bool,
    optimise: bool,
    is_core_open: bool,
) -> Made:
    """What banks turn out not to do, or have no room for, goes to the core where that is open."""
    if part.refusal is not None:
        return part, None
    if optimise:
        egglog_bindings()
    try:
        if not optimise:
            return part, lower(part.nest, part.steps, binding, config)
        steps, lowered = _fastest(part.nest, part.steps, binding, config, reassociate)
    except OutsideError:
        raise
    except (WorkloadError, CapacityError) as refusal:
        if not is_core_open:
            raise
        return on_core(part.nest, str(refusal)), None
    return replace(part, steps=steps), lowered


def _program(
    workload: LoopWorkload,
    config: SramConfig,
    trace: Trace,
    reassociate: bool,
    found: Sequence[Made],
) -> Program:
    nest, binding, name = workload.nest, workload.binding, workload.name
    specs = {
        each: TensorSpec(each, array.shape, nest.arrays[each].type.name)
        for each, array in binding.arrays.items()
    }
    pieces = [lowered for _, lowered in found]
    lines, end = _layout(specs.values(), pieces)
    zeros = {each for each in nest.results if each not in workload.inputs}
    parameters, body = nest.parameters, list[Statement]()
    instructions, firsts = list[Instruction](), list[int]()
    for part, lowered in found:
        if lowered is not None:
            own = replace(part.nest, parameters=parameters)
            order, _ = compiled_order(own, part.steps)
            parameters = order.parameters
        else:
            firsts.append(len(instructions))
            try:
                made = core_code(
                    part.nest,
                    binding,
                    config,
                    zeros=sorted(zeros),
                    lines=lines,
                    before=len(instructions),
                    reassociate=reassociate,
                )
            except (WorkloadError, CapacityError) as error:
                if not part.refusal:
                    raise
                raise type(error)(f"{part.refusal}; on the core: {error}") from None
            instructions += made.instructions
            order = made.order
        body += order.body
        zeros -= {*part.nest.results}
    words = encode(instructions)
    if instructions:
        trace.after("core", lambda: {"txt": text_of(command_program.core_listing(words))})
    units = joined(pieces, firsts, lines, end, config.memory_lines)
    commands = disassemble(units)
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for _, each in commands)})
    trace.after("assemble", lambda: {"txt": text_of(command_program.hexadecimal(units))})
    graphs = _steps(part for part, lowered in found if lowered is not None)
    meaning = Meaning(
        nest,
        replace(nest, parameters=parameters, body=tuple(body)),
        binding.sizes,
        {each: value.item() for each, value in binding.scalars.items()},
        text_of(dot(graphs)) if graphs else "",
    )
    given = [each for each in specs if each in workload.inputs or each not in nest.results]
    inputs, outputs = (
        [(specs[each], lines[each]) for each in names] for names in (given, nest.results)
    )
    return program_of(config, name, inputs, outputs, units, meaning.encoded(), words)


def _layout(
    specs: Iterable[TensorSpec], pieces: Sequence[Lowered | None]
) -> tuple[dict[str, int], int]:
    """The first line of each array, and that behind the last one: where they lie for the one piece
    that there is, if that is in memory."""
    if len(pieces) == 1 and pieces[0] is not None:
        arrays = pieces[0].arrays
        lines = {name: array.first_line for name, array in arrays.items()}
        return lines, max(array.first_line + array.lines for array in arrays.values())
    line, lines = lines_of_commands(pieces), {}
    for spec in specs:
        lines[spec.name] = line
        line += line_count(spec)
    return lines, line


def _steps(parts: Iterable[Part]) -> tuple[Step, ...]:
    return tuple(step for part in parts for step in part.steps)


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
