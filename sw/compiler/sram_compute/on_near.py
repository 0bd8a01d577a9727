"""Whole nests as programs of the stream engines."""

from __future__ import annotations

from collections.abc import Collection

from hw.sram_compute.assembly import line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import LINE_UNITS, Opcode
from hw.sram_compute.program import assemble, command
from sw.compiler.passes import Trace, text_of
from sw.compiler.sram_compute.command_program import hexadecimal, line_count, program_of
from sw.compiler.sram_compute.fat_program import FatProgram
from sw.compiler.sram_compute.meaning import LoweredProgram, Meaning
from sw.compiler.sram_compute.near.lower import near_code
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.binding import Binding


def near_program(
    fat: FatProgram,
    name: str,
    binding: Binding,
    given: Collection[str],
    config: SramConfig,
    trace: Trace,
) -> LoweredProgram:
    """A program for the sizes and scalars of ``binding``.

    ``given``: arrays that are written and do not begin as 0. Raises ``WorkloadError`` naming the
    line that stream engines cannot run, and ``CapacityError``.
    """
    nest = fat.nest
    code = near_code(nest, binding, config, reassociate=fat.reassociate)
    line, specs, lines = -(-(code.units + 1) // LINE_UNITS), {}, {}
    for each, array in binding.arrays.items():
        specs[each] = TensorSpec(each, array.shape, nest.arrays[each].type.name)
        lines[each] = line
        line += line_count(specs[each])
    zeros = frozenset(each for each in nest.results if each not in given)
    commands = [*code.commands(lines, zeros), command(Opcode.END)]
    units = assemble(commands)
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for each in commands)})
    trace.after("assemble", lambda: {"txt": text_of(hexadecimal(units))})
    inputs = [each for each in specs if each in given or each not in nest.results]
    program = program_of(
        config,
        name,
        [(specs[each], lines[each]) for each in inputs],
        [(specs[each], lines[each]) for each in nest.results],
        units,
    )
    scalars = {each: value.item() for each, value in binding.scalars.items()}
    meaning = Meaning(nest, code.order, binding.sizes, scalars, ())
    return LoweredProgram(**vars(program), meaning=meaning)
