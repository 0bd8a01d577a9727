"""Legal streams into blocks, made up a step at a time, and what has to come out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, enum

from gnarl.hw.sam.token import Kind
from tests.hw.sam.formal.harness import give

WIDTH = 4
"""Bits of payloads, of stops' levels among them."""

_LEVEL = 2
"""Bits of the levels that occur."""

_CRD = 2
"""Bits of the coordinates that two lanes share or not."""

_ITEM = 2
"""Bits that choose an item: those of its payload, and whether it is empty."""


def _item(choice: Value) -> tuple[Value, Value]:
    """Kind and payload of a data token, or an empty one."""
    is_empty = choice[_ITEM - 1]
    return Mux(is_empty, Kind.EMPTY, Kind.DATA), Mux(is_empty, 0, choice[: _ITEM - 1])


class RepeatWalk:
    """References, and repeat signals for each; a stop of the references may come late."""

    class Phase(enum.Enum):
        OUTSIDE = 0
        INSIDE = 1
        BEHIND = 2
        CLOSING = 3
        OVER = 4

    class Act(enum.Enum, shape=2):
        ITEM = 0
        STOP = 1
        LEAVE = 2
        DONE = 3

    choice_bits = 2 + _ITEM

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        phase = Signal(self.Phase)
        kind, payload = _item(choice[2:])
        held_kind, held_payload = Signal(Kind), Signal(WIDTH)
        act = choice[:2]
        level = choice[2 : 2 + _LEVEL]
        closing = Signal(_LEVEL)  # level of a stop of the references that all but they have
        ref, repsig, out = ends["ref"], ends["repsig"], ends["out_ref"]
        is_outside = (phase == self.Phase.OUTSIDE) | (phase == self.Phase.BEHIND)

        with m.If(go & is_outside):
            with m.If(act == self.Act.ITEM):
                give(m, ref, kind, payload)
                m.d.sync += [held_kind.eq(kind), held_payload.eq(payload)]
                m.d.sync += phase.eq(self.Phase.INSIDE)
            with m.Elif((act == self.Act.STOP) & (phase == self.Phase.OUTSIDE)):
                give(m, ref, Kind.STOP, level)
                for end in (repsig, out):
                    give(m, end, Kind.STOP, level + 1)
            with m.Elif(act == self.Act.DONE):
                for end in ends.values():
                    give(m, end, Kind.DONE)
                m.d.sync += phase.eq(self.Phase.OVER)
        with m.Elif(go & (phase == self.Phase.INSIDE)):
            with m.If(act == self.Act.ITEM):
                give(m, repsig, Kind.DATA)
                give(m, out, held_kind, held_payload)
            with m.Elif(act == self.Act.LEAVE):
                for end in (repsig, out):
                    give(m, end, Kind.STOP, level)
                m.d.sync += closing.eq(level - 1)
                m.d.sync += phase.eq(Mux(level == 0, self.Phase.BEHIND, self.Phase.CLOSING))
        with m.Elif(go & (phase == self.Phase.CLOSING)):
            give(m, ref, Kind.STOP, closing)
            m.d.sync += phase.eq(self.Phase.OUTSIDE)
        # What all but the references have must not wait for them.
        return (phase == self.Phase.OVER) | (phase == self.Phase.CLOSING)


