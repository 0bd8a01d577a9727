"""A block among streams of which nothing is known but that they are legal."""

from __future__ import annotations

from typing import Any, Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.sam.token import token_stream

_INPUT_ROOM = 2
_OUTPUT_ROOM = 4
_PATIENCE = 10


class Walk(Protocol):
    """Makes up legal streams, a step at a time, and what the block has to make of them.

    ``choice_bits``: how much there is to choose in a step. ``build``: puts into ``m`` what a step
    does, which takes place where ``go`` is 1; and returns whether all of it must go through, even
    if nothing else comes.
    """

    choice_bits: int

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any: ...


class Source(wiring.Component):
    """Tokens on their way to an input, as far as ``pause`` lets them go.

    Members: ``push``, ``token`` in: one more; ``has_room``, ``is_empty`` out; ``o``.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        super().__init__(
            {
                "push": In(1),
                "token": In(token_stream(width).members["payload"].shape),
                "pause": In(1),
                "has_room": Out(1),
                "is_empty": Out(1),
                "o": Out(token_stream(width)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Waiting(len(self.token.as_value()), _INPUT_ROOM)
        offered = Signal()
        valid = ~waiting.is_empty & (offered | ~self.pause)
        m.d.sync += offered.eq(valid & ~self.o.ready)
        m.d.comb += [
            waiting.push.eq(self.push),
            waiting.item.eq(self.token),
            waiting.pop.eq(valid & self.o.ready),
            self.has_room.eq(waiting.room != 0),
            self.is_empty.eq(waiting.is_empty),
            self.o.valid.eq(valid),
            self.o.payload.eq(waiting.head),
        ]
        return m


class Expected(wiring.Component):
    """Tokens that an output has to give, in order, and whether it does.

    Members: ``push``, ``token`` in: one more; ``has_room`` out, for two; ``is_empty`` out; ``i``;
    ``ready`` in: whether ``i`` is taken; ``is_wrong`` out: another token than the next one, or one
    too early; ``is_unstable`` out: what was not taken is gone.
    """

    def __init__(self, width: int) -> None:
        super().__init__(
            {
                "push": In(1),
                "token": In(token_stream(width).members["payload"].shape),
                "ready": In(1),
                "has_room": Out(1),
                "is_empty": Out(1),
                "i": In(token_stream(width)),
                "is_wrong": Out(1),
                "is_unstable": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        token = self.i.payload.as_value()
        m.submodules.waiting = waiting = Waiting(len(token), _OUTPUT_ROOM)
        was_there = Signal()
        before = Signal(len(token))
        m.d.sync += [was_there.eq(self.i.valid & ~self.i.ready), before.eq(token)]
        m.d.comb += [
            self.i.ready.eq(self.ready),
            waiting.push.eq(self.push),
            waiting.item.eq(self.token),
            waiting.pop.eq(self.i.valid & self.ready & ~waiting.is_empty),
            self.has_room.eq(waiting.room >= 2),
            self.is_empty.eq(waiting.is_empty),
            self.is_wrong.eq(self.i.valid & (waiting.is_empty | (token != waiting.head))),
            self.is_unstable.eq(was_there & (~self.i.valid | (token != before))),
        ]
        return m


class Waiting(wiring.Component):
    """A queue of ``room`` items. Members: ``push``, ``item``, ``pop`` in; ``head`` out."""

    def __init__(self, width: int, room: int) -> None:
        self._width = width
        self._room = room
        super().__init__(
            {
                "push": In(1),
                "item": In(width),
                "pop": In(1),
                "head": Out(width),
                "is_empty": Out(1),
                "room": Out(range(room + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        items = [Signal(self._width, name=f"item_{place}") for place in range(self._room)]
        count = Signal(range(self._room + 1))
        left = count - self.pop
        m.d.sync += count.eq(left + self.push)
        for place, item in enumerate(items):
            above = items[place + 1] if place + 1 < self._room else Const(0, self._width)
            m.d.sync += item.eq(
                Mux(self.push & (left == place), self.item, Mux(self.pop, above, item))
            )
        m.d.comb += [
            self.head.eq(items[0]),
            self.is_empty.eq(count == 0),
            self.room.eq(self._room - count),
        ]
        return m


class Harness(wiring.Component):
    """Outputs that a proof has to show are never 1: what ``block`` may do to nobody.

    Members: ``go``, ``choice`` in: whether a step is made, and which; ``pause_INPUT``,
    ``ready_OUTPUT`` in; ``is_wrong_OUTPUT``, ``is_unstable_OUTPUT``, ``has_fault`` out;
    ``is_stuck`` out: all has come and everything is ready, but something is missing for long.
    """

    def __init__(self, block: wiring.Component, walk: Walk) -> None:
        self._block = block
        self._walk = walk
        streams = {
            name: member
            for name, member in block.signature.members.items()
            if member.is_signature and isinstance(member.signature, stream.Signature)
        }
        self._sources = [name for name, member in streams.items() if member.flow is In]
        self._expected = [name for name, member in streams.items() if member.flow is Out]
        super().__init__(
            {"go": In(1), "choice": In(walk.choice_bits), "has_fault": Out(1), "is_stuck": Out(1)}
            | {f"pause_{name}": In(1) for name in self._sources}
            | {f"ready_{name}": In(1) for name in self._expected}
            | {f"is_wrong_{name}": Out(1) for name in self._expected}
            | {f"is_unstable_{name}": Out(1) for name in self._expected}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.block = block = self._block
        ends: dict[str, Any] = {}
        for name in self._sources:
            port = getattr(block, name)
            ends[name] = m.submodules[name] = Source(len(port.payload.payload))
            m.d.comb += ends[name].pause.eq(getattr(self, f"pause_{name}"))
            wiring.connect(m, ends[name].o, port)
        for name in self._expected:
            port = getattr(block, name)
            ends[name] = m.submodules[name] = Expected(len(port.payload.payload))
            wiring.connect(m, port, ends[name].i)
            m.d.comb += [
                ends[name].ready.eq(getattr(self, f"ready_{name}")),
                getattr(self, f"is_wrong_{name}").eq(ends[name].is_wrong),
                getattr(self, f"is_unstable_{name}").eq(ends[name].is_unstable),
            ]
        go = Signal()
        m.d.comb += go.eq(self.go & Cat(end.has_room for end in ends.values()).all())
        is_over = self._walk.build(m, go, self.choice, ends)
        if hasattr(block, "fault"):
            m.d.comb += self.has_fault.eq(block.fault)

        patience = Signal(range(_PATIENCE + 1))
        all_ready = Cat(getattr(self, f"ready_{name}") for name in self._expected).all()
        any_pause = Cat(getattr(self, f"pause_{name}") for name in self._sources).any()
        all_empty = Cat(end.is_empty for end in ends.values()).all()
        with m.If(is_over & all_ready & ~any_pause):
            with m.If(patience != _PATIENCE):
                m.d.sync += patience.eq(patience + 1)
        with m.Else():
            m.d.sync += patience.eq(0)
        m.d.comb += self.is_stuck.eq(is_over & (patience == _PATIENCE) & ~all_empty)
        return m


def give(m: Module, end: Any, kind: Any, payload: Any = 0) -> None:
    """One more token, in this condition, on its way to an input or expected from an output."""
    m.d.comb += [end.push.eq(1), end.token.kind.eq(kind), end.token.payload.eq(payload)]
