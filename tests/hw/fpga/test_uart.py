"""Bytes on a line at every number of clock cycles a bit, with clocks that differ."""

from __future__ import annotations

import re
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from gnarl.hw.fpga.uart import UartReceiver, UartTransmitter, bit_period
from gnarl.hw.lib.errors import ConfigError

MESSAGE = bytes([0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, 0x7F])
RATES = [(4, 1), (25, 6), (9, 2), (16, 3), (6, 1), (25, 3), (868, 1)]
"""Clock cycles a bit, as fractions."""


@pytest.mark.parametrize(("clock_hz", "baud"), RATES)
def test_periods_are_within_a_percent(clock_hz: int, baud: int) -> None:
    assert abs(bit_period(clock_hz, baud) / 64 - clock_hz / baud) <= 1 / 128


@pytest.mark.parametrize("baud", [0, -1, 25_000_001])
def test_rates_that_the_clock_is_too_slow_for_are_refused(baud: int) -> None:
    text = (
        f"baud = {baud}: must be from 1 to 25000000 with a clock of 100000000 Hz, of which a bit "
        "needs 4 cycles"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        bit_period(100_000_000, baud)


def test_a_clock_must_tick() -> None:
    with pytest.raises(ConfigError, match="^clock_hz = 3: must be at least 4$"):
        bit_period(3, 1)


def received(period: int, cycles: float, phase: float) -> list[int]:
    """What is received of bytes whose bits last so many cycles, from a phase of the clock on."""
    levels = "".join("0" + f"{byte:08b}"[::-1] + "1" for byte in MESSAGE) + "1"
    found = []
    receiver = UartReceiver(period)

    async def bench(ctx: Any) -> None:
        for cycle in range(round(len(levels) * cycles) + 8):
            at = int((cycle - phase) / cycles) - 1 if cycle > phase + cycles else -1
            ctx.set(receiver.rx, int(levels[at]) if 0 <= at < len(levels) else 1)
            if ctx.get(receiver.valid):
                found.append(ctx.get(receiver.data))
            assert not ctx.get(receiver.broken)
            await ctx.tick()

    simulate(receiver, bench)
    return found


def simulate(component: wiring.Component, bench: Any) -> None:
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("skew", [-0.02, 0.0, 0.02])
@pytest.mark.parametrize(("clock_hz", "baud"), RATES[:-1])
def test_a_receiver_takes_clocks_that_differ_by_2_percent(
    clock_hz: int, baud: int, skew: float
) -> None:
    for phase in (0.0, 0.2, 0.4, 0.6, 0.8, 0.99):
        found = received(bit_period(clock_hz, baud), clock_hz / baud * (1 + skew), phase)
        assert bytes(found) == MESSAGE, f"phase {phase}"


@pytest.mark.parametrize(("clock_hz", "baud"), RATES)
def test_a_transmitters_edges_are_within_a_cycle_of_their_times(clock_hz: int, baud: int) -> None:
    transmitter = UartTransmitter(bit_period(clock_hz, baud))
    byte, cycles = 0x55, clock_hz / baud
    line: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(transmitter.i.payload, byte)
        ctx.set(transmitter.i.valid, 1)
        assert ctx.get(transmitter.i.ready)
        await ctx.tick()
        while not ctx.get(transmitter.i.ready):
            line.append(ctx.get(transmitter.tx))
            await ctx.tick()

    simulate(transmitter, bench)
    edges = [at for at in range(1, len(line)) if line[at] != line[at - 1]]
    assert len(edges) == 9
    for number, edge in enumerate(edges, 1):
        assert abs(edge - number * cycles) <= 1.1
    assert len(line) >= 10 * cycles - 1
    assert line[edges[-1] :] == [1] * (len(line) - edges[-1])


def test_strobes_give_the_bits_in_order() -> None:
    transmitter = UartTransmitter(bit_period(4, 1))
    bits: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(transmitter.i.valid, 1)
        for byte in MESSAGE:
            ctx.set(transmitter.i.payload, byte)
            await ctx.tick().until(transmitter.i.ready)

    async def watch(ctx: Any) -> None:
        async for *_, strobe, bit in ctx.tick().sample(transmitter.strobe, transmitter.bit):
            if strobe:
                bits.append(bit)

    simulator = Simulator(transmitter)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_process(watch)
    simulator.run()
    sent = [byte >> bit & 1 for byte in MESSAGE[:-1] for bit in range(8)]
    assert bits == sent
