from __future__ import annotations

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.sam.blocks.values.delay import Delay
from gnarl.hw.sam.token import EMPTY, Kind, token_stream
from tests.support.sam.nested import depths, stalls, stream, trees, words
from tests.support.sam.streams import run_block
from tests.support.sam.tokens import format_stream, kind_of, parse_stream


class Inverter(wiring.Component):
    """Inverts all bits of values in so many cycles."""

    def __init__(self, latency):
        self._latency = latency
        super().__init__({"i": In(token_stream(8)), "o": Out(token_stream(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.delay = delay = Delay(8, self._latency)
        wiring.connect(m, delay.o, wiring.flipped(self.o))
        m.d.comb += [
            delay.i.payload.payload.eq(self.i.payload.payload),
            delay.i.payload.kind.eq(self.i.payload.kind),
            delay.i.valid.eq(self.i.valid),
            self.i.ready.eq(delay.i.ready),
        ]
        result = ~self.i.payload.payload
        for _ in range(self._latency):
            register = Signal(8)
            with m.If(delay.enable):
                m.d.sync += register.eq(result)
            result = register
        m.d.comb += delay.result.eq(result)
        return m


def run(latency, tokens, **how):
    return run_block(Inverter(latency), {"i": tokens}, ["o"], **how)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_empty_tokens_become_what_the_unit_makes_of_them(share):
    got = run(3, parse_stream("1 N S0 S3 N S1 D"), stalls=share)
    assert format_stream(got["o"]) == "254 255 S0 S3 255 S1 D"


@settings(max_examples=20)
@given(st.data(), depths(0), st.integers(1, 6), stalls())
def test_results_come_with_their_tokens(data, depth, latency, how):
    tokens = stream(data.draw(trees(depth, words(8))), depth)
    got = run(latency, tokens, **how)

    def expected(token):
        is_data = token == EMPTY or kind_of(token) == Kind.DATA
        return ~token & 0xFF if is_data else token

    assert got["o"] == [expected(token) for token in tokens]
    if how["stalls"] == 0:
        assert got["cycles"] == [len(tokens) + latency]


def test_a_result_is_offered_before_anybody_is_ready_for_it():
    block = Inverter(3)

    async def bench(ctx):
        ctx.set(block.i.valid, 1)
        await ctx.tick().repeat(3)
        assert ctx.get(block.o.valid)
        assert not ctx.get(block.i.ready)

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
