"""Whole nests as programs of the stream engines."""

from __future__ import annotations

from hw.lib.errors import WorkloadError
from hw.sram_compute.assembly import line_of
from hw.sram_compute.config import SramConfig
from hw.sram_compute.isa import LINE_UNITS, Opcode
from hw.sram_compute.program import assemble, command
from sw.compiler.passes import Trace, text_of
from sw.compiler.sram_compute.command_program import hexadecimal, line_count, program_of
from sw.compiler.sram_compute.meaning import Meaning
from sw.compiler.sram_compute.near.lower import near_code
from sw.program.program import Program
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.workload import LoopWorkload


def near_program(
    workload: LoopWorkload, config: SramConfig, trace: Trace, *, reassociate: bool
) -> Program:
    """A program for the sizes and scalars of a nest's inputs.

    ``reassociate``: whether lanes may have sums of their own. Raises ``WorkloadError`` naming the
    line that stream engines cannot run, and ``CapacityError``.
    """
    if not config.near_lanes:
        raise WorkloadError("--place near: near_lanes = 0: the configuration has no stream engines")
    nest, binding = workload.nest, workload.binding
    code = near_code(nest, binding, config, reassociate=reassociate)
    line, specs, lines = -(-(code.units + 1) // LINE_UNITS), {}, {}
    for name, array in binding.arrays.items():
        specs[name] = TensorSpec(name, array.shape, nest.arrays[name].type.name)
        lines[name] = line
        line += line_count(specs[name])
    zeros = frozenset(each for each in nest.results if each not in workload.inputs)
    commands = [*code.commands(lines, zeros), command(Opcode.END)]
    units = assemble(commands)
    trace.after("lower", lambda: {"txt": text_of(line_of(config, each) for each in commands)})
    trace.after("assemble", lambda: {"txt": text_of(hexadecimal(units))})
    scalars = {name: value.item() for name, value in binding.scalars.items()}
    meaning = Meaning(nest, code.order, binding.sizes, scalars, "")
    given = [each for each in specs if each in workload.inputs or each not in nest.results]
    inputs, outputs = (
        [(specs[each], lines[each]) for each in names] for names in (given, nest.results)
    )
    return program_of(config, workload.name, inputs, outputs, units, meaning.encoded())
