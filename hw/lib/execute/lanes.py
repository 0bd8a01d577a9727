"""All lanes, the tree between them, and the results that they give."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.lib.execute.decoded import Path
from gnarl.hw.lib.execute.lane import Lane
from gnarl.hw.lib.execute.result_bus import SLOT


class Lanes(wiring.Component):
    """A ``Lane`` for each word of vectors. Scalars are those of lane 0.

    Members
    -------
    opcode, place, left, right, mask
        in: an instruction, its operands and its mask; ``place``: the lane that ``EXTRACT`` takes.
    adds, addends
        in: the slot of the ``ResultBus`` that adders work for now; what they add to products.
    sums
        in: each adder's own result stands in for ``left``.
    writes, held
        in: the slot of this cycle, and the words of results that do not come from lanes.
    is_true
        out: what comparison finds, in the same cycle.
    value
        out: the words that are written in this cycle.
    """

    def __init__(self, lanes: int, stages: int) -> None:
        self._lanes = lanes
        self._stages = stages
        words = data.ArrayLayout(32, lanes)
        super().__init__(
            {
                "opcode": In(Opcode),
                "place": In(range(lanes)),
                "left": In(words),
                "right": In(words),
                "mask": In(lanes),
                "adds": In(SLOT),
                "addends": In(words),
                "sums": In(1),
                "writes": In(SLOT),
                "held": In(words),
                "is_true": Out(lanes),
                "value": Out(words),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = [Lane(self._stages) for _ in range(self._lanes)]
        is_product = self.adds.path == Path.MULTIPLY_ADD
        for number, lane in enumerate(lanes):
            m.submodules[f"lane_{number}"] = lane
            left, right = self.left[number], self.right[number]
            m.d.comb += [
                lane.opcode.eq(self.opcode),
                lane.a.eq(left),
                lane.b.eq(right),
                lane.chosen.eq(self.mask[number]),
                lane.operation.eq(self.adds.operation),
                lane.left.eq(Mux(self.sums, lane.total, Mux(is_product, lane.multiplied, left))),
                lane.right.eq(Mux(is_product, self.addends[number], right)),
                self.is_true[number].eq(lane.is_true),
            ]
        for pair in range(self._lanes // 4):
            with m.If(self.adds.tree):
                m.d.comb += [
                    lanes[pair].left.eq(lanes[2 * pair].total),
                    lanes[pair].right.eq(lanes[2 * pair + 1].total),
                ]

        # Of EXTRACT, lane 0's integer unit makes 0.
        extracted = Signal(32)
        is_extract = self.opcode == Opcode.EXTRACT
        m.d.sync += extracted.eq(Mux(is_extract, Array(self.left)[self.place], 0))
        for number, lane in enumerate(lanes):
            value = self.value[number]
            with m.Switch(self.writes.path):
                with m.Case(Path.NONE):
                    m.d.comb += value.eq(self.held[number])
                with m.Case(Path.INTEGER):
                    m.d.comb += value.eq(lane.integer if number else lane.integer | extracted)
                with m.Case(Path.MULTIPLY):
                    m.d.comb += value.eq(lane.multiplied)
                with m.Case(Path.CONVERT):
                    m.d.comb += value.eq(lane.converted)
                with m.Case(Path.PRODUCT):
                    m.d.comb += value.eq(lane.product)
                with m.Default():
                    m.d.comb += value.eq(lane.total)
        return m
