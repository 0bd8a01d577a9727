"""Requests from a serial line: whole and undamaged, or not at all."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.crc import Crc
from gnarl.hw.fpga.frame import CRC_BITS, MOST_WORDS, REQUEST, pause
from gnarl.hw.fpga.uart import DATA_BITS, UartReceiver, bit_period
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.memory.ram import TwoPortRam

WORD_BITS = 32
WORD_BYTES = WORD_BITS // DATA_BITS
_HEADER_BYTES = REQUEST.size // DATA_BITS
_CRC_BYTES = CRC_BITS // DATA_BITS


class _Part(IntEnum, metaclass=EnumType, shape=2):
    """What the next byte belongs to."""

    HEADER = 0
    WORDS = 1
    CRC = 2
    WAITING = 3


class FrameReceiver(wiring.Component):
    """Receives one request at a time, with its words in a memory of their own.

    From a reset on it waits for a pause of the line. It does so again after a byte without a stop
    bit, a wrong check, and whatever comes while the last request waits to be taken: that is kept,
    what came is dropped. Words that come while those before are being read are dropped, too.

    Parameters: ``clock_hz``, ``baud``. Raises ``ConfigError`` where they do not go together.

    Members
    -------
    rx
        in: the line, synchronous to the clock.
    request
        stream out of ``REQUEST``, a request whose check is right.
    address, read_enable, word
        the words of a write that was taken: the one at ``address``, 0 for the first, a cycle after
        ``read_enable``.
    reads
        in: words will still be read.
    """

    def __init__(self, clock_hz: int, baud: int) -> None:
        self._period = bit_period(clock_hz, baud)
        self._pause = round(pause(baud) * clock_hz)
        super().__init__(
            {
                "rx": In(1, init=1),
                "request": Out(stream.Signature(REQUEST)),
                "address": In(range(MOST_WORDS + 1)),
                "read_enable": In(1),
                "word": Out(WORD_BITS),
                "reads": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.uart = uart = UartReceiver(self._period)
        m.submodules.crc = crc = Crc()
        m.submodules.ram = words = TwoPortRam(MOST_WORDS + 1, WORD_BITS)

        paused = self._pauses(m, uart)
        header = Signal(REQUEST)
        shifted = data.View(REQUEST, Cat(header.as_value()[DATA_BITS:], uart.data))
        word = Signal(WORD_BITS - DATA_BITS)  # the bytes before the one that ends a word
        whole_word = Cat(word, uart.data)
        part = Signal(_Part)
        byte = Signal(range(_HEADER_BYTES))  # of this part, or of this word
        index = Signal(range(MOST_WORDS + 1))
        deaf = Signal(init=1)
        m.d.comb += [
            uart.rx.eq(self.rx),
            crc.strobe.eq(uart.strobe),
            crc.bit.eq(uart.bit),
            self.request.valid.eq(part == _Part.WAITING),
            self.request.payload.eq(header),
            words.read_address.eq(self.address),
            words.read_enable.eq(self.read_enable),
            words.write_address.eq(index),
            words.write_data.eq(whole_word),
            self.word.eq(words.read_data),
        ]

        with m.If(paused):
            m.d.comb += crc.clear.eq(1)
            m.d.sync += [deaf.eq(0), byte.eq(0)]
            with m.If(part != _Part.WAITING):
                m.d.sync += part.eq(_Part.HEADER)
        with m.Elif(uart.broken):
            m.d.sync += deaf.eq(1)
        with m.Elif(uart.valid & ~deaf):
            m.d.sync += byte.eq(byte + 1)
            with m.Switch(part):
                with m.Case(_Part.HEADER):
                    m.d.sync += header.eq(shifted)
                    with m.If(byte == _HEADER_BYTES - 1):
                        has_words = shifted.write & (shifted.count != 0)
                        m.d.sync += part.eq(Mux(has_words, _Part.WORDS, _Part.CRC))
                        m.d.sync += [byte.eq(0), index.eq(0)]
                with m.Case(_Part.WORDS):
                    m.d.sync += word.eq(whole_word[DATA_BITS:])
                    with m.If(byte == WORD_BYTES - 1):
                        m.d.comb += words.write_enable.eq(~self.reads)
                        m.d.sync += [byte.eq(0), index.eq(index + 1), deaf.eq(self.reads)]
                        with m.If(index + 1 == header.count):
                            m.d.sync += part.eq(_Part.CRC)
                with m.Case(_Part.CRC):
                    with m.If(byte == _CRC_BYTES - 1):
                        self._check(m, crc, part, byte, deaf)
                with m.Case(_Part.WAITING):
                    m.d.sync += deaf.eq(1)
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += part.eq(_Part.HEADER)
        return m

    def _pauses(self, m: Module, uart: UartReceiver) -> Signal:
        """Whether nothing has been received for as long as a pause."""
        still = Signal(range(self._pause + 1))
        paused = Signal()
        m.d.comb += paused.eq(still == self._pause)
        with m.If(uart.receives):
            m.d.sync += still.eq(0)
        with m.Elif(~paused):
            m.d.sync += still.eq(still + 1)
        return paused

    def _check(self, m: Module, crc: Crc, part: Signal, byte: Signal, deaf: Signal) -> None:
        """Keeps a request whose check is right; behind a wrong one it waits for a pause."""
        right = crc.crc == 0
        m.d.comb += crc.clear.eq(1)
        m.d.sync += [
            part.eq(Mux(right, _Part.WAITING, _Part.HEADER)),
            byte.eq(0),
            deaf.eq(~right),
        ]
