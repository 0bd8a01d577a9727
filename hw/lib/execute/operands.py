"""Operands of instructions, from registers, the data queue and the immediate."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.execute.decoded import DECODED, Path
from gnarl.hw.lib.execute.pending import NAMED
from gnarl.hw.lib.execute.scalar_file import WRITE, ScalarFile
from gnarl.hw.lib.execute.vector_file import VectorFile
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.operation import Operation

_INFINITY = FLOAT_FORMATS["float32"].infinity
_NEUTRAL = {
    Operation.ADD: 0,
    Operation.MAX: _INFINITY | 1 << 31,
    Operation.MIN: _INFINITY,
}


class Operands(wiring.Component):
    """Registers, and their ways to the lanes.

    An instruction is here in the cycle in which it issues. Its scalars are there a cycle later, its
    vectors two, its addend ``stages`` and two. ``TREE`` has both lanes of a pair in one lane: those
    of pair p, which are lane p and the one half of all lanes behind, in the lane whose number has
    the bits of p backwards; so all further pairs are neighbours.

    Members
    -------
    instruction, words
        in: what may issue; the data queue's words.
    second, mask
        in: the instruction of the cycle before, and its mask.
    addend
        in: of ``NAMED``: the register of the instruction ``stages`` cycles before, if it is one.
    at_once
        in: of ``WRITE``: a scalar register is written in the stage after issue.
    writes, vector, dst, value
        in: what is written from the result bus.
    a, b, c
        out: scalars, or whatever stands for all lanes.
    left, right
        out: vectors.
    addends
        out: a vector.
    """

    def __init__(self, lanes: int, stages: int) -> None:
        self._lanes = lanes
        self._stages = stages
        words = data.ArrayLayout(32, lanes)
        self._words = words
        super().__init__(
            {
                "instruction": In(DECODED),
                "words": In(words),
                "second": In(DECODED),
                "mask": In(lanes),
                "addend": In(NAMED),
                "at_once": In(WRITE),
                "writes": In(1),
                "vector": In(1),
                "dst": In(5),
                "value": In(words),
                "a": Out(32),
                "b": Out(32),
                "c": Out(32),
                "left": Out(words),
                "right": Out(words),
                "addends": Out(words),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.scalars = scalars = ScalarFile()
        m.submodules.vectors = vectors = VectorFile(self._lanes)
        first, second = self.instruction, self.second
        m.d.comb += [
            scalars.writes[0].eq(self.at_once),
            scalars.writes[1].enable.eq(self.writes & ~self.vector),
            scalars.writes[1].index.eq(self.dst),
            scalars.writes[1].value.eq(self.value[0]),
            vectors.write.eq(self.writes & self.vector),
            vectors.index.eq(self.dst),
            vectors.value.eq(self.value),
            vectors.indices[0].eq(first.a.index),
            vectors.indices[1].eq(first.b.index),
            vectors.indices[2].eq(self.addend.index),
        ]
        queue = Signal(self._words)
        m.d.sync += queue.eq(self.words)
        for number, name in enumerate("abc"):
            operand, value = first[name], getattr(self, name)
            m.d.comb += scalars.indices[number].eq(operand.index)
            with m.If(operand.scalar):
                m.d.sync += value.eq(scalars.values[number])
            with m.Elif(operand.word):
                m.d.sync += value.eq(self.words[0])
            with m.Else():
                m.d.sync += value.eq(Mux(operand.immediate, first.immediate, 0))

        a, b, c = (Signal(self._words, name=f"lanes_{name}") for name in "abc")
        for lane in range(self._lanes):
            for number, (operand, value, vector) in enumerate(
                ((second.a, self.a, a), (second.b, self.b, b))
            ):
                given = Mux(operand.queue, queue[lane], value)
                m.d.comb += vector[lane].eq(
                    Mux(operand.vector, vectors.values[number][lane], given)
                )
            m.d.comb += c[lane].eq(Mux(second.c.queue, queue[lane], self.c))
        m.d.sync += [self.left.eq(a), self.right.eq(b)]
        with m.If(second.path == Path.TREE):
            self._pair(m, a)

        # What is no vector register waits for the product as long as one would.
        for stage in range(self._stages):
            after = Signal(self._words, name=f"addends_{stage}", reset_less=True)
            m.d.sync += after.eq(c)
            c = after
        is_register = Signal()
        m.d.sync += [
            is_register.eq(self.addend.enable),
            self.addends.eq(Mux(is_register, vectors.values[2].as_value(), c.as_value())),
        ]
        return m

    def _pair(self, m: Module, words: Any) -> None:
        half = self._lanes // 2
        bits = (half - 1).bit_length()
        neutral = Signal(32)
        with m.Switch(self.second.operation):
            for operation, value in _NEUTRAL.items():
                with m.Case(operation):
                    m.d.comb += neutral.eq(value)
        kept = [Mux(self.mask[lane], words[lane], neutral) for lane in range(self._lanes)]
        for pair in range(half):
            place = sum((pair >> bit & 1) << (bits - 1 - bit) for bit in range(bits))
            m.d.sync += [self.left[place].eq(kept[pair]), self.right[place].eq(kept[pair + half])]
