"""Chooses the result that is written in each cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_times import INTEGER_CYCLES
from gnarl.hw.lib.execute.decoded import Path
from gnarl.hw.lib.execute.pending import NAMED
from gnarl.hw.lib.operation import Operation


def result_layout(lanes: int) -> data.StructLayout:
    """A result of ``lanes`` words for register ``dst``; its first word is a scalar's."""
    return data.StructLayout({"dst": unsigned(5), "vector": 1, "data": data.ArrayLayout(32, lanes)})


SLOT = data.StructLayout(
    {
        "used": 1,
        "writes": 1,
        "vector": 1,
        "dst": unsigned(5),
        "path": Path,
        "tree": 1,
        "operation": Operation,
    }
)
"""A cycle of the bus.

``used``: units' results fall into it; ``writes``: one of them goes to register ``dst``, from the
units of ``path``, or from what was held where that is ``NONE``. ``operation``: of the adders whose
results are there in this cycle; ``tree``: what they add are their own results.
"""


def written_after(path: Path, lanes: int, stages: int) -> int:
    """Cycles from issue to the one in which the result is written."""
    levels = (lanes - 1).bit_length()
    passes = {Path.INTEGER: 0, Path.MULTIPLY_ADD: 2, Path.TREE: levels}.get(path, 1)
    return 2 + passes * stages if passes else INTEGER_CYCLES


class ResultBus(wiring.Component):
    """A write a cycle, reserved at issue; results that come at any time take what is left.

    Parameters: ``lanes``; ``stages`` of their float units.

    Members
    -------
    asks
        in: a ``Path``: all cycles that an instruction needs which issues now are ``free``, out.
    reserves, vector, dst, operation
        in: it issues.
    late
        in: a stream of ``result_layout``, each of which is written in the cycle after.
    writes
        out: the slot of this cycle.
    held
        out: the words of what was taken from ``late`` a cycle before.
    adds
        out: the slot of the cycle for which adders take operands now.
    scalar_ends, vector_ends
        out: two of ``NAMED``: registers that ``Pending`` can let go: those that no other
        instruction under way writes.
    comes
        out: ``asked``, in, is a vector register whose last result comes soon enough to be read
        ``stages`` cycles later than at issue.
    sums
        out: ``asked_sum``, in, is a vector register whose last result adders have in the cycle in
        which what issues now comes to them.
    """

    def __init__(self, lanes: int, stages: int) -> None:
        self._stages = stages
        self._levels = (lanes - 1).bit_length()
        self._after = {path: written_after(path, lanes, stages) for path in Path}
        pair = data.ArrayLayout(NAMED, 2)
        super().__init__(
            {
                "asks": In(Path),
                "free": Out(1),
                "reserves": In(1),
                "vector": In(1),
                "dst": In(5),
                "operation": In(Operation),
                "late": In(stream.Signature(result_layout(lanes))),
                "writes": Out(SLOT),
                "held": Out(data.ArrayLayout(32, lanes)),
                "adds": Out(SLOT),
                "scalar_ends": Out(pair),
                "vector_ends": Out(pair),
                "asked": In(5),
                "comes": Out(1),
                "asked_sum": In(5),
                "sums": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        stages = self._stages
        paths = [path for path in Path if path != Path.NONE]
        last = max(self._after[path] for path in paths)
        # Slot n is that of the cycle n cycles from now. Behind the last one all are free.
        slots = [Signal(SLOT, name=f"slot_{number}") for number in range(last)]
        after: list[Any] = [*slots[1:], SLOT.const({})]
        nexts = [Signal(SLOT, name=f"next_{number}") for number in range(last)]
        for slot, follower, shifted in zip(slots, nexts, after, strict=True):
            m.d.comb += follower.eq(shifted)
            m.d.sync += slot.eq(follower)

        used = Cat(*(slot.used for slot in slots), 0)
        m.d.comb += self.free.eq(1)
        with m.Switch(self.asks):
            for path in paths:
                with m.Case(path):
                    times = self._times(path)
                    m.d.comb += self.free.eq(~Cat(used[time] for time in times).any())
                    with m.If(self.reserves):
                        self._reserve(m, path, [nexts[time - 1] for time in times])

        late, held = self.late, Signal.like(self.held)
        m.d.comb += [late.ready.eq(~slots[1].used), self.held.eq(held)]
        takes = late.valid & late.ready
        with m.If(takes):
            m.d.comb += [
                nexts[0].used.eq(1),
                nexts[0].writes.eq(1),
                nexts[0].vector.eq(late.payload.vector),
                nexts[0].dst.eq(late.payload.dst),
                nexts[0].path.eq(Path.NONE),
            ]
        m.d.sync += held.eq(late.payload.data)

        # A scalar is taken from the bus at issue; a vector a cycle later, too.
        is_last = ~self._is_written(slots[3:], slots[2].dst)
        m.d.comb += [
            self.writes.eq(slots[0]),
            self.adds.eq(slots[stages]),
            *self._name(self.scalar_ends[0], slots[1], ~slots[1].vector),
            *self._name(self.vector_ends[0], slots[2], slots[2].vector & is_last),
            self.scalar_ends[1].enable.eq(takes & ~late.payload.vector),
            self.vector_ends[1].enable.eq(takes & late.payload.vector),
            self.scalar_ends[1].index.eq(late.payload.dst),
            self.vector_ends[1].index.eq(late.payload.dst),
            self.sums.eq(
                slots[2].path.matches(Path.ADD, Path.MULTIPLY_ADD)
                & self._is_written(slots[2:3], self.asked_sum)
                & ~self._is_written(slots[3:], self.asked_sum)
            ),
            self.comes.eq(
                self._is_written(slots[1 : stages + 2], self.asked)
                & ~self._is_written(slots[stages + 2 :], self.asked)
            ),
        ]
        return m

    def _reserve(self, m: Module, path: Path, slots: list[Any]) -> None:
        """The last of the slots has the result, those before have what a tree adds up."""
        for slot in slots:
            m.d.comb += [
                slot.used.eq(1),
                slot.writes.eq(slot is slots[-1]),
                slot.vector.eq(self.vector),
                slot.dst.eq(self.dst),
                slot.path.eq(Path.ADD if path == Path.TREE else path),
                slot.tree.eq(slot is not slots[0]),
                slot.operation.eq(self.operation),
            ]

    def _times(self, path: Path) -> list[int]:
        """The cycles after issue that the instruction's results take, also those on the way."""
        if path == Path.TREE:
            return [2 + level * self._stages for level in range(1, self._levels + 1)]
        return [self._after[path]]

    @staticmethod
    def _is_written(slots: list[Any], vector: Value) -> Value:
        """Whether vector register ``vector`` is in one of these cycles."""
        found = [slot.writes & slot.vector & (slot.dst == vector) for slot in slots]
        return Cat(found).any() if found else Const(0)

    @staticmethod
    def _name(named: Any, slot: Any, is_wanted: Value) -> list[Any]:
        return [named.enable.eq(slot.writes & is_wanted), named.index.eq(slot.dst)]
