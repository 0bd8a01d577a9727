"""Loads and stores under way."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_times import WAITING
from gnarl.hw.lib.execute.result_bus import result_layout
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.lib.lines.lane_port import LanePort, lane_request
from gnarl.hw.lib.stream.queue import Queue


class LoadStore(wiring.Component):
    """Gives loads their tags, and requests to the port, in order; results come in any order.

    Loads without lanes come back from here; stores and prefetches without lanes do nothing.

    Parameters: ``address_bits`` of words; ``lanes``; ``loads``, at most, under way.

    Members
    -------
    begins, begins_load
        in: a request will come, in a later cycle; that of a load will have the ``tag``, out, of
        this cycle. ``has_room``, ``has_tag`` out: it may.
    comes, request, dst, vector
        in: a request, and a load's register.
    port
        out: a ``LanePort``.
    result
        out: a stream of ``result_layout``. Lanes not loaded are 0.
    idle
        out: the port has taken all requests, and results of loads without lanes are taken.
    """

    def __init__(self, address_bits: int, lanes: int, loads: int) -> None:
        self._loads = loads
        self._lanes = lanes
        tag_bits = max(1, (loads - 1).bit_length())
        self._request = lane_request(address_bits, lanes, tag_bits)
        super().__init__(
            {
                "begins": In(1),
                "begins_load": In(1),
                "has_room": Out(1),
                "has_tag": Out(1),
                "tag": Out(tag_bits),
                "comes": In(1),
                "request": In(self._request),
                "dst": In(unsigned(5)),
                "vector": In(1),
                "port": Out(LanePort(address_bits, lanes, tag_bits)),
                "result": Out(stream.Signature(result_layout(lanes))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Queue(self._request, WAITING)
        request, response, result = self.port.request, self.port.response, self.result
        head = waiting.o.payload
        is_empty, is_load = head.lanes == 0, ~head.write & ~head.prefetch
        returns = Signal()
        m.d.comb += [
            waiting.i.valid.eq(self.comes),
            waiting.i.payload.eq(self.request),
            request.valid.eq(waiting.o.valid & ~is_empty),
            request.payload.eq(head),
            returns.eq(waiting.o.valid & is_empty & is_load),
            waiting.o.ready.eq(
                Mux(is_empty, Mux(is_load, result.ready, 1), request.ready),
            ),
        ]
        count = Signal(range(WAITING + 1))
        leaves = waiting.o.valid & waiting.o.ready
        m.d.sync += count.eq(count + self.begins - leaves)
        m.d.comb += [self.has_room.eq(count != WAITING), self.idle.eq(count == 0)]

        # What becomes of a load, by its tag.
        place = data.StructLayout({"dst": 5, "vector": 1, "lanes": self._lanes})
        places = Array(Signal(place, name=f"load_{tag}") for tag in range(self._loads))
        at, tag = Signal(place), Signal.like(self.tag)
        m.d.comb += [
            tag.eq(Mux(returns, head.tag, response.payload.tag)),
            at.eq(Array(each.as_value() for each in places)[tag]),
            result.valid.eq(response.valid | returns),
            result.payload.dst.eq(at.dst),
            result.payload.vector.eq(at.vector),
            response.ready.eq(result.ready & ~returns),
        ]
        for lane in range(self._lanes):
            word = Mux(at.lanes[lane], response.payload.data[lane], 0)
            m.d.comb += result.payload.data[lane].eq(word)
        for number, each in enumerate(places):
            with m.If(self.comes & (self.request.tag == number)):
                is_read = ~self.request.write & ~self.request.prefetch
                with m.If(is_read):
                    m.d.sync += [
                        each.dst.eq(self.dst),
                        each.vector.eq(self.vector),
                        each.lanes.eq(self.request.lanes),
                    ]

        taken = Signal(self._loads)
        chosen = lowest_one(~taken)
        ended = Mux(result.valid & result.ready, 1 << tag, 0)[: self._loads]
        m.d.comb += [self.has_tag.eq(~taken.all()), self.tag.eq(position(chosen))]
        m.d.sync += taken.eq((taken | Mux(self.begins_load, chosen, 0)) & ~ended)
        return m
