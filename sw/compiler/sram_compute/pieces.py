"""A program's parts as commands and instructions, before they are put together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import assemble, command
from gnarl.sw.compiler.sram_compute.command_places import (
    CommandPlaces,
    all_for,
    first_store,
    joined_places,
    with_end,
)
from gnarl.sw.compiler.sram_compute.in_memory import Made
from gnarl.sw.compiler.sram_compute.joined import lines_of_commands
from gnarl.sw.compiler.sram_compute.lower.lattice import aligned
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from gnarl.sw.compiler.sram_compute.near.lower import NearCode
from gnarl.sw.compiler.sram_compute.on_core import CoreCode, CoreCodes
from gnarl.sw.compiler.sram_compute.placement import Part
from gnarl.sw.compiler.sram_compute.sections import line_count
from gnarl.sw.compiler.sram_compute.slabs import Slab, Slabs
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.loops.ir.nest import Nest, Statement


@dataclass(frozen=True)
class Pieces:
    """Code of all parts of a program.

    lines, end
        the first line of each array, and that behind the last one.
    commands
        of memory, and of what starts stream engines and the core.
    instructions
        of the core.
    order
        the nest with the additions in the program's order.
    places
        in the source, of all commands and the ``END`` behind them.
    """

    lines: Mapping[str, int]
    end: int
    commands: Sequence[MemoryCode | Slab | np.ndarray]
    instructions: Sequence[Instruction]
    order: Nest
    places: CommandPlaces


def pieces_of(
    nest: Nest,
    specs: Sequence[TensorSpec],
    parts: Sequence[Made],
    codes: CoreCodes,
    given: Collection[str],
    channels: int,
) -> Pieces:
    """The code of ``parts``, where arrays like ``specs`` have room behind each other.

    ``codes``: makes what is for the core; ``given``: arrays that do not begin as 0; ``channels`` of
    memory, in the first of which each array begins. Raises
    ``WorkloadError`` and ``CapacityError`` for what does not run on the core.
    """
    lines, end = _layout(specs, [code for _, code in parts], channels)
    zeros = {*nest.results} - {*given}
    parameters, body = nest.parameters, list[Statement]()
    instructions, commands = list[Instruction](), list[MemoryCode | Slab | np.ndarray]()
    places = list[CommandPlaces]()
    for part, code in parts:
        if isinstance(code, MemoryCode | Slabs):
            commands += code.slabs if isinstance(code, Slabs) else [code]
            places.append(code.places)
            own = replace(part.nest, parameters=parameters)
            order, _ = compiled_order(own, part.steps, code.orders)
            parameters = order.parameters
        elif isinstance(code, NearCode):
            commands.append(assemble(code.commands(lines)))
            places.append(code.places(lines))
            order = code.order
        else:
            commands.append(assemble([command(Opcode.CORE, first=len(instructions))]))
            places.append(all_for(first_store(part.nest.body), 1))
            on_core = _on_core(part, codes, zeros, lines, len(instructions))
            instructions += on_core.instructions
            order = on_core.order
        body += order.body
        zeros -= {*part.nest.results}
    order = replace(nest, parameters=parameters, body=tuple(body))
    return Pieces(
        lines, end, commands, instructions, order, with_end(joined_places(places), nest.place)
    )


def _on_core(
    part: Part, codes: CoreCodes, zeros: Collection[str], lines: Mapping[str, int], before: int
) -> CoreCode:
    try:
        return codes.made(part.nest, zeros=zeros, lines=lines, before=before)
    except (WorkloadError, CapacityError) as error:
        if not part.refusal:
            raise
        raise type(error)(f"{part.refusal}; on the core: {error}") from None


def _layout(
    specs: Sequence[TensorSpec],
    pieces: Sequence[MemoryCode | Slabs | NearCode | None],
    channels: int,
) -> tuple[dict[str, int], int]:
    """The first line of each array, and that behind the last one: where they lie for the one piece
    that there is, if that is in memory and has all of them."""
    if len(pieces) == 1 and isinstance(pieces[0], MemoryCode):
        arrays = pieces[0].arrays
        if all(spec.name in arrays for spec in specs):
            lines = {name: array.first_line for name, array in arrays.items()}
            end = max(array.first_line + array.lines for array in arrays.values())
            return lines, aligned(end, channels)
    line, lines = lines_of_commands(pieces), {}
    for spec in specs:
        line = lines[spec.name] = aligned(line, channels)
        line += line_count(spec)
    return lines, aligned(line, channels)
