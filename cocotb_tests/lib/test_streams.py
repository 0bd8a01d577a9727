"""The ends of streams, around components that keep the rules of streams or break them."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.lib.run import run_cocotb
from cocotb_tests.lib.streams import Memory, Port, Sink, Source, settle

_PAIR = data.StructLayout({"row": 5, "word": 6})


class Streams(wiring.Component):
    """A queue from ``i`` to ``o``; a stream ``fickle`` that does not wait; and wires from
    ``address`` to ``asked``, from ``answer`` to ``data``."""

    def __init__(self) -> None:
        pairs, bytes = stream.Signature(_PAIR), stream.Signature(8)
        inputs = {"i": In(pairs), "address": In(bytes), "answer": In(bytes)}
        outputs = {"o": Out(pairs), "fickle": Out(bytes), "asked": Out(bytes), "data": Out(bytes)}
        super().__init__(inputs | outputs)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFO(width=_PAIR.size, depth=2)
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            self.o.payload.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.fickle.valid.eq(1),
        ]
        m.d.sync += self.fickle.payload.eq(self.fickle.payload + 1)
        wiring.connect(m, wiring.flipped(self.address), wiring.flipped(self.asked))
        wiring.connect(m, wiring.flipped(self.answer), wiring.flipped(self.data))
        return m


async def reset(dut: Any) -> random.Random:
    Clock(dut.clk, 10, unit="ns").start()
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    return random.Random(cocotb.RANDOM_SEED)


async def run(dut: Any, ends: list[Any], is_over: Any) -> None:
    for _ in range(10_000):
        await settle(ends)
        await FallingEdge(dut.clk)
        if is_over():
            return
    raise AssertionError("hangs")


@cocotb.test()
async def what_is_offered_comes_out_once_and_in_order(dut):
    rng = await reset(dut)
    for _ in range(20):
        sent, taken = [rng.getrandbits(_PAIR.size) for _ in range(30)], []
        ends = [Source(Port(dut, "i"), rng, sent), Sink(Port(dut, "o"), rng, taken.append)]
        await run(dut, ends, lambda ends=ends: not ends[0].items and not int(dut.o__valid.value))
        assert taken == sent


@cocotb.test()
async def a_memory_answers_in_order(dut):
    rng = await reset(dut)
    rows = [rng.getrandbits(8) for _ in range(40)]
    for _ in range(20):
        asked, answers = [rng.randrange(40) for _ in range(30)], []
        memory = Memory(Port(dut, "asked"), Port(dut, "answer"), rng, rows)
        ends = [
            Source(Port(dut, "address"), rng, asked),
            memory,
            Sink(Port(dut, "data"), rng, answers.append),
        ]
        await run(dut, ends, lambda ends=ends: not ends[0].items and ends[1].is_idle)
        assert answers == [rows[row] for row in asked]


@cocotb.test()
async def what_changes_while_it_waits_is_noticed(dut):
    rng = await reset(dut)
    sinks = [Sink(Port(dut, "fickle"), rng, lambda bits: None) for _ in range(40)]
    with pytest.raises(AssertionError, match=r"^fickle: 0x[0-9a-f]+ became \d+"):
        for sink in sinks:
            for _ in range(20):
                await settle([sink])
                await FallingEdge(dut.clk)


def test_streams():
    run_cocotb(Streams(), __name__)
