"""Several who read and write one memory of lines."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.arbiter import RoundRobin
from gnarl.hw.lib.lines.line_port import LinePort, line_request
from gnarl.hw.lib.select import selected
from gnarl.hw.lib.stream.queue import Queue


class LineMux(wiring.Component):
    """Gives the requests of several line ports to one, in turns; answers go back by their tags.

    Latency: 1 cycle for requests, 0 for answers; a request and an answer a cycle. Requests of one
    port stay in order. A port that doesn't take its answer holds up those behind it.

    Parameters: ``ports``, at least 2; ``line_bits``, ``line_words``, ``tag_bits`` of them.

    Members: ``up0``, ``up1``, … in, ``LinePort``; ``down`` out, whose tags have the port's number
    above the port's own tag. A port is idle only when all are.
    """

    def __init__(self, ports: int, line_bits: int, line_words: int, tag_bits: int) -> None:
        self._ports = ports
        self._tag_bits = tag_bits
        self._number_bits = (ports - 1).bit_length()
        self._request = line_request(line_bits, line_words, tag_bits + self._number_bits)
        up = LinePort(line_bits, line_words, tag_bits)
        down = LinePort(line_bits, line_words, tag_bits + self._number_bits)
        super().__init__({f"up{port}": In(up) for port in range(ports)} | {"down": Out(down)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ports = [getattr(self, f"up{port}") for port in range(self._ports)]
        m.submodules.turns = turns = RoundRobin(self._ports)
        m.submodules.requests = requests = Queue(self._request, 2)
        wiring.connect(m, requests.o, wiring.flipped(self.down.request))
        valid = Cat(port.request.valid for port in ports)
        with m.If(requests.i.ready):
            m.d.comb += turns.requests.eq(valid)
        m.d.comb += requests.i.valid.eq(turns.grant.any())
        for name, _ in self._request:
            if name != "tag":
                m.d.comb += Value.cast(requests.i.payload[name]).eq(
                    selected(
                        (granted, Value.cast(port.request.payload[name]))
                        for granted, port in zip(turns.grant, ports, strict=True)
                    )
                )
        m.d.comb += requests.i.payload.tag.eq(
            selected(
                (granted, Cat(port.request.payload.tag, Const(number, self._number_bits)))
                for number, (granted, port) in enumerate(zip(turns.grant, ports, strict=True))
            )
        )

        response = self.down.response
        its_port = response.payload.tag[self._tag_bits :]
        for number, port in enumerate(ports):
            is_its = its_port == number
            m.d.comb += [
                port.request.ready.eq(turns.grant[number]),
                port.response.valid.eq(response.valid & is_its),
                port.response.payload.tag.eq(response.payload.tag[: self._tag_bits]),
                port.response.payload.data.eq(response.payload.data),
                port.idle.eq(self.down.idle & ~requests.o.valid),
            ]
            with m.If(is_its):
                m.d.comb += response.ready.eq(port.response.ready)
        return m
