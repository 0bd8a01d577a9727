"""The sums of one fiber of a sparse accumulator, by key, until they are drained in order."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.sam.blocks.values.sorted_set import LEAST_SIZE, SortedSet


def sums(key_bits: int, value_width: int) -> stream.Signature:
    """A stream of sums in the order of their keys; ``last`` marks the last of a fiber."""
    return stream.Signature(
        data.StructLayout({"key": key_bits, "value": value_width, "last": 1}),
    )


class SumBank(wiring.Component):
    """A sum for each key below ``words``, and which keys have one.

    Parameters: ``words``, a power of two; ``value_width`` in bits; ``stages`` of the adder.

    Members: ``read_valid``, ``read_key`` in: a value comes for this key, which has a sum from now
    on. A cycle later: ``found`` out, it had one before, and ``read_value`` out, that sum.
    ``write_valid``, ``write_key``, ``write_value`` in: the sum, ``stages`` + 1 cycles after
    ``read_valid``. ``drain`` in, while ``free``, after the last ``read_valid``: gives what there is
    as ``sums``. ``free`` out: 0 from the cycle after ``drain`` to the one before that in which the
    last is taken.

    A read gives what was written at least a cycle before it.
    """

    def __init__(self, words: int, value_width: int, stages: int) -> None:
        self._words = words
        self._value_width = value_width
        self._stages = stages
        key_bits = (words - 1).bit_length()
        super().__init__(
            {
                "read_valid": In(1),
                "read_key": In(key_bits),
                "found": Out(1),
                "read_value": Out(value_width),
                "write_valid": In(1),
                "write_key": In(key_bits),
                "write_value": In(value_width),
                "drain": In(1),
                "sums": Out(sums(key_bits, value_width)),
                "free": Out(1),
            }
        )

    @staticmethod
    def latency(words: int, stages: int) -> int:
        """Cycles from ``drain`` to the first of ``sums``."""
        return SortedSet.latency(max(words, LEAST_SIZE)) + 1 + stages

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.keys = keys = SortedSet(max(self._words, LEAST_SIZE))
        m.submodules.values = values = TwoPortRam(self._words, self._value_width)
        key, out = keys.numbers, self.sums
        taken = key.valid & key.ready
        ends = out.valid & out.ready & out.payload.last
        draining = Signal()
        # What is under way in the adder is written before the first sum is read.
        is_written = draining
        for stage in range(1, self._stages):
            later = Signal(name=f"is_written_{stage}")
            m.d.sync += later.eq(is_written & ~ends)
            is_written = later
        m.d.comb += [
            self.free.eq(~draining | ends),
            keys.insert_valid.eq(self.read_valid),
            keys.insert.eq(self.read_key),
            keys.drain.eq(is_written),
            self.found.eq(keys.found),
            values.read_enable.eq(self.read_valid | taken),
            values.read_address.eq(Mux(self.read_valid, self.read_key, key.payload.number)),
            self.read_value.eq(values.read_data),
            values.write_enable.eq(self.write_valid),
            values.write_address.eq(self.write_key),
            values.write_data.eq(self.write_value),
            # The memory holds the value that it has read until the next one is wanted.
            key.ready.eq(~out.valid | out.ready),
            out.payload.value.eq(values.read_data),
        ]
        with m.If(key.ready):
            m.d.sync += [
                out.valid.eq(key.valid),
                out.payload.key.eq(key.payload.number),
                out.payload.last.eq(key.payload.last),
            ]
        with m.If(self.drain):
            m.d.sync += draining.eq(1)
        with m.Elif(ends):
            m.d.sync += draining.eq(0)
        return m
