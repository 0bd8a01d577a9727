"""The host's side of an accelerator in cocotb, for the same driver as everywhere else.

What happens in each cycle is C++, ``host.cpp`` with ``host.v``: Python begins transfers of many
words, and waits for their ends. ``HostDriver`` is not a coroutine; cocotb's ``bridge`` lets it run
in a test::

    @cocotb.test()
    async def runs(dut):
        port = await open_port(dut, stalls=0.3)
        await use_driver(port, memory_map(config), config.digest, lambda driver: driver.run(1000))
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import cocotb
import numpy as np
import numpy.typing as npt
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import FallingEdge, Timer, ValueChange

from gnarl.hw.lib.machine.memory_map import STATUS, MemoryMap, Register
from gnarl.sw.runtime.machine.host import HostDriver, Words

Result = TypeVar("Result")

Requests = npt.NDArray[np.uint64]

_WRITE = np.uint64(1 << 63)

_STALL_LIMIT = 1000

_PERIOD_NS = 10

_LONGEST_PAUSE = 64
"""Cycles from one look at the status to the next, at most: without Python they are fast."""

STALLED, CHANGED = 1, 2
"""What ``host_error`` of ``host.cpp`` says."""


class CocotbPort:
    """A ``gnarl.sw.runtime.machine.host.Port`` of a ``dut`` that ``run_machine`` runs.

    ``stalls`` is the share of cycles in which either stream pauses on the host's side, 0 to below
    1. Checks that a response that waits stays as it is. Counts ``cycles``.
    """

    def __init__(self, dut: Any, *, stalls: float = 0.0) -> None:
        self.cycles = 0
        self._dut = dut
        self._posted: list[Requests] = []
        self._begun = int(dut.begun.value)
        self._ended = ValueChange(dut.ended)
        self._host = ctypes.CDLL(None)
        for name in ("cycles", "sent"):
            getattr(self._host, f"host_{name}").restype = ctypes.c_uint64
        seed, limit = ctypes.c_uint64(cocotb.RANDOM_SEED), ctypes.c_uint64(_STALL_LIMIT)
        self._host.host_open(ctypes.c_double(stalls), seed, limit)

    def write_words(self, address: int, words: Words) -> None:
        """See ``Port``. The words are sent with what follows: each way to cocotb takes its time."""
        self._posted.append(write_requests(address, words))

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
        """One cycle of reset, a cycle later, whatever the streams are at."""
        self._dut.rst.value = 1
        await self.step()
        self._dut.rst.value = 0
        await self.step()

    async def step(self, cycles: int = 1) -> None:
        """Lets clock cycles pass without requests, and without taking responses."""
        await self.exchange([])
        if cycles > 1:
            await Timer(_PERIOD_NS * (cycles - 1) - _PERIOD_NS // 2, unit="ns")
            await FallingEdge(self._dut.clk)
        if cycles:
            await FallingEdge(self._dut.clk)
        self.cycles += cycles

    async def exchange(self, requests: Requests | Sequence[int]) -> Words:
        """Sends requests (bits of ``gnarl.hw.lib.machine.host.REQUEST``), behind words that are
        written, and returns the words that they read."""
        sent = np.concatenate([*self._posted, np.array(requests, np.uint64)])
        self._posted.clear()
        words = np.empty(np.count_nonzero(sent < _WRITE), np.uint32)
        if len(sent):
            await self._send(sent)
            self._host.host_words(words.ctypes.data_as(ctypes.c_void_p))
        return words

    async def offer(self, requests: Requests, cycles: int) -> None:
        """Offers requests for so many cycles, and takes no response."""
        await self._send(requests, cycles)

    async def _send(self, requests: Requests, cycles: int = 0) -> None:
        numbers = (ctypes.c_uint64(number) for number in (len(requests), cycles))
        self._host.host_send(requests.ctypes.data_as(ctypes.c_void_p), *numbers)
        self._begun ^= 1
        self._dut.begun.value = self._begun
        await self._ended
        self.cycles += self._host.host_cycles()
        error = self._host.host_error()
        assert error != STALLED, f"host port stalls after {self._host.host_sent()} requests"
        assert error != CHANGED, "a response changed while it waited"


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

    result = await bridge(with_driver)()
    await port.exchange([])
    return result


def read_requests(address: int, count: int) -> Requests:
    """Requests to read ``count`` words from ``address`` on; their data, all ones, is ignored."""
    return _addresses(address, count) | np.uint64(0xFFFF_FFFF)


def write_requests(address: int, words: Words | Sequence[int]) -> Requests:
    """Requests to write ``words`` to ``address`` and the addresses that follow."""
    return _WRITE | _addresses(address, len(words)) | np.array(words, np.uint64)


def _addresses(first: int, count: int) -> Requests:
    return np.arange(first, first + count, dtype=np.uint64) << np.uint64(32)
