"""Requests executed at a host port, one after the other, and their responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.crc import Crc
from gnarl.hw.fpga.frame import CRC_BITS, MOST_WORDS, REQUEST, RESPONSE
from gnarl.hw.fpga.frame_receiver import WORD_BITS, WORD_BYTES
from gnarl.hw.fpga.uart import DATA_BITS, UartTransmitter, bit_period
from gnarl.hw.lib.machine.host import HostSignature

_HEADER_BYTES = RESPONSE.size // DATA_BITS
_CRC_BYTES = CRC_BITS // DATA_BITS


@dataclass(frozen=True)
class _State:
    """Registers: the request that is ``served``, the ``index`` of its word, the tag of the last
    write, whether ``word`` is the one to write, and what is left to send."""

    served: data.View
    index: Signal
    last: Signal
    shown: Signal
    rest: Signal
    bytes_left: Signal

    def send(self, value: Any, count: int) -> list[Any]:
        """Statements that have so many bytes sent."""
        return [self.rest.eq(value), self.bytes_left.eq(count - 1)]


class FrameServer(wiring.Component):
    """Executes requests and sends a response to each, before the next is taken.

    A write is executed if its tag is one more than that of the last one that was. The machine gets
    a word a cycle, if it takes them, so words are read before a line could bring new ones.

    Parameters: ``clock_hz``, ``baud``. Raises ``ConfigError`` where they do not go together.

    Members
    -------
    request, address, read_enable, word, reads
        as ``FrameReceiver`` has them, seen from the other side.
    host
        to the machine.
    tx
        out: the line.
    """

    def __init__(self, clock_hz: int, baud: int) -> None:
        self._period = bit_period(clock_hz, baud)
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST)),
                "address": Out(range(MOST_WORDS + 1)),
                "read_enable": Out(1),
                "word": In(WORD_BITS),
                "reads": Out(1),
                "host": In(HostSignature()),
                "tx": Out(1, init=1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.uart = uart = UartTransmitter(self._period)
        m.submodules.crc = crc = Crc()

        served = Signal(REQUEST)
        index = Signal(range(MOST_WORDS + 1))
        last = Signal(RESPONSE["last"].shape)
        shown = Signal()
        rest = Signal(WORD_BITS)
        bytes_left = Signal(range(WORD_BYTES))
        header = data.View(RESPONSE, Signal(RESPONSE))
        m.d.comb += [
            self.tx.eq(uart.tx),
            crc.strobe.eq(uart.strobe),
            crc.bit.eq(uart.bit),
            self.address.eq(index),
            self.host.request.payload.address.eq(served.address),
            self.host.request.payload.write.eq(served.write),
            self.host.request.payload.data.eq(self.word),
            header.tag.eq(served.tag),
            header.count.eq(Mux(served.write, 0, served.count)),
            header.last.eq(last),
        ]
        state = _State(served, index, last, shown, rest, bytes_left)
        with m.FSM():
            with m.State("IDLE"):
                self._take_request(m, state)
            with m.State("WRITE"):
                self._write(m, state)
            with m.State("RESPOND"):
                with m.If(uart.i.ready):
                    m.d.comb += crc.clear.eq(1)
                    m.d.sync += state.send(header, _HEADER_BYTES)
                    m.next = "SEND"
            with m.State("SEND"):
                self._send(m, state, uart)
            with m.State("READ"):
                m.d.comb += self.host.request.valid.eq(1)
                with m.If(self.host.request.ready):
                    m.d.sync += [served.address.eq(served.address + 1), index.eq(index + 1)]
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += self.host.response.ready.eq(1)
                with m.If(self.host.response.valid):
                    m.d.sync += state.send(self.host.response.payload, WORD_BYTES)
                    m.next = "SEND"
            with m.State("CHECK"):
                # A byte that is sent moves the next one of the check to its place.
                m.d.comb += [uart.i.valid.eq(1), uart.i.payload.eq(crc.crc)]
                with m.If(uart.i.ready):
                    m.d.sync += bytes_left.eq(bytes_left - 1)
                    with m.If(bytes_left == 0):
                        m.next = "IDLE"
        return m

    def _take_request(self, m: Module, state: _State) -> None:
        """A write is executed if its tag is the next one; all requests are answered."""
        m.d.comb += self.request.ready.eq(1)
        m.d.sync += [state.served.eq(self.request.payload), state.index.eq(0)]
        with m.If(self.request.valid):
            m.next = "RESPOND"
            tag, last = self.request.payload.tag, state.last
            with m.If(self.request.payload.write & (tag == (last + 1)[: len(last)])):
                m.d.sync += last.eq(tag)
                m.next = "WRITE"

    def _write(self, m: Module, state: _State) -> None:
        """The machine gets the words of a write, each read in the cycle before."""
        served, index, shown = state.served, state.index, state.shown
        taken = shown & self.host.request.ready
        done = index == served.count
        m.d.comb += [
            self.reads.eq(1),
            self.host.request.valid.eq(shown),
            self.read_enable.eq((~shown | taken) & ~done),
        ]
        with m.If(self.read_enable):
            m.d.sync += [shown.eq(1), index.eq(index + 1)]
        with m.Elif(taken):
            m.d.sync += shown.eq(0)
        with m.If(taken):
            m.d.sync += served.address.eq(served.address + 1)
        with m.If(done & (~shown | taken)):
            m.next = "RESPOND"

    def _send(self, m: Module, state: _State, uart: UartTransmitter) -> None:
        """Sends bytes, and goes on with the next word, or behind the last one with the check."""
        rest, bytes_left = state.rest, state.bytes_left
        m.d.comb += [uart.i.valid.eq(1), uart.i.payload.eq(rest)]
        with m.If(uart.i.ready):
            m.d.sync += [rest.eq(rest >> DATA_BITS), bytes_left.eq(bytes_left - 1)]
            with m.If(bytes_left == 0):
                m.next = "READ"
                with m.If(state.served.write | (state.index == state.served.count)):
                    m.d.sync += bytes_left.eq(_CRC_BYTES - 1)
                    m.next = "CHECK"
