"""Parts of a model: some of its statements as a model of their own, so that a region can be
compiled without all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.barriers import needed_before
from gnarl.sw.compiler.sam.fuse.regions import Region, results_of
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.storage import TensorFormat


def part_of(
    program: EinsumProgram,
    region: Region,
    shapes: Mapping[str, tuple[int, ...]],
    formats: Mapping[str, TensorFormat],
    fixed: bool,
) -> tuple[SamModel, Schedule]:
    """The statements of a region of a program as a model, and the schedule of its only region.

    shapes, formats
        of all tensors, by name; those that the region alone takes may lack formats.
    fixed
        whether inputs of the program, and what the host makes, are stored in these formats; else
        dense ones are stored to suit the region. What other regions leave is, in any case.

    Raises ``WorkloadError`` where the host makes a tensor of what the region computes, and the
    region takes that.
    """
    inside = set(region.statements)
    before = needed_before(program)
    for name in region.statements:
        if not before[name].isdisjoint(inside):
            raise WorkloadError(f"{name} takes what the host makes of {', '.join(inside)}")
    statements = tuple(each for each in program.einsums if each.name in inside)
    taken = {each.tensor for one in statements for each in one.operands} - inside
    results = tuple(results_of(program, region.statements))
    own = {name: each for name, each in formats.items() if name in taken}
    own |= {name: formats[name] for name in results if name in formats}
    sizes = {name: each for name, each in program.shapes.items() if name in inside}
    made = replace(program, statements=statements, formats=own, results=results, shapes=sizes)
    stored = {
        name: each.notation
        for name, each in own.items()
        if each.order and (fixed or program.einsum(name) is not None)
    }
    schedule = Schedule(formats=stored, regions=(region,))
    return SamModel(program.name, made, shapes, {}, {}, {}, program), schedule
