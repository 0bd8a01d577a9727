"""The host's end of a serial line to a board in cocotb, for the same transport as everywhere else.

``FramePort`` is not a coroutine; cocotb's ``bridge`` lets it run in a test::

    line = await open_line(dut, CLOCK_HZ, BAUD)
    await bridge(lambda: FramePort(line).read_words(0, 3))()
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.queue import Queue
from cocotb.task import resume
from cocotb.triggers import Event, FallingEdge, First, Timer

_PICOSECONDS = 10**12
_LATENCY = 2000  # clock cycles, more than a request takes


class CocotbLine:
    """A ``gnarl.sw.runtime.machine.board.frame_port.Line`` to pins ``rx`` and ``tx`` of a ``dut``.

    ``skew``: by how much a bit of the host's lasts longer than the board's should.
    """

    name = "simulated line"

    def __init__(self, dut: Any, clock_hz: int, baud: int, skew: float = 0.0) -> None:
        self.baud = baud
        self.latency = _LATENCY / clock_hz
        self._dut = dut
        self._bit = _PICOSECONDS * (1 + skew) / baud
        self._to_send: Queue[bytes] = Queue()
        self._received = bytearray()
        self._arrived = Event()
        self._sent = Event()
        self._sent.set()
        self._tasks = [cocotb.start_soon(self._send_all()), cocotb.start_soon(self._receive_all())]

    def send(self, message: bytes) -> None:
        """See ``Line``; to be called under ``bridge``."""
        resume(self.put)(message)

    def receive(self, seconds: float) -> bytes:
        """See ``Line``; to be called under ``bridge``."""
        return resume(self.get)(seconds)

    def close(self) -> None:
        """See ``Line``."""
        for task in self._tasks:
            task.cancel()

    async def put(self, message: bytes) -> None:
        """Sends bytes after those before them."""
        self._sent.clear()
        self._to_send.put_nowait(message)

    async def sent(self) -> None:
        """Returns when all bytes are sent."""
        await self._sent.wait()

    async def get(self, seconds: float) -> bytes:
        """Bytes that have come, or come within so many seconds of simulated time."""
        if not self._received:
            self._arrived.clear()
            await First(self._arrived.wait(), self.wait(seconds))
        received = bytes(self._received)
        self._received.clear()
        return received

    def wait(self, seconds: float) -> Timer:
        return Timer(round(seconds * _PICOSECONDS), unit="ps")

    async def drive(self, line: str) -> None:
        """Gives the line levels, 0 and 1, for a bit each."""
        for level, run in groupby(line):
            self._dut.rx.value = int(level)
            await self._bits(len(list(run)))

    async def _send_all(self) -> None:
        while True:
            for byte in await self._to_send.get():
                await self.drive(f"0{levels(byte)}1")
            if self._to_send.empty():
                self._sent.set()

    async def _receive_all(self) -> None:
        while True:
            await FallingEdge(self._dut.tx)
            await self._bits(0.5)
            byte = 0
            for bit in range(8):
                await self._bits(1)
                byte |= int(self._dut.tx.value) << bit
            await self._bits(1)
            assert int(self._dut.tx.value) == 1, "a byte without a stop bit"
            self._received.append(byte)
            self._arrived.set()

    def _bits(self, count: float) -> Timer:
        return Timer(round(count * self._bit), unit="ps")


def levels(byte: int) -> str:
    """Levels of a byte's bits, in the order in which they are sent."""
    return f"{byte:08b}"[::-1]


async def open_line(dut: Any, clock_hz: int, baud: int, skew: float = 0.0) -> CocotbLine:
    """Starts the clock and resets the board."""
    Clock(dut.clk, _PICOSECONDS // clock_hz, unit="ps").start()
    dut.rx.value = 1
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    return CocotbLine(dut, clock_hz, baud, skew)