class JoinWalk:
    """Two lanes of coordinates that ascend in each fiber, and references beside them."""

    def __init__(self, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        layout = data.StructLayout(
            {"act": 2, "lanes": 2, "crd": _CRD, "ref0": _ITEM, "ref1": _ITEM}
        )
        self._layout = layout
        self.choice_bits = layout.size

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        choice = data.View(self._layout, choice)
        is_over = Signal()
        has_any = Signal()  # of this fiber; the last one's coordinate is ``last``
        last = Signal(_CRD)
        outs = [ends[name] for name in ("out_crd", "out_ref0", "out_ref1")]
        lanes = [choice.lanes[lane] for lane in range(2)]
        refs = [_item(choice[f"ref{lane}"]) for lane in range(2)]

        with m.If(go & ~is_over):
            with m.Switch(choice.act):
                with m.Case(0):
                    with m.If((choice.crd > last) | ~has_any):
                        for lane in range(2):
                            with m.If(lanes[lane]):
                                give(m, ends[f"crd{lane}"], Kind.DATA, choice.crd)
                                give(m, ends[f"ref{lane}"], *refs[lane])
                        kept = lanes[0] | lanes[1] if self._keeps_all else lanes[0] & lanes[1]
                        with m.If(kept):
                            give(m, outs[0], Kind.DATA, choice.crd)
                            for lane in range(2):
                                kind, payload = refs[lane]
                                kind = Mux(lanes[lane], kind, Kind.EMPTY)
                                give(m, outs[1 + lane], kind, Mux(lanes[lane], payload, 0))
                        m.d.sync += [last.eq(choice.crd), has_any.eq(1)]
                with m.Case(1):
                    for end in ends.values():
                        give(m, end, Kind.STOP, choice.crd)
                    m.d.sync += has_any.eq(0)
                with m.Case(2):
                    with m.If(~has_any):
                        for end in ends.values():
                            give(m, end, Kind.DONE)
                        m.d.sync += is_over.eq(1)
        return is_over


class ReduceWalk:
    """Fibers of four-bit numbers to sum up, and perhaps the coordinates around them."""

    class Phase(enum.Enum):
        OUTSIDE = 0
        INSIDE = 1
        STOPPING = 2
        OVER = 3

    class Act(enum.Enum, shape=2):
        VALUE = 0
        STOP = 1
        OPEN = 2
        DONE = 3

    choice_bits = 2 + _ITEM

    def __init__(self, has_crd: bool) -> None:
        self._has_crd = has_crd

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        phase = Signal(self.Phase, init=self.Phase.OUTSIDE if self._has_crd else self.Phase.INSIDE)
        act = choice[:2]
        kind, payload = _item(choice[2:])
        level = choice[2 : 2 + _LEVEL]
        total = Signal(WIDTH)
        has_any = Signal()
        stop_level = Signal(_LEVEL)
        val, out = ends["val"], ends["out_val"]
        between = self.Phase.OUTSIDE if self._has_crd else self.Phase.INSIDE

        with m.If(phase == self.Phase.STOPPING):
            give(m, out, Kind.STOP, stop_level)
            m.d.sync += phase.eq(between)
        with m.Elif(go & (phase == self.Phase.INSIDE) & (act == self.Act.VALUE)):
            give(m, val, kind, payload)
            m.d.sync += [total.eq(total + payload), has_any.eq(1)]
        with m.Elif(go & (phase == self.Phase.INSIDE) & (act == self.Act.STOP)):
            give(m, val, Kind.STOP, level)
            give(m, out, Kind.DATA, total)
            m.d.sync += [total.eq(0), has_any.eq(0), phase.eq(between)]
            with m.If(level != 0):
                if self._has_crd:
                    give(m, ends["crd"], Kind.STOP, level - 1)
                m.d.sync += [stop_level.eq(level - 1), phase.eq(self.Phase.STOPPING)]
        if self._has_crd:
            crd = ends["crd"]
            with m.Elif(go & (phase == self.Phase.OUTSIDE) & (act == self.Act.OPEN)):
                give(m, crd, kind, payload)
                m.d.sync += phase.eq(self.Phase.INSIDE)
            with m.Elif(go & (phase == self.Phase.OUTSIDE) & (act == self.Act.STOP)):
                give(m, crd, Kind.STOP, level)
                give(m, val, Kind.STOP, level + 1)
                give(m, out, Kind.STOP, level)
        with m.Elif(go & (phase == between) & ~has_any & (act == self.Act.DONE)):
            for end in ends.values():
                give(m, end, Kind.DONE)
            m.d.sync += phase.eq(self.Phase.OVER)
        return phase == self.Phase.OVER


class CrdDropWalk:
    """Coordinates, and a fiber of inner ones for each."""

    class Phase(enum.Enum):
        OUTSIDE = 0
        INSIDE = 1
        OVER = 2

    class Act(enum.Enum, shape=2):
        ITEM = 0
        STOP = 1
        DONE = 2

    choice_bits = 2 + _ITEM

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        phase = Signal(self.Phase)
        act = choice[:2]
        kind, payload = _item(choice[2:])
        level = choice[2 : 2 + _LEVEL]
        held = Signal(WIDTH)
        has_any = Signal()
        outer, inner = ends["outer"], ends["inner"]
        out_outer, out_inner = ends["out_outer"], ends["out_inner"]

        with m.If(go & (phase == self.Phase.OUTSIDE)):
            with m.If(act == self.Act.ITEM):
                give(m, outer, Kind.DATA, payload)
                m.d.sync += [held.eq(payload), has_any.eq(0), phase.eq(self.Phase.INSIDE)]
            with m.Elif(act == self.Act.STOP):
                for end in (outer, out_outer):
                    give(m, end, Kind.STOP, level)
                for end in (inner, out_inner):
                    give(m, end, Kind.STOP, level + 1)
            with m.Elif(act == self.Act.DONE):
                for end in ends.values():
                    give(m, end, Kind.DONE)
                m.d.sync += phase.eq(self.Phase.OVER)
        with m.Elif(go & (phase == self.Phase.INSIDE)):
            with m.If(act == self.Act.ITEM):
                for end in (inner, out_inner):
                    give(m, end, kind, payload)
                with m.If(~has_any):
                    give(m, out_outer, Kind.DATA, held)
                m.d.sync += has_any.eq(1)
            with m.Elif(act == self.Act.STOP):
                for end in (inner, out_inner):
                    give(m, end, Kind.STOP, level)
                with m.If(level != 0):
                    for end in (outer, out_outer):
                        give(m, end, Kind.STOP, level - 1)
                m.d.sync += phase.eq(self.Phase.OUTSIDE)
        return phase == self.Phase.OVER


class ValSerializerWalk:
    """Coordinates that are dealt to two lanes, and a value for each, and for each empty token that
    is dealt in front of a stop."""

    class Phase(enum.Enum):
        BETWEEN = 0
        OPEN = 1
        STOPPING = 2
        OVER = 3

    class Act(enum.Enum, shape=2):
        ITEM = 0
        STOP = 1
        DONE = 2

    choice_bits = 2 + _ITEM

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        phase = Signal(self.Phase)
        act = choice[:2]
        kind, payload = _item(choice[2:])
        level, held = choice[2 : 2 + _LEVEL], Signal(_LEVEL)
        turn = Signal()  # the lane of the next unit
        open_lanes = Signal(2)  # those whose last unit had no stop
        crd, out = ends["crd"], ends["out_val"]

        def ends_unit(stop_level: Value, lane: Value) -> None:
            for end in (crd, out):
                give(m, end, Kind.STOP, stop_level)
            for place in range(2):
                with m.If(lane == place):
                    give(m, ends[f"i{place}"], Kind.STOP, stop_level)
                    m.d.sync += open_lanes[place].eq(0)
            m.d.sync += phase.eq(self.Phase.BETWEEN)

        with m.If(go & (phase == self.Phase.STOPPING)):
            ends_unit(held, turn)
            m.d.sync += turn.eq(~turn)
        with m.Elif(go & (phase != self.Phase.OVER)):
            with m.If(act == self.Act.ITEM):
                give(m, crd, Kind.DATA, choice)
                give(m, out, kind, payload)
                for place in range(2):
                    with m.If(turn == place):
                        give(m, ends[f"i{place}"], kind, payload)
                        m.d.sync += open_lanes[place].eq(1)
                m.d.sync += [turn.eq(~turn), phase.eq(self.Phase.OPEN)]
            with m.Elif((act == self.Act.STOP) & (phase == self.Phase.OPEN)):
                ends_unit(level, ~turn)
            with m.Elif((act == self.Act.STOP) & open_lanes.bit_select(turn, 1)):
                for place in range(2):
                    with m.If(turn == place):
                        give(m, ends[f"i{place}"], kind, payload)
                m.d.sync += [held.eq(level), phase.eq(self.Phase.STOPPING)]
            with m.Elif(act == self.Act.STOP):
                ends_unit(level, turn)
                m.d.sync += turn.eq(~turn)
            with m.Elif((act == self.Act.DONE) & (phase == self.Phase.BETWEEN)):
                for end in ends.values():
                    give(m, end, Kind.DONE)
                m.d.sync += phase.eq(self.Phase.OVER)
        return phase == self.Phase.OVER


class CrdParallelizerWalk:
    """Coordinates, some of them empty, and an item for each, which the last bit deals to two
    lanes."""

    def __init__(self) -> None:
        self._layout = data.StructLayout(
            {"act": 2, "level": _LEVEL, "crd": _CRD, "is_empty": 1, "item": _ITEM}
        )
        self.choice_bits = self._layout.size

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        choice = data.View(self._layout, choice)
        is_over = Signal()
        kind, payload = _item(choice.item)

        with m.If(go & ~is_over):
            with m.Switch(choice.act):
                with m.Case(0):
                    give(m, ends["i"], kind, payload)
                    with m.If(choice.is_empty):
                        give(m, ends["crd"], Kind.EMPTY)
                    with m.Else():
                        give(m, ends["crd"], Kind.DATA, choice.crd)
                    with m.If(choice.crd[0] & ~choice.is_empty):
                        give(m, ends["o1"], kind, payload)
                    with m.Else():
                        give(m, ends["o0"], kind, payload)
                with m.Case(1):
                    for end in ends.values():
                        give(m, end, Kind.STOP, choice.level)
                with m.Case(2):
                    for end in ends.values():
                        give(m, end, Kind.DONE)
                    m.d.sync += is_over.eq(1)
        return is_over


class FoldWalk:
    """Blocks of two words, any stops between them, and the sums of their words."""

    class Act(enum.Enum, shape=2):
        BLOCK = 0
        EMPTY = 1
        STOP = 2
        DONE = 3

    choice_bits = 2 + 2 * WIDTH

    def build(self, m: Module, go: Signal, choice: Signal, ends: dict[str, Any]) -> Any:
        is_over = Signal()
        val, out, block = ends["val"], ends["out_val"], choice[2:]
        level = block[:_LEVEL]
        with m.If(go & ~is_over):
            with m.Switch(choice[:2]):
                with m.Case(self.Act.BLOCK):
                    give(m, val, Kind.DATA, block)
                    give(m, out, Kind.DATA, (block[:WIDTH] + block[WIDTH:])[:WIDTH])
                with m.Case(self.Act.EMPTY):
                    give(m, val, Kind.EMPTY)
                    give(m, out, Kind.DATA, 0)
                with m.Case(self.Act.STOP):
                    for end in (val, out):
                        give(m, end, Kind.STOP, level)
                with m.Case(self.Act.DONE):
                    for end in (val, out):
                        give(m, end, Kind.DONE)
                    m.d.sync += is_over.eq(1)
        return is_over
