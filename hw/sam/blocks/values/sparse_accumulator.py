"""Sparse accumulator: sums of values by coordinate, over an index outside those coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.operation import Operation
from gnarl.hw.lib.stream.lookahead import look_ahead
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.blocks.agreement import level_of
from gnarl.hw.sam.blocks.values.drained_fibers import FIBER_BITS, DrainedFibers
from gnarl.hw.sam.blocks.values.sum_bank import SumBank
from gnarl.hw.sam.blocks.values.unit_row import UnitRow
from gnarl.hw.sam.step import TokenStep, is_data, is_done, is_stop
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_layout, token_stream

BANKS = {1: 2, 2: 1}
"""Memories by order. With two, sums are taken while those before them are drained."""


class SparseAccumulator(Instanced):
    """Sums fibers of one or two indices over the index around them, and gives the sums in order.

    Each data token of ``crd{order}``, the index that is summed over, stands for a fiber of the
    streams within. A stop of it ends the sums: they come out sorted, and after them that stop, from
    which the inner streams have theirs, a level up for each. The first value of a coordinate is
    copied, the later ones are added to it as they come. Empty values count as 0. Source: SAM, the
    stream form of the sparse accumulator; Comal, spacc.

    One token a cycle goes in and one comes out; a value waits until the one before it of the same
    key has passed the ``stages`` of the adder. The first sum is offered ``latency`` cycles after
    the stop was taken. With order 1, values are taken while the sums before them come out.

    Parameters: ``format`` of values; ``width`` of coordinates; ``order``, 1 or 2; ``words``, a
    power of two, at least 32: how many keys there are; ``full``, for each index, innermost first:
    every coordinate below its size comes out, absent ones with value 0, or for index 1 an empty
    fiber. As a stop tells nothing about what is around it, so it does for a stop without a fiber;
    ``stages`` >= 1 of the adder; ``value_words`` of a value, each of which is summed by itself.

    Members: ``size0``, ``size1`` in, sizes of the indices, innermost first, which stay through a
    run; ``crd0``, ``crd1``, ... ``val`` in; ``out_crd0``, ... ``out_val`` out; ``fault`` out: the
    streams disagree, a coordinate is beyond its size, or its key is: that is ``crd0``, to which
    order 2 adds ``crd1`` times the least power of two that is not below ``size0``.
    """

    def __init__(
        self,
        format: NumberFormat,
        width: int,
        order: int,
        words: int,
        full: tuple[bool, ...],
        stages: int = 1,
        value_words: int = 1,
    ) -> None:
        self._format = format
        self._stages = stages
        self._value_words = value_words
        self._value_width = value_words * format.width
        self._width = width
        self._order = order
        self._words = words
        self._key_bits = (words - 1).bit_length()
        self._full = full
        super().__init__(
            {
                **{f"size{place}": In(width) for place in range(order)},
                **{f"crd{place}": In(token_stream(width)) for place in range(order + 1)},
                "val": In(token_stream(self._value_width)),
                **{f"out_crd{place}": Out(token_stream(width)) for place in range(order)},
                "out_val": Out(token_stream(self._value_width)),
                "fault": Out(1),
            }
        )

    @staticmethod
    def latency(words: int, stages: int) -> int:
        """Cycles from the one in which a stop is taken to the one that offers the first sum."""
        return SumBank.latency(words, stages)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks = range(BANKS[self._order])
        self._banks = [SumBank(self._words, self._value_width, self._stages) for _ in banks]
        for number, bank in enumerate(self._banks):
            m.submodules[f"bank_{number}"] = bank
        m.submodules.fibers = fibers = Queue(token_layout(FIBER_BITS), 2)
        m.submodules.output = drained = DrainedFibers(
            self._key_bits, self._width, self._value_width, self._full
        )
        inner_bits = self._inner_bits(m)
        self._take(m, fibers.i, inner_bits)
        wiring.connect(m, fibers.o, drained.fibers)
        self._drain(m, drained.sums)

        m.d.comb += drained.inner_bits.eq(inner_bits)
        for place in range(self._order):
            if self._full[place]:
                size = f"size{place}"
                m.d.comb += getattr(drained, size).eq(getattr(self, size))
            out = f"out_crd{place}"
            wiring.connect(m, getattr(drained, out), wiring.flipped(getattr(self, out)))
        wiring.connect(m, drained.out_val, wiring.flipped(self.out_val))
        return m

    def _take(self, m: Module, fibers: Any, inner_bits: Value) -> None:
        """Takes tokens: values go to the bank at hand, ends of what is summed to ``fibers``."""
        crd0, val = self.crd0, self.val
        heads, followings = [], []
        for place in range(1, self._order + 1):
            head, following = look_ahead(m, getattr(self, f"crd{place}"), f"lookahead_{place}")
            heads.append(head)
            followings.append(following)
        step = TokenStep(m, inputs=[crd0, val, *heads, *followings], outputs=[fibers])
        bank = Signal(range(max(2, len(self._banks))))
        holds = Signal()
        adds, ends = Signal(), Signal()
        key, within = self._key(heads[0], inner_bits)
        is_added = Signal()  # the sum before this one of the same key is not known yet

        with m.If(crd0.valid & val.valid):
            with m.If((crd0.payload.kind == Kind.DATA) & is_data(val)):
                with m.If(heads[0].valid & ~within):
                    m.d.comb += self.fault.eq(1)
                with m.Elif(
                    heads[0].valid & ~is_added & _chosen(bank, [each.free for each in self._banks])
                ):
                    m.d.comb += adds.eq(1)
                    step.ready(crd0, val)
            with m.Elif(is_stop(crd0) & is_stop(val) & (level_of(crd0) == level_of(val))):
                level = level_of(crd0)
                known, agree = self._end(m, step, level, heads, followings)
                step.take(crd0, val)
                with m.If(level >= self._order):
                    m.d.comb += ends.eq(1)
                    outside = (level - self._order)[:LEVEL_BITS]
                    step.give(fibers, Kind.STOP, Cat(outside, holds))
                with m.If(~agree):
                    m.d.comb += self.fault.eq(1)
                with m.Elif(known):
                    step.ready()
            with m.Elif(is_done(crd0) & is_done(val)):
                step.give(fibers, Kind.DONE)
                step.take(crd0, val, *heads)
                with m.If(Cat(head.valid & ~is_done(head) for head in heads).any()):
                    m.d.comb += self.fault.eq(1)
                with m.Elif(Cat(head.valid for head in heads).all()):
                    step.ready()
            with m.Else():
                m.d.comb += self.fault.eq(1)

        with m.If(step.done & adds):
            m.d.sync += holds.eq(1)
        with m.If(step.done & ends):
            m.d.sync += [bank.eq(bank + holds if len(self._banks) > 1 else 0), holds.eq(0)]
        for number, each in enumerate(self._banks):
            m.d.comb += each.drain.eq(step.done & ends & holds & (bank == number))
        m.d.comb += is_added.eq(self._add(m, bank, step.done & adds, key))

    def _end(
        self, m: Module, step: TokenStep, level: Value, heads: list[Any], followings: list[Any]
    ) -> tuple[Signal, Signal]:
        """Takes what a stop of ``crd0`` ends in the streams around it.

        That is a data token, and in a stream whose own fiber ends with it, the stop after it too;
        or that stop alone, if the fiber is empty. Returns whether all that has come, and whether
        what has come agrees.
        """
        known, agree = Signal(init=1), Signal(init=1)
        for place, (head, following) in enumerate(zip(heads, followings, strict=True), 1):
            stops = level >= place

            def ending(stream: Any, place: int = place) -> Value:
                return is_stop(stream) & (level_of(stream) + place == level)

            with m.If(level >= place - 1 if place > 1 else Const(1)):
                with m.If(~head.valid):
                    m.d.comb += known.eq(0)
                with m.Elif(is_data(head)):
                    step.take(head)
                    with m.If(stops & ~following.valid):
                        m.d.comb += known.eq(0)
                    with m.Elif(stops & ending(following)):
                        step.take(following)
                    with m.Elif(stops):
                        m.d.comb += agree.eq(0)
                with m.Elif(stops & ending(head)):
                    step.take(head)
                with m.Else():
                    m.d.comb += agree.eq(0)
        return known, agree

    def _inner_bits(self, m: Module) -> Signal:
        """How many bits of a key are the inner coordinate, at most all of them."""
        inner_bits = Signal(range(self._key_bits + 1))
        if self._order == 1:
            m.d.comb += inner_bits.eq(self._key_bits)
            return inner_bits
        greatest = (self.size0 - 1)[: self._width]
        for bit in range(self._width):
            with m.If(greatest[bit]):
                m.d.comb += inner_bits.eq(min(bit + 1, self._key_bits))
        return inner_bits

    def _key(self, outer: Any, inner_bits: Value) -> tuple[Value, Value]:
        """The key of the coordinates at hand, and whether they are data and within bounds."""
        inner = self.crd0.payload.payload
        within = (outer.payload.kind == Kind.DATA) if self._order == 2 else is_data(outer)
        within &= (inner < self.size0) & (inner < self._words)
        if self._order == 1:
            return inner[: self._key_bits], within
        crd = outer.payload.payload
        within &= (crd < self.size1) & (crd < (self._words >> inner_bits))
        return ((crd << inner_bits) | inner)[: self._key_bits], within

    def _add(self, m: Module, bank: Value, valid: Value, key: Value) -> Value:
        """Reads a key's sum, adds the value at hand, and writes it back: a cycle each, and one more
        for each further stage of the adder. Returns whether ``key`` has to wait."""
        for number, each in enumerate(self._banks):
            m.d.comb += [each.read_valid.eq(valid & (bank == number)), each.read_key.eq(key)]

        read, read_bank, read_key = Signal(), Signal.like(bank), Signal(self._key_bits)
        value = Signal(self._value_width)
        m.d.sync += [read.eq(valid), read_bank.eq(bank), read_key.eq(key)]
        m.d.sync += value.eq(self.val.payload.payload)

        # The first of several stages are the operands: block RAM is slow.
        adder = UnitRow(m, self._format, max(1, self._stages - 1), self._value_words)
        waits: Value = Const(0)
        write, write_bank, write_key = read, read_bank, read_key
        for stage in range(self._stages):
            if stage < self._stages - 1:
                waits |= write & (write_key == key)
            before = write, write_bank, write_key
            write = Signal(name=f"write_{stage}")
            write_bank = Signal.like(bank, name=f"write_bank_{stage}")
            write_key = Signal(self._key_bits, name=f"write_key_{stage}")
            m.d.sync += [
                each.eq(last)
                for each, last in zip((write, write_bank, write_key), before, strict=True)
            ]
        for number, each in enumerate(self._banks):
            m.d.comb += [
                each.write_valid.eq(write & (write_bank == number)),
                each.write_key.eq(write_key),
                each.write_value.eq(adder.o),
            ]

        # The memory does not yet show the last two sums that are known. They may be of another
        # bank, but then this is the first of its own, and what was found is not used.
        written, written_key = Signal(), Signal(self._key_bits)
        written_value = Signal(self._value_width)
        m.d.sync += [written.eq(write), written_key.eq(write_key), written_value.eq(adder.o)]
        sum_before = Signal(self._value_width)
        with m.If(write & (write_key == read_key)):
            m.d.comb += sum_before.eq(adder.o)
        with m.Elif(written & (written_key == read_key)):
            m.d.comb += sum_before.eq(written_value)
        with m.Else():
            m.d.comb += sum_before.eq(_chosen(read_bank, [each.read_value for each in self._banks]))
        is_there = _chosen(read_bank, [each.found for each in self._banks])
        m.d["comb" if self._stages == 1 else "sync"] += [
            adder.left.eq(sum_before),
            adder.right.eq(value),
            adder.operation.eq(Mux(is_there, Operation.ADD, Operation.PASS_RIGHT)),
        ]
        return waits

    def _drain(self, m: Module, sums: Any) -> None:
        """Gives the sums of one bank after the other, in the order in which they were filled."""
        bank = Signal(range(max(2, len(self._banks))))
        m.d.comb += [
            sums.valid.eq(_chosen(bank, [each.sums.valid for each in self._banks])),
            sums.payload.eq(_chosen(bank, [each.sums.payload.as_value() for each in self._banks])),
        ]
        for number, each in enumerate(self._banks):
            m.d.comb += each.sums.ready.eq(sums.ready & (bank == number))
        if len(self._banks) > 1:
            with m.If(sums.valid & sums.ready & sums.payload.last):
                m.d.sync += bank.eq(bank + 1)


def _chosen(number: Value, values: list[Value]) -> Value:
    """The value with this number."""
    return Array(values)[number] if len(values) > 1 else values[0]
