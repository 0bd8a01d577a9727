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
from sw.compiler.sram_compute.cost.places import chosen_places
from sw.compiler.sram_compute.in_memory import InMemory, Made
from sw.compiler.sram_compute.joined import joined, lines_of_commands
from sw.compiler.sram_compute.lower.lower import Lowered
from sw.compiler.sram_compute.meaning import Meaning
from sw.compiler.sram_compute.on_core import CoreCodes
from sw.compiler.sram_compute.placement import Part, on_core, placed
from sw.compiler.sram_compute.places import PLACES
from sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from sw.compiler.sram_compute.tdfg.plan import Step
from sw.compiler.sram_compute.tdfg.text import dot, text
from sw.compiler.sram_compute.tile_choice import tile_choice
from sw.program.program import Program
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.nest import Nest, Statement
from sw.workloads.loops.workload import LoopWorkload

PASSES: tuple[Pass, ...] = (
    Pass("plan", "regions of loop nests as tensor dataflow graphs"),
    Pass("place", "which statements run where: cycles in each place"),
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
    tile: str | None = None,
) -> Program:
    """A program for the sizes and scalars of a nest's inputs, or of commands as they stand.

    reassociate
        whether sums of float32 may be added up in another order.
    optimise
        whether graphs are made cheaper.
    place
        where a nest runs, one of ``PLACES``, by default the first.
    tile
        in which tiles its arrays are, as ``tile_choice`` has it; by default a rule says it.

    Raises ``WorkloadError`` naming the line that cannot be compiled, and ``CapacityError``.
    """
    if place == "core" and tile is not None:
        raise WorkloadError(f"--tile {tile}: only memory has tiles: must be left out")
    if place is not None and place not in PLACES:
        raise WorkloadError(f"--place {place}: not supported: must be one of {', '.join(PLACES)}")
    if isinstance(workload, CommandWorkload):
        for option, value in (("place", place), ("tile", tile)):
            if value is not None:
                problem = f"--{option} {value}: only nests have a {option}: must be left out"
                raise WorkloadError(problem)
        return command_program.compile(workload, config, seed=seed, trace=trace)
    parts = _parts(workload.nest, config, trace, reassociate, place or PLACES[0])
    is_core_open = place != "memory" and config.core_lanes > 0
    tiles = tile_choice(tile, workload.nest, config)
    memory = InMemory(workload.binding, config, reassociate, optimise, tiles, is_core_open)
    codes = CoreCodes(workload.binding, config, reassociate=reassociate)
    chosen = None
    if is_core_open and place != "core":
        chosen = chosen_places(workload, config, parts, memory.made, codes, reassociate=reassociate)
    found = chosen.parts if chosen else tuple(memory.made(part) for part in parts)
    if chosen:
        listing = text_of(chosen.listing(workload.nest))
        trace.after("place", lambda: {"txt": listing})
    if steps := _steps(part for part, lowered in found if lowered is not None):
        trace.after("optimise", lambda: _texts(steps))
    return _program(workload, config, trace, codes, found)


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


def _program(
    workload: LoopWorkload,
    config: SramConfig,
    trace: Trace,
    codes: CoreCodes,
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
                made = codes.made(part.nest, zeros=zeros, lines=lines, before=len(instructions))
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


def _texts(steps: tuple[Step, ...]) -> dict[str, str]:
    return {"txt": text_of(text(steps)), "dot": text_of(dot(steps))}
