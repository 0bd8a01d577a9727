"""Sums of all elements of a loop, by lanes: a strip of them in each bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gnarl.hw.sram_compute.isa import DIMENSIONS, STREAMS, STRIP, Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.near.expressions import Expressions
from gnarl.sw.compiler.sram_compute.near.recurrences import Recurrence
from gnarl.sw.compiler.sram_compute.near.streams import BankArray, Loop, Stream, Streams
from gnarl.sw.compiler.sram_compute.near.strips import Immediate, Operand, StripProgram, immediate
from gnarl.sw.compiler.sram_compute.near.sums import add, sum_operation
from gnarl.sw.compiler.sram_compute.tdfg.statements import Reduction, Stored, reject
from gnarl.sw.workloads.loops.ir.lane_sums import sum_by_lanes
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    For,
    Load,
    Nest,
    Statement,
    Store,
    Variable,
    statements,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType

ONCE = Loop("", 0, 1, 1)


@dataclass(frozen=True)
class Room:
    """Room for strips of all ``banks``: words from ``word`` on, the first one the first bank's."""

    banks: int
    word: int

    @property
    def lanes(self) -> int:
        return self.banks * STRIP

    def strips(self, bank: int = 0) -> Stream:
        return Stream(self.word + bank * STRIP, (1, 0, 0))


def can_sum_by_lanes(stored: Stored, banks: int) -> bool:
    """Whether it is one element, of one sum of one loop."""
    found = [each for each in nodes(stored.value) if isinstance(each, Reduction)]
    return not stored.loops and len(found) == 1 == len(found[0].loops) and banks <= STREAMS


def sum_lanes(
    stored: Stored,
    loop: Loop,
    arrays: Mapping[str, BankArray],
    names: Mapping[str, int],
    numbers: Mapping[str, float],
    room: Room,
) -> list[Command]:
    """Each lane adds up its elements; banks' strips are added by halves, then lanes by halves, and
    what the sum begins with comes last. Raises ``NotTensor``."""
    (node,) = (each for each in nodes(stored.value) if isinstance(each, Reduction))
    place = stored.place

    own = StripProgram(place)
    own.element(room.strips())  # the owner
    total = own.begin_with(_neutral(node.operator, node.type))
    streams = Streams(arrays, (loop, ONCE, ONCE), names)
    add(own, node, total, Expressions(own, streams, loop, ONCE, 0, numbers, _none).value(node.term))

    out = StripProgram(place)
    out.store(out.element(room.strips()), total)

    halves = StripProgram(place)
    parts: Sequence[Operand] = [halves.element(room.strips(bank)) for bank in range(room.banks)]
    operation = sum_operation(node)
    while len(parts) > 1:
        pairs = zip(parts[: len(parts) // 2], parts[len(parts) // 2 :], strict=True)
        parts = [halves.compute(operation, *pair) for pair in pairs]
    halved = halves.register(parts[0])
    for distance in (STRIP >> level for level in range(1, STRIP.bit_length())):
        halved = halves.with_rotated(operation, halved, distance)

    end = StripProgram(place)
    end.element(room.strips())
    end.reserve(halved)
    streams = Streams(arrays, (ONCE,) * DIMENSIONS, names)
    target, index = streams.find(stored.array, stored.indices, place)
    if index is not None:
        reject(place, f"{stored.array}: the index of what is written must be affine")

    def whole(sum: Reduction | Recurrence) -> Operand:
        assert isinstance(sum, Reduction)
        return end.compute(operation, expressions.value(sum.initial), halved)

    expressions = Expressions(end, streams, ONCE, ONCE, 0, numbers, whole)
    end.store(end.element(target), expressions.value(stored.value))
    counts = (loop.count, room.lanes, STRIP, 1)
    return [
        each
        for program, count in zip((own, out, halves, end), counts, strict=True)
        for each in (
            *program.commands(0),
            command(Opcode.NEAR, last=program.last, counts=(count, 1, 1)),
        )
    ]


def order_by_lanes(nest: Nest, sizes: Mapping[str, int], lanes: int, loops: Sequence[For]) -> Nest:
    """The nest with float32 additions of ``loops``, of its body, in the order of ``sum_lanes``."""
    places = [each.place for each in loops]
    body: list[Statement] = []
    changed: list[For] = []
    for statement in nest.body:
        if not isinstance(statement, For) or statement.place not in places:
            body.append(statement)
            continue
        begin, loop, end = _with_local(nest, statement, f"lane_sum{len(changed)}")
        body += [*begin, loop, *end]
        changed.append(loop)
    whole = replace(nest, body=tuple(body))
    numbers = [
        number
        for number, each in enumerate(statements(whole.body))
        if any(each is loop for loop in changed)
    ]
    return sum_by_lanes(whole, sizes, numbers, lanes)


def _with_local(
    nest: Nest, loop: For, name: str
) -> tuple[Sequence[Statement], For, Sequence[Statement]]:
    """A loop that adds up an element, or a local, as one that adds up a local."""
    store = loop.body[0]
    if not isinstance(store, AugmentedStore):
        return (), loop, ()
    while name in {*nest.arrays, *nest.scalars, *(each.name for each in nest.sizes)}:
        name += "_"
    element = Load(store.array, store.indices, FLOAT32, store.place)
    local = Variable(name, FLOAT32, store.place)
    added = Assign(name, Binary(store.operator, local, store.value, store.place), store.place)
    return (
        (Assign(name, element, store.place),),
        replace(loop, body=(added,)),
        (Store(store.array, store.indices, local, store.place),),
    )


def _neutral(operator: str, type: ScalarType) -> Immediate:
    least, most = (-np.inf, np.inf) if type == FLOAT32 else (INT32.least, INT32.most)
    value = {"min": most, "max": least}.get(operator, 0)
    return immediate(value, np.dtype(np.float32 if type == FLOAT32 else np.int32))


def _none(node: Reduction | Recurrence) -> Operand:
    raise TypeError(node)
