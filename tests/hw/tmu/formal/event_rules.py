"""A marshaller on a nest of two loops, and rules about what it puts into the queues."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.tmu.access.marshaller import Marshaller
from gnarl.hw.tmu.access_isa import EVENT, LAYER, Event, EventKind, Mode

LANES = 2
MOST = 2
"""Iterations of a loop, at most."""

_ROWS = 8
_SLOTS = 2
_ROOM = 2
"""Of words and of tokens in the queues."""

_PATIENCE = 5
"""Cycles without hindrance in which something is put."""

RULES = ("wrong_token", "wrong_word", "unread", "overflow", "stuck", "wrong_end")

MUTATIONS = {
    "hurries": "unread",
    "overflows": "overflow",
    "flattens": "wrong_token",
    "repeats": "wrong_word",
    "waits": "stuck",
}
"""What is told to the marshaller that is not so, and the rule that breaks: all words have arrived;
there is room for one more; there is one layer; queues have one slot; there is no room for tokens.
"""


class _Next(enum.Enum, shape=4):
    """What comes next: tokens where loops begin and end; a word and a token of each iteration."""

    OUTER_BEGIN = 1
    OUTER_WORD = 2
    OUTER_TOKEN = 3
    INNER_BEGIN = 4
    INNER_WORD = 5
    INNER_TOKEN = 6
    INNER_END = 7
    OUTER_END = 8
    NOTHING = 9


_STEPS = (
    {
        Event.BEGIN: [_Next.OUTER_BEGIN],
        Event.ITERATION: [_Next.OUTER_WORD, _Next.OUTER_TOKEN],
        Event.END: [_Next.OUTER_END],
    },
    {
        Event.BEGIN: [_Next.INNER_BEGIN],
        Event.ITERATION: [_Next.INNER_WORD, _Next.INNER_TOKEN],
        Event.END: [_Next.INNER_END],
    },
)
_WORDS = {_Next.OUTER_WORD: 0, _Next.INNER_WORD: 1}
"""Layers, of whose stream each is."""


class EventRules(wiring.Component):
    """Loops of any lengths up to ``MOST``, whose layers are as far ahead as they like to be, with
    words that arrive and queues that have room whenever they like to.

    Parameters: ``mutation``, of ``MUTATIONS`` or none.

    Members: ``outer``, ``inner`` in: lengths, in the first cycle; ``offers``, of each layer, that
    its next step is there; ``arrived``, of each lane; ``takes``, ``takes_token``: a word or token
    leaves its queue, which holds ``_ROOM``. Out: whether a rule is broken. ``wrong_token``,
    ``wrong_word``: another than what the nest comes by next, of the word's row and phase;
    ``unread``: a word that had not arrived; ``overflow``: more than there was room for; ``stuck``:
    nothing comes though all is there; ``wrong_end``: it is done before the nest is, or has not
    given all slots back.
    """

    def __init__(self, mutation: str = "") -> None:
        self._mutation = mutation
        inputs = {"outer": 2, "inner": 2 * MOST, "offers": 2, "arrived": LANES}
        inputs |= {"takes": 1, "takes_token": 1}
        super().__init__(
            {name: In(width) for name, width in inputs.items()} | {name: Out(1) for name in RULES}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.marshaller = unit = Marshaller(2, LANES, _ROWS, 1, 4, 4)
        self._program(m, unit)
        is_first = Signal(init=1)
        m.d.sync += is_first.eq(0)
        outer = Signal(2)
        inner = [Signal(2, name=f"inner_{number}") for number in range(MOST)]
        with m.If(is_first):
            m.d.sync += outer.eq(Mux(self.outer > MOST, MOST, self.outer))
            for number, length in enumerate(inner):
                given = self.inner[2 * number : 2 * number + 2]
                m.d.sync += length.eq(Mux(given > MOST, MOST, given))
        self._offer(m, unit, is_first, outer, inner)
        room, token_room = (Signal(2, init=_ROOM, name=name) for name in ("room", "token_room"))
        for left, taken, given in (
            (room, self.takes, unit.put),
            (token_room, self.takes_token, unit.token.valid),
        ):
            m.d.sync += left.eq(left - given + (taken & (left != _ROOM)))
        read_row, read_phase, was_arrived = Signal(range(_ROWS)), Signal(), Signal()
        m.d.sync += [
            read_row.eq(unit.back.row),
            read_phase.eq(unit.back.phase),
            was_arrived.eq(unit.back.enable & self.arrived[0]),
        ]
        m.d.comb += [
            unit.back.arrived.eq(~0 if self._mutation == "hurries" else self.arrived),
            unit.back.data[0].eq(Cat(read_row, read_phase)),
            unit.room.eq(room + (self._mutation == "overflows")),
            unit.token_room.eq(Mux(self._mutation == "waits", 0, token_room)),
            unit.token.ready.eq(1),
        ]
        self._follow(m, unit, is_first, outer, inner)

        quiet = Signal(range(_PATIENCE + 1))
        is_free = self.arrived.all() & self.offers.all() & self.takes & self.takes_token
        with m.If(is_first | ~is_free | unit.put | unit.token.valid | unit.done):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != _PATIENCE):
            m.d.sync += quiet.eq(quiet + 1)
        m.d.comb += [
            self.unread.eq(unit.put & ~was_arrived),
            self.overflow.eq((unit.put & (room == 0)) | (unit.token.valid & (token_room == 0))),
            self.stuck.eq(quiet == _PATIENCE),
        ]
        return m

    def _program(self, m: Module, unit: Marshaller) -> None:
        number = 0
        for place, events in enumerate(_STEPS):
            steps = [{"first": 0, "count": 0} for _ in Event]
            for event, items in events.items():
                steps[event.value] = {"first": number, "count": len(items)}
                for item in items:
                    kind = EventKind.WORD if item in _WORDS else EventKind.TOKEN
                    row = {"kind": kind, "layer": place, "token": item.value}
                    m.d.comb += unit.events[number].eq(EVENT.const(row))
                    number += 1
            slots = 1 if self._mutation == "repeats" else _SLOTS
            row = {"mode": Mode.SINGLE, "units": 1, "slots": slots, "steps": steps}
            m.d.comb += [
                unit.layers[place].eq(LAYER.const(row)),
                unit.queues[place][0].eq(_row(place, 0)),
            ]
        m.d.comb += unit.depth.eq(1 if self._mutation == "flattens" else 2)

    def _offer(
        self, m: Module, unit: Marshaller, is_first: Signal, outer: Signal, inner: list[Signal]
    ) -> None:
        """The steps of both layers, each as far ahead as it likes."""
        at = [Signal(2, name=f"at_{place}") for place in range(2)]
        loop = Signal(2)  # of the inner ones
        over = Signal()
        is_end = [at[0] == outer, at[1] == Array(inner)[loop]]
        is_there = [~over, loop < outer]
        for place, steps in enumerate(unit.steps):
            offered = Signal(name=f"offered_{place}")
            m.d.sync += offered.eq(steps.valid & ~steps.ready)
            m.d.comb += [
                steps.valid.eq(is_there[place] & ~is_first & (self.offers[place] | offered)),
                steps.payload.is_end.eq(is_end[place]),
                steps.payload.lanes.eq(Mux(is_end[place], 0, 1)),
            ]
            with m.If(steps.valid & steps.ready):
                m.d.sync += at[place].eq(Mux(is_end[place], 0, at[place] + 1))
                with m.If(is_end[place]):
                    m.d.sync += loop.eq(loop + 1) if place else over.eq(1)

    def _follow(
        self, m: Module, unit: Marshaller, is_first: Signal, outer: Signal, inner: list[Signal]
    ) -> None:
        """What comes, beside what has to."""
        expected = Signal(_Next, init=_Next.OUTER_BEGIN)
        i, j = Signal(2), Signal(2)
        counts = [Signal(3, name=f"count_{place}") for place in range(2)]
        slots = [Signal(3, name=f"released_{place}") for place in range(2)]
        length = Array(inner)[i]
        is_word = (expected == _Next.OUTER_WORD) | (expected == _Next.INNER_WORD)
        wanted = Signal(range(2 * _ROWS))
        m.d.comb += wanted.eq(
            Mux(expected == _Next.OUTER_WORD, _read(0, counts[0]), _read(1, counts[1]))
        )
        token = unit.token
        m.d.comb += [
            self.wrong_token.eq(token.valid & (is_word | (token.payload != expected.as_value()))),
            self.wrong_word.eq(unit.put & (~is_word | (unit.put_data[0] != wanted))),
        ]
        for place in range(2):
            with m.If(unit.release[place]):
                m.d.sync += slots[place].eq(slots[place] + 1)
        all_back = Cat(count == slot for count, slot in zip(counts, slots, strict=True)).all()
        m.d.comb += self.wrong_end.eq(unit.done & ((expected != _Next.NOTHING) | ~all_back))

        behind_inner = Mux(j + 1 < length, _Next.INNER_WORD, _Next.INNER_END)
        with m.If(unit.put | token.valid):
            with m.Switch(expected):
                with m.Case(_Next.OUTER_BEGIN):
                    m.d.sync += expected.eq(Mux(outer == 0, _Next.OUTER_END, _Next.OUTER_WORD))
                with m.Case(_Next.OUTER_WORD):
                    m.d.sync += [expected.eq(_Next.OUTER_TOKEN), counts[0].eq(counts[0] + 1)]
                with m.Case(_Next.OUTER_TOKEN):
                    m.d.sync += expected.eq(_Next.INNER_BEGIN)
                with m.Case(_Next.INNER_BEGIN):
                    m.d.sync += j.eq(0)
                    m.d.sync += expected.eq(Mux(length == 0, _Next.INNER_END, _Next.INNER_WORD))
                with m.Case(_Next.INNER_WORD):
                    m.d.sync += [expected.eq(_Next.INNER_TOKEN), counts[1].eq(counts[1] + 1)]
                with m.Case(_Next.INNER_TOKEN):
                    m.d.sync += [expected.eq(behind_inner), j.eq(j + 1)]
                with m.Case(_Next.INNER_END):
                    m.d.sync += i.eq(i + 1)
                    m.d.sync += expected.eq(Mux(i + 1 < outer, _Next.OUTER_WORD, _Next.OUTER_END))
                with m.Case(_Next.OUTER_END):
                    m.d.sync += expected.eq(_Next.NOTHING)


def _row(place: int, slot: int) -> int:
    return place * _SLOTS + slot


def _read(place: int, count: Signal) -> Any:
    """Row and phase of a layer's iteration number ``count``, as a value of what is read."""
    bits = (_SLOTS - 1).bit_length()
    row = Const(_row(place, 0), (_ROWS - 1).bit_length()) + count[:bits]
    return Cat(row[: (_ROWS - 1).bit_length()], ~count[bits])
