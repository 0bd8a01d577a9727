"""The host's side of an accelerator in cocotb, for the same driver as everywhere else.

``HostDriver`` is not a coroutine; cocotb's ``bridge`` lets it run in a test::

    @cocotb.test()
    async def runs(dut):
        port = await open_port(dut, stalls=0.3)
        await use_driver(port, memory_map(config), config.digest, lambda driver: driver.run(1000))
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import FallingEdge, ReadOnly, Timer

from gnarl.hw.lib.machine.memory_map import STATUS, MemoryMap, Register
from gnarl.sw.runtime.machine.host import HostDriver, Words

Result = TypeVar("Result")

_STALL_LIMIT = 1000

_PERIOD_NS = 10

_LONGEST_PAUSE = 64
"""Cycles from one look at the status to the next, at most: without Python they are fast."""


class Driven:
    """A signal that is written where its value changes: cocotb takes its time for each write."""

    def __init__(self, signal: Any) -> None:
        self._signal = signal
        self._value: int | None = None

    def drive(self, value: int) -> None:
        if value != self._value:
            self._signal.value = self._value = value


class CocotbPort:
    """A ``gnarl.sw.runtime.machine.host.Port`` of a ``dut`` that has the host port and ports clk
    and rst.

    ``stalls`` is the share of cycles in which either stream pauses on the host's side, 0 to below
    1. Checks that a response that waits stays as it is. Counts ``cycles``.
    """

    def __init__(self, dut: Any, *, stalls: float = 0.0) -> None:
        self.cycles = 0
        self._dut = dut
        self._response_signals = (dut.host__response__valid, dut.host__response__payload)
        self._stalls = stalls
        self._random = random.Random(cocotb.RANDOM_SEED)
        self._waiting: int | None = None

    def write_words(self, address: int, words: Words) -> None:
        """See ``Port``; to be called under ``bridge``."""
        resume(self.exchange)(write_requests(address, words))

    def read_words(self, address: int, count: int) -> Words:
        """See ``Port``; to be called under ``bridge``."""
        return resume(self.exchange)(read_requests(address, count))

    def wait_idle(self, max_cycles: int) -> bool:
        """See ``Port``; to be called under ``bridge``."""
        end = self.cycles + max_cycles
        pause = 1
        while True:
            status = STATUS.from_bits(int(self.read_words(Register.STATUS, 1)[0]))
            if not status.busy:
                return True
            if self.cycles >= end:
                return False
            resume(self.step)(min(pause, max(1, end - self.cycles)))
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def reset(self) -> None:
        """One cycle of reset, whatever the streams are at."""
        self._dut.rst.value = 1
        self._dut.host__request__valid.value = 0
        await self.step()
        self._dut.rst.value = 0
        self._waiting = None

    async def step(self, cycles: int = 1) -> None:
        """Lets clock cycles pass without requests, and without taking responses."""
        self._dut.host__response__ready.value = 0
        if cycles > 1:
            await Timer(_PERIOD_NS * (cycles - 1) - _PERIOD_NS // 2, unit="ns")
            await FallingEdge(self._dut.clk)
        if cycles:
            await FallingEdge(self._dut.clk)
        self.cycles += cycles

    async def exchange(self, requests: Sequence[int]) -> Words:
        """Sends requests (bits of ``gnarl.hw.lib.machine.host.REQUEST``) and returns the words that
        they read."""
        dut = self._dut
        valid, payload = Driven(dut.host__request__valid), Driven(dut.host__request__payload)
        request_ready, ready = dut.host__request__ready, Driven(dut.host__response__ready)
        settled, next_cycle = ReadOnly(), FallingEdge(dut.clk)
        expected = sum(1 for request in requests if not request >> 63)
        sent, idle_cycles = 0, 0
        words: list[int] = []
        offered = False
        while sent < len(requests) or len(words) < expected:
            # A request that was offered has to stay until it is taken.
            offered = offered or (sent < len(requests) and not self._stall())
            valid.drive(int(offered))
            if offered:
                payload.drive(requests[sent])
            takes = not self._stall()
            ready.drive(int(takes))
            await settled
            idle_cycles += 1
            if offered and int(request_ready.value):
                sent, offered, idle_cycles = sent + 1, False, 0
            word = self._response()
            if word is not None and takes:
                words.append(word)
                self._waiting, idle_cycles = None, 0
            assert idle_cycles < _STALL_LIMIT, f"host port stalls after {sent} requests"
            await next_cycle
            self.cycles += 1
        valid.drive(0)
        ready.drive(0)
        return np.array(words, np.uint32)

    def _response(self) -> int | None:
        """The word that the response stream offers in this cycle."""
        valid, payload = self._response_signals
        word = int(payload.value) if int(valid.value) else None
        if self._waiting is not None:
            assert word == self._waiting, f"response changed from {self._waiting} to {word}"
        self._waiting = word
        return word

    def _stall(self) -> bool:
        return self._random.random() < self._stalls


async def open_port(dut: Any, *, stalls: float = 0.0) -> CocotbPort:
    """Starts the clock and resets; cycles begin, here and after each call, at the falling edge."""
    Clock(dut.clk, _PERIOD_NS, unit="ns").start()
    port = CocotbPort(dut, stalls=stalls)
    await port.reset()
    return port


async def use_driver(
    port: CocotbPort, memory_map: MemoryMap, digest: str, use: Callable[[HostDriver], Result]
) -> Result:
    """What ``use`` returns, a plain function that is given the driver of ``port``."""

    def with_driver() -> Result:
        return use(HostDriver(port, memory_map, digest))

    return await bridge(with_driver)()


def read_requests(address: int, count: int) -> list[int]:
    """Requests to read ``count`` words from ``address`` on; their data, all ones, is ignored."""
    return [(address + index) << 32 | 0xFFFFFFFF for index in range(count)]


def write_requests(address: int, words: Words) -> list[int]:
    """Requests to write ``words`` to ``address`` and the addresses that follow."""
    return [1 << 63 | (address + index) << 32 | int(word) for index, word in enumerate(words)]
