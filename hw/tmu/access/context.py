"""What a fiber's streams need to know of the layer around, read before the fiber begins."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.tmu.access.steps import SLOT_BITS, SlotCounter, step_layout
from gnarl.hw.tmu.access_isa import STREAM, UNIT, Source


def context_layout(streams: int) -> data.StructLayout:
    """Bounds, and operands a and b of each stream: the immediate's or the parent's values; and
    whether the loop around ends behind it."""
    word = unsigned(32)
    return data.StructLayout(
        {
            "is_last": unsigned(1),
            "lower": word,
            "upper": word,
            "a": data.ArrayLayout(word, streams),
            "b": data.ArrayLayout(word, streams),
        }
    )


class ContextReader(wiring.Component):
    """Reads a fiber's context while the one before is still being traversed.

    An operand a cycle, and two cycles more; operands that are immediates take no time. Each waits
    until its word has arrived.

    Members: ``unit``, ``descriptors`` in: the unit's row and those of its streams, of which
    operands that are the parent's are read; ``around`` in, the parent's rows of streams;
    ``around_slots`` in, its number of slots; ``steps`` in, a stream of the parent's steps;
    ``wants`` out: a word of ``lane``, ``row`` and ``phase``, out, of the parent's ``stream``, is to
    be read; ``granted`` in: it
    has arrived, and is read, so that it is in ``words`` a cycle later; ``context`` out, a stream
    of ``context_layout``; ``ends_around`` out: the loop around ends, behind no iteration.
    """

    def __init__(self, lanes: int, rows: int, streams: int) -> None:
        self._lanes = lanes
        self._streams = streams
        rows_of_streams = data.ArrayLayout(STREAM, streams)
        super().__init__(
            {
                "unit": In(UNIT),
                "descriptors": In(rows_of_streams),
                "around": In(rows_of_streams),
                "around_slots": In(SLOT_BITS),
                "steps": In(stream.Signature(step_layout(lanes))),
                "wants": Out(1),
                "stream": Out(range(streams)),
                "lane": Out(range(lanes)),
                "row": Out(range(rows)),
                "phase": Out(1),
                "granted": In(1),
                "words": In(data.ArrayLayout(unsigned(32), lanes)),
                "context": Out(stream.Signature(context_layout(streams))),
                "ends_around": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        unit = self.unit
        kept = Signal(context_layout(self._streams))
        slot = SlotCounter(m, "around", self.around_slots)
        places = self._places(kept)
        needs = Cat(operand.source == Source.PARENT for operand, _, _ in places)

        done = Signal(len(places))
        to_read = Signal(len(places))
        which = Signal(range(len(places)))
        operand = Signal.like(unit.lower)
        is_full, is_read, is_last = Signal(), Signal(), Signal()
        read = Signal.like(which)
        lane = Signal(range(self._lanes))
        is_iteration = self.steps.valid & self.steps.payload.lanes.any()
        m.d.comb += [
            to_read.eq(needs & ~done),
            which.eq(position(lowest_one(to_read))),
            operand.eq(Array(operand.as_value() for operand, _, _ in places)[which]),
            self.wants.eq(is_iteration & ~is_full & to_read.any()),
            self.stream.eq(operand.stream),
            self.lane.eq(operand.lane),
            self.row.eq(
                slot.row(Array(self.around[n].queue for n in range(self._streams))[operand.stream])
            ),
            self.phase.eq(slot.phase),
        ]
        m.d.sync += is_read.eq(self.granted)
        with m.If(self.granted):
            m.d.sync += [done.eq(done | (Const(1) << which)), read.eq(which), lane.eq(self.lane)]
        word = Array(self.words[each] for each in range(self._lanes))[lane]
        with m.If(is_read):
            with m.Switch(read):
                for place, (_, _, register) in enumerate(places):
                    with m.Case(place):
                        m.d.sync += register.eq(word)

        # All is read: the parent's iteration has given what it has, the last word coming now.
        is_whole = is_iteration & ~is_full & ~to_read.any()
        with m.If(self.context.valid & self.context.ready):
            m.d.sync += is_full.eq(0)
        with m.If(is_whole):
            m.d.sync += [is_full.eq(1), done.eq(0), is_last.eq(self.steps.payload.is_end)]
            slot.advance()
        m.d.comb += [
            self.ends_around.eq(self.steps.valid & ~self.steps.payload.lanes.any() & ~is_full),
            self.steps.ready.eq(is_whole | self.ends_around),
            self.context.valid.eq(is_full),
            self.context.payload.is_last.eq(is_last),
        ]
        self._give(m, needs, places)
        return m

    def _places(self, kept: Any) -> list[tuple[Any, Value, Value]]:
        """Each operand with its immediate and the register of its word."""
        unit, descriptors = self.unit, self.descriptors
        places: list[tuple[Any, Value, Value]] = [
            (unit.lower, unit.lower_immediate, kept.lower),
            (unit.upper, unit.upper_immediate, kept.upper),
        ]
        for number in range(self._streams):
            row = descriptors[number]
            places += [(row.a, row.immediate, kept.a[number])]
            places += [(row.b, row.immediate, kept.b[number])]
        return places

    def _give(self, m: Module, needs: Value, places: list[tuple[Any, Value, Value]]) -> None:
        """Gives each operand's word, or its immediate."""
        fields = [self.context.payload.lower, self.context.payload.upper]
        for number in range(self._streams):
            fields += [self.context.payload.a[number], self.context.payload.b[number]]
        for need, field, (_, immediate, register) in zip(needs, fields, places, strict=True):
            with m.If(need):
                m.d.comb += field.eq(register)
            with m.Else():
                m.d.comb += field.eq(immediate)
