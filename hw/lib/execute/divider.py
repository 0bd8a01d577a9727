"""Division and square root."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_times import BITS_PER_CYCLE
from gnarl.hw.lib.execute.result_bus import result_layout
from gnarl.hw.lib.float.div import FloatDivider
from gnarl.hw.lib.float.sqrt import FloatSquareRoot
from gnarl.hw.lib.formats import FLOAT_FORMATS


class Divider(wiring.Component):
    """Quotients of all lanes at once, by a divider each; square roots one lane after the other, by
    one unit. One instruction at a time.

    Latency: from ``begins`` to ``result``, that of a divider; for roots, that of their unit and a
    cycle for each lane, and one.

    Members: ``begins`` in, while not ``busy``, out; ``is_root``, ``vector``, ``dst``, ``a``, ``b``
    in, which need not stay; ``result`` out, a stream of ``result_layout``.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        words = data.ArrayLayout(32, lanes)
        super().__init__(
            {
                "begins": In(1),
                "is_root": In(1),
                "vector": In(1),
                "dst": In(unsigned(5)),
                "a": In(words),
                "b": In(words),
                "busy": Out(1),
                "result": Out(stream.Signature(result_layout(lanes))),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        format, result = FLOAT_FORMATS["float32"], self.result
        dividers = [FloatDivider(format, BITS_PER_CYCLE) for _ in range(self._lanes)]
        m.submodules.square_root = root = FloatSquareRoot(format, BITS_PER_CYCLE)
        is_root = Signal()
        # Operands of roots, until these take their places.
        words = Signal.like(result.payload.data)
        lane, last = Signal(range(self._lanes)), Signal(range(self._lanes))
        has_all = Signal()
        with m.If(self.begins):
            m.d.sync += [
                self.busy.eq(1),
                is_root.eq(self.is_root),
                words.eq(self.a),
                lane.eq(0),
                last.eq(Mux(self.vector, self._lanes - 1, 0)),
                has_all.eq(0),
                result.payload.vector.eq(self.vector),
                result.payload.dst.eq(self.dst),
            ]
        m.d.comb += [
            root.i.valid.eq(self.busy & is_root & ~has_all),
            root.i.payload.eq(Array(words)[lane]),
            root.o.ready.eq(1),
        ]
        with m.If(root.o.valid):
            m.d.sync += [
                Array(words)[lane].eq(root.o.payload),
                lane.eq(lane + 1),
                has_all.eq(lane == last),
            ]
        m.d.comb += result.valid.eq(Mux(is_root, self.busy & has_all, dividers[0].o.valid))
        for number, divider in enumerate(dividers):
            m.submodules[f"divider_{number}"] = divider
            m.d.comb += [
                divider.i.valid.eq(self.begins & ~self.is_root),
                divider.i.payload.dividend.eq(self.a[number]),
                divider.i.payload.divisor.eq(self.b[number]),
                divider.o.ready.eq(result.ready),
                result.payload.data[number].eq(Mux(is_root, words[number], divider.o.payload)),
            ]
        with m.If(result.valid & result.ready):
            m.d.sync += self.busy.eq(0)
        return m
