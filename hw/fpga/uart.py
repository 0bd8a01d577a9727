"""Bytes on a serial line: a start bit, 8 data bits with the lowest first, a stop bit, no parity.

Bits last whole numbers of clock cycles that differ by one, so that their mean is the baud rate's
to 1/128 of a cycle. A receiver samples at most a cycle beside the middle of a bit as it began the
byte: of its half a bit, the rest is for clocks that differ. With 4 cycles a bit these are 2.6 % at
the stop bit, with 16 cycles 4.6 %.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.errors import ConfigError, Violation

LEAST_CLOCKS = 4
"""Clock cycles of a bit, at least."""

DATA_BITS = 8
_STOP_BIT = 1 + DATA_BITS

_FRACTION_BITS = 6
_CYCLE = 1 << _FRACTION_BITS


def bit_period(clock_hz: int, baud: int) -> int:
    """Length of a bit in 1/64 clock cycles. Raises ``ConfigError`` where that is impossible."""
    if clock_hz < LEAST_CLOCKS:
        raise ConfigError(
            [Violation("clock_hz", f" = {clock_hz}: must be at least {LEAST_CLOCKS}")]
        )
    most = clock_hz // LEAST_CLOCKS
    if not 1 <= baud <= most:
        raise ConfigError(
            [
                Violation(
                    "baud",
                    f" = {baud}: must be from 1 to {most} with a clock of {clock_hz} Hz, of which "
                    f"a bit needs {LEAST_CLOCKS} cycles",
                )
            ]
        )
    return (2 * _CYCLE * clock_hz + baud) // (2 * baud)


class BitTimer(wiring.Component):
    """Divides the clock by numbers that need not be whole.

    Parameters, in 1/64 clock cycles: ``first``, from a cycle after ``restart`` to the first tick,
    rounded down, and ``period``, from one tick to the next.

    Members: ``restart`` in, ``tick`` out.
    """

    def __init__(self, first: int, period: int) -> None:
        self._first = first
        self._period = period
        super().__init__({"restart": In(1), "tick": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        left = Signal(range(max(self._first, self._period) + 1))
        cycles = left[_FRACTION_BITS:]
        m.d.comb += self.tick.eq(cycles == 0)
        with m.If(self.restart):
            m.d.sync += left.eq(self._first)
        with m.Elif(self.tick):
            m.d.sync += left.eq(left[:_FRACTION_BITS] + (self._period - _CYCLE))
        with m.Else():
            m.d.sync += cycles.eq(cycles - 1)
        return m


class UartReceiver(wiring.Component):
    """Bytes from a line.

    Parameters: ``period`` as ``bit_period`` gives it.

    Members
    -------
    rx
        in: the line, idle at 1, synchronous to the clock.
    valid, data
        out: a pulse with each byte.
    broken
        out: a pulse in place of ``valid`` where there is no stop bit.
    strobe, bit
        out: a pulse with each data bit, all 8 of them before ``valid`` or ``broken``.
    receives
        out: a byte has begun and not ended.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        super().__init__(
            {
                "rx": In(1, init=1),
                "valid": Out(1),
                "data": Out(DATA_BITS),
                "broken": Out(1),
                "strobe": Out(1),
                "bit": Out(1),
                "receives": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        # The start bit began within the cycle before it is seen: half a cycle, on average.
        m.submodules.timer = timer = BitTimer(self._period // 2 - _CYCLE, self._period)
        position = Signal(range(_STOP_BIT + 1))
        m.d.comb += self.bit.eq(self.rx)
        with m.If(~self.receives):
            m.d.comb += timer.restart.eq(1)
            m.d.sync += [self.receives.eq(~self.rx), position.eq(0)]
        with m.Elif(timer.tick):
            m.d.sync += position.eq(position + 1)
            with m.If(position == 0):
                m.d.sync += self.receives.eq(~self.rx)
            with m.Elif(position == _STOP_BIT):
                m.d.sync += self.receives.eq(0)
                m.d.comb += [self.valid.eq(self.rx), self.broken.eq(~self.rx)]
            with m.Else():
                m.d.comb += self.strobe.eq(1)
                m.d.sync += self.data.eq(Cat(self.data[1:], self.rx))
        return m


class UartTransmitter(wiring.Component):
    """Bytes to a line.

    Parameters: ``period`` as ``bit_period`` gives it.

    Members
    -------
    i
        stream in of bytes; ready once the stop bit of the last one has ended.
    tx
        out: the line, idle at 1.
    strobe, bit
        out: a pulse with each data bit, all 8 of them before ``i`` is ready again.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        super().__init__(
            {
                "i": In(stream.Signature(DATA_BITS)),
                "tx": Out(1, init=1),
                "strobe": Out(1),
                "bit": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.timer = timer = BitTimer(self._period - _CYCLE, self._period)
        position = Signal(range(_STOP_BIT + 1))
        rest = Signal(DATA_BITS)
        sends = Signal()
        m.d.comb += [self.i.ready.eq(~sends), self.bit.eq(rest[0])]
        with m.If(~sends):
            m.d.comb += timer.restart.eq(1)
            m.d.sync += [
                sends.eq(self.i.valid),
                self.tx.eq(~self.i.valid),
                rest.eq(self.i.payload),
                position.eq(0),
            ]
        with m.Elif(timer.tick):
            m.d.comb += self.strobe.eq(position < DATA_BITS)
            m.d.sync += [
                position.eq(position + 1),
                self.tx.eq(rest[0]),
                rest.eq(Cat(rest[1:], Const(1, 1))),
                sends.eq(position != _STOP_BIT),
            ]
        return m
