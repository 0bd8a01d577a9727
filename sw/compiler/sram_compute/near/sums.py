"""Sums, and least and largest of values, of the loops of a command."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.sram_compute.isa import When
from gnarl.sw.compiler.sram_compute.near.expressions import Expressions, operation_of
from gnarl.sw.compiler.sram_compute.near.recurrences import Carried, Recurrence
from gnarl.sw.compiler.sram_compute.near.streams import Loop
from gnarl.sw.compiler.sram_compute.near.strips import (
    Element,
    Immediate,
    Operand,
    Register,
    StripProgram,
)
from gnarl.sw.compiler.sram_compute.tdfg.affine import affine_of
from gnarl.sw.compiler.sram_compute.tdfg.statements import Reduction, Stored, reject
from gnarl.sw.workloads.loops.ir.nest import Constant, For, Load
from gnarl.sw.workloads.loops.ir.parts import nodes


class SumAlongY:
    """A reduction or a recurrence along y, in registers."""

    expressions: Expressions

    def __init__(self, program: StripProgram) -> None:
        self._program = program
        self._totals: list[Register] = []

    def value(self, node: Reduction | Recurrence) -> Operand:
        """Sums up in the source's order. All behind it is done for the last y alone."""
        if isinstance(node, Recurrence):
            if not self._totals:
                self._carry(node.carried)
            return self._totals[node.number]
        program = self._program
        program.when = 1 << When.FIRST_Y
        total = program.keep_apart(self.expressions.value(node.initial))
        program.when = 0
        add(program, node, total, self.expressions.value(node.term))
        program.when = 1 << When.LAST_Y
        return total

    def _carry(self, carried: Carried) -> None:
        program = self._program
        program.when = 1 << When.FIRST_Y
        self._totals = [
            program.keep_apart(self.expressions.value(each)) for each in carried.initials
        ]
        program.when = 0
        names = [marker.name for marker in carried.markers]
        self.expressions.locals |= dict(zip(names, self._totals, strict=True))
        values = [program.keep(self.expressions.value(each)) for each in carried.nexts]
        for total, value in zip(self._totals, values, strict=True):
            program.set(total, Opcode.OR, value, Immediate(0))
            program.release(value)
        program.when = 1 << When.LAST_Y


def add(program: StripProgram, node: Reduction, total: Register, term: Operand) -> None:
    """``total`` becomes its sum with ``term``, or the lesser or larger of them."""
    operands = (term, total) if isinstance(term, Element) else (total, term)
    program.set(total, sum_operation(node), *operands)


def sum_operation(node: Reduction) -> Opcode:
    """Raises ``NotTensor``."""
    operation = operation_of(node.operator, node.type)
    if operation is None:
        reject(node.place, f"{node.operator} of {node.type}: not supported by stream engines")
    return operation


def summed_loops(stored: Stored) -> tuple[For, ...]:
    """Loops of the reduction or recurrence in a value, which has one at most."""
    summed = [each.loops for each in nodes(stored.value) if isinstance(each, Reduction)]
    summed += {
        id(each): (each.loop,) for each in nodes(stored.value) if isinstance(each, Carried)
    }.values()
    if len(summed) > 1:
        reject(stored.place, "several sums in one value: must be one")
    return summed[0] if summed else ()


def shared_loads(stored: Stored, z: Loop) -> list[Load]:
    """Elements that the terms of a sum are made of, and that are the same in all iterations of
    z."""
    terms = tuple(each.term for each in nodes(stored.value) if isinstance(each, Reduction))
    return [
        load
        for load in nodes(terms)
        if isinstance(load, Load)
        and all(
            (affine := affine_of(index)) is not None and z.variable not in affine.names
            for index in load.indices
        )
    ]


def from_zero(stored: Stored) -> Stored:
    """The sum, where what it begins with is the element itself, which is 0."""
    match stored.value:
        case Reduction(initial=Load(array, indices) as load) as found:
            if (array, indices) == (stored.array, stored.indices):
                return replace(
                    stored, value=replace(found, initial=Constant(0, load.type, load.place))
                )
    return stored


def continued(stored: Stored) -> Stored:
    """A sum that continues from the stored value."""
    if not isinstance(stored.value, Reduction):
        reject(stored.place, "a sum over several loops within a value: must be the value")
    element = Load(stored.array, stored.indices, stored.value.type, stored.place)
    return replace(stored, value=replace(stored.value, initial=element))


def without_sum(stored: Stored) -> Stored:
    """The statement where there is nothing to add up."""
    value = stored.value
    if not isinstance(value, Reduction):
        reject(stored.place, "a sum of nothing within a value: must be the value")
    return replace(stored, value=value.initial)
