"""A statement in loops x, y and z as operations of stream engines, and the loop of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.near.expressions import Expressions
from gnarl.sw.compiler.sram_compute.near.streams import BankArray, Loop, Stream, Streams, alignment
from gnarl.sw.compiler.sram_compute.near.strips import Register, StripProgram
from gnarl.sw.compiler.sram_compute.near.sums import SumAlongY
from gnarl.sw.compiler.sram_compute.tdfg.statements import Stored
from gnarl.sw.workloads.loops.ir.nest import Load


def loop_commands(
    stored: Stored,
    loops: tuple[Loop, Loop, Sequence[Loop]],
    shared: Sequence[Load],
    arrays: Mapping[str, BankArray],
    names: Mapping[str, int],
    numbers: Mapping[str, float],
) -> list[Command]:
    """``STREAM``, ``OPERATION`` and a ``NEAR``.

    ``loops``: x, y and several z, of as many iterations each, which are done together; ``shared``:
    what all of these read; ``names``: what indices name; ``numbers``: what values do. Raises
    ``NotTensor``.
    """
    x, y, several = loops
    program = StripProgram(stored.place)
    held: dict[Stream, Register] = {}
    owner = first = 0
    for copy, z in enumerate(several):
        streams = Streams(arrays, (x, y, z), names)
        target, index = streams.find(stored.array, stored.indices, stored.place)
        first = alignment(target)
        program.when = 0
        sums = SumAlongY(program)
        expressions = Expressions(program, streams, x, y, first, numbers, sums.value, held)
        sums.expressions = expressions
        if not copy:
            for load in shared:
                stream, _ = streams.find(load.array, load.indices, load.place)
                if stream not in held:
                    held[stream] = program.keep_apart(program.element(stream))
        value = expressions.value(stored.value)
        if index is None:
            element = program.element(target)
        else:
            value = program.register(value)
            element = program.element(target, program.register(expressions.value(index)))
        program.store(element, value)
        if not copy:
            owner = program.streams.index(target)
    counts = (first + x.count, y.count, several[0].count)
    return [
        *program.commands(first),
        command(Opcode.NEAR, last=program.last, first=first, counts=counts, owner=owner),
    ]
