"""The driver of every accelerator, in simulation as on boards.

``HostDriver`` speaks to the registers and windows of ``gnarl.hw.lib.machine.host`` through a
``Port``::

    with Simulator(verilog, "dpu_d3_b64") as port:
        driver = HostDriver(port, memory_map(config), config.digest)
        driver.write_window("instructions", rows)
        driver.limit(10_000)
        status = driver.run()
        words = driver.read_window("data", row=4, rows=2)
        driver.cycles(), driver.counters()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.machine.memory_map import (
    CONTROL,
    MAGIC,
    NO_LIMIT,
    STATUS,
    VERSION,
    MemoryMap,
    Register,
    Window,
)

Words = npt.NDArray[np.uint32]

CounterReads = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By name of counter: cycles of the run in which it was read, and counts, both int64 [n]."""

_MOST_READS = 1024
"""Of each counter: more than a picture shows."""


class HostError(GnarlError):
    """The hardware is not what the driver is for, or does not answer as it should."""


class HostTimeoutError(HostError):
    """An accelerator that is still busy after the cycles it was given."""


class AcceleratorError(HostError):
    """A run that the accelerator ended with an error; ``status`` has its cause and detail."""

    def __init__(self, text: str, status: Status) -> None:
        self.status = status
        super().__init__(text)


class Port(Protocol):
    """A way to an accelerator's host port. Addresses and counts are in 32-bit words."""

    def write_words(self, address: int, words: Words) -> None:
        """Writes ``words``, uint32 [n], to ``address`` and the addresses that follow."""

    def read_words(self, address: int, count: int) -> Words:
        """What ``count`` addresses from ``address`` on hold, uint32 [count]."""

    def wait_idle(self, max_cycles: int) -> bool:
        """Waits until the status register says that the accelerator is not busy.

        False if it still is after ``max_cycles`` clock cycles, or a little later.
        """


@runtime_checkable
class BackDoor(Protocol):
    """What a simulated port can have besides: access to RAMs that takes no clock cycles.

    Both are for windows with ``Window.rams``, rows that exist, words that fit, and an accelerator
    that is not busy: ``HostDriver`` checks them.
    """

    def poke(self, window: Window, row: int, words: Words) -> None:
        """Writes whole rows, from ``row`` on: uint32 [rows, words of a row]."""

    def peek(self, window: Window, row: int, rows: int) -> Words:
        """``rows`` rows, from ``row`` on: uint32 [rows, words of a row]."""


@dataclass(frozen=True)
class Status:
    """What an accelerator is doing, or how it ended. ``cause`` 0: without an error."""

    busy: bool
    done: bool
    cause: int
    detail: int


class HostDriver:
    """An accelerator behind ``port``: the one that ``memory_map`` and ``digest`` belong to.

    ``digest`` is the configuration's, hexadecimal. Raises ``HostError`` where the hardware has no
    host port, one of another version, or another configuration.

    Windows that are RAMs are accessed through the port's ``BackDoor``, where it has one.
    """

    def __init__(self, port: Port, memory_map: MemoryMap, digest: str) -> None:
        self._port = port
        self._back_door = port if isinstance(port, BackDoor) else None
        self._map = memory_map
        magic, version, own_digest = (int(word) for word in port.read_words(Register.MAGIC, 3))
        if magic != MAGIC:
            raise HostError(f"no accelerator: word 0 is {magic:#010x}, must be {MAGIC:#010x}")
        if version != VERSION:
            raise HostError(f"host port of version {version}: must be version {VERSION}")
        if own_digest != int(digest[:8], 16):
            raise HostError(
                f"hardware of another configuration: its digest begins with {own_digest:08x}, "
                f"must begin with {digest[:8]}"
            )

    def limit(self, cycles: int) -> None:
        """Runs of more cycles end with the error ``CommonCause.CYCLE_LIMIT``, until ``clear``.

        ``cycles``: at least 0; as many as no run has are no limit.
        """
        kept = min(cycles, (1 << self._map.limit_bits) - 1)
        words = np.array([kept & 0xFFFF_FFFF, kept >> 32], np.uint32)
        self._port.write_words(Register.LIMIT_LO, words)

    def start(self) -> None:
        """Begins a run; ignored while an error is pending."""
        self._control("start")

    def stop(self) -> None:
        """Ends a run before its time."""
        self._control("stop")

    def clear(self) -> None:
        """Brings the accelerator's core to its state after reset; memories stay as they are."""
        self._control("clear")

    def status(self) -> Status:
        word, detail = (int(word) for word in self._port.read_words(Register.STATUS, 2))
        fields = STATUS.from_bits(word)
        return Status(bool(fields.busy), bool(fields.done), fields.cause, detail)

    def wait(self, max_cycles: int = NO_LIMIT) -> Status:
        """The status once the accelerator isn't busy; ``HostTimeoutError`` if that takes longer."""
        idle = self._port.wait_idle(max_cycles)
        status = self.status()
        if not idle and status.busy:
            raise HostTimeoutError(
                f"still busy after {max_cycles} cycles of waiting: status {self._describe(status)}"
            )
        return status

    def run(self, max_cycles: int = NO_LIMIT) -> Status:
        """Starts, and waits for the end. Raises ``AcceleratorError``, ``HostTimeoutError``."""
        self.start()
        return self.finish(max_cycles)

    def finish(self, max_cycles: int = NO_LIMIT) -> Status:
        """Waits for the end of a run. Raises ``AcceleratorError``, ``HostTimeoutError``."""
        status = self.wait(max_cycles)
        if status.cause or not status.done:
            raise AcceleratorError(
                f"stopped after {self.cycles()} cycles: {self._describe(status)}", status
            )
        return status

    def sample(self, names: Sequence[str]) -> CounterReads:
        """Reads counters again and again until the accelerator is not busy.

        For simulated ports, which serve a request a cycle. Of long runs reads are few and about
        evenly spaced.
        """
        addresses = {
            name: self._map.counter_address(self._map.counters.index(name)) for name in names
        }
        first, end = Register.STATUS, max(addresses.values()) + 2
        reads: list[Words] = []
        gap = 0
        while True:
            reads.append(self._port.read_words(first, end - first))
            if not STATUS.from_bits(int(reads[-1][0])).busy:
                break
            if len(reads) == _MOST_READS:
                reads, gap = reads[::2], 2 * gap + end - first
            if gap:
                self._port.wait_idle(gap)
        words = np.array(reads, np.int64)
        wide = words[:, :-1] | words[:, 1:] << 32
        cycles = wide[:, Register.CYCLES_LO - first]
        return {
            name: (cycles + address - Register.CYCLES_LO, wide[:, address - first])
            for name, address in addresses.items()
        }

    def cycles(self) -> int:
        """Cycles of the last run, from start to its end, or so far."""
        return self._wide(Register.CYCLES_LO)

    def counters(self) -> dict[str, int]:
        """The target's own counters, by name."""
        names = self._map.counters
        words = self._port.read_words(self._map.counter_address(0), 2 * len(names)).tolist()
        return {
            name: high << 32 | low
            for name, low, high in zip(names, words[::2], words[1::2], strict=True)
        }

    def write_window(self, name: str, words: npt.ArrayLike, row: int = 0) -> None:
        """Writes whole rows of a memory, from ``row`` on: uint32 [rows, words of a row].

        Raises ``HostError`` while the accelerator is busy, and where rows or values don't fit.
        """
        window = self._map.window(name)
        values = np.asarray(words)
        if values.ndim != 2 or values.shape[1] != window.words:
            raise HostError(
                f"window {name}: must be written in rows of {window.words} words, "
                f"not as an array of {values.shape}"
            )
        if values.dtype.kind not in "iu" or (
            values.size and (values.min() < 0 or int(values.max()) >> window.word_bits)
        ):
            raise HostError(
                f"window {name}: words must be whole numbers from 0 to 2**{window.word_bits} - 1"
            )
        self._require_rows(window, row, len(values))
        values = np.ascontiguousarray(values, np.uint32)
        if self._back_door and window.rams:
            self._back_door.poke(window, row, values)
            return
        for address, part in self._spans(window, row, values):
            self._port.write_words(address, part.reshape(-1))

    def read_window(self, name: str, row: int, rows: int) -> Words:
        """``rows`` rows of a memory, from ``row`` on: uint32 [rows, words of a row].

        Raises ``HostError`` while the accelerator is busy, and for rows out of range.
        """
        window = self._map.window(name)
        self._require_rows(window, row, rows)
        if self._back_door and window.rams:
            return self._back_door.peek(window, row, rows)
        values = np.empty((rows, window.words), np.uint32)
        for address, part in self._spans(window, row, values):
            part[:] = self._port.read_words(address, part.size).reshape(part.shape)
        return values

    @staticmethod
    def _spans(window: Window, row: int, values: Words) -> Iterator[tuple[int, Words]]:
        """Rows that lie at adjoining addresses: all at once, or one by one for the gaps between."""
        step = len(values) if window.words == window.stride else 1
        for first in range(0, len(values), max(1, step)):
            yield window.base + (row + first) * window.stride, values[first : first + step]

    def _control(self, bit: str) -> None:
        word = CONTROL.const({bit: 1}).as_value().value
        self._port.write_words(Register.CONTROL, np.array([word], np.uint32))

    def _wide(self, address: int) -> int:
        low, high = (int(word) for word in self._port.read_words(address, 2))
        return high << 32 | low

    def _require_rows(self, window: Window, row: int, rows: int) -> None:
        if row < 0 or rows < 0 or row + rows > window.rows:
            raise HostError(
                f"window {window.name}: has rows 0 to {window.rows - 1}, "
                f"asked for {row} to {row + rows - 1}"
            )
        if self.status().busy:
            raise HostError(
                f"window {window.name}: its memory cannot be accessed while the accelerator is busy"
            )

    def _describe(self, status: Status) -> str:
        """E.g. ``busy`` or ``error 4 (WRITE_TO_FULL_BANK), detail 17``."""
        if status.cause:
            name = self._map.cause_name(status.cause) or "no known cause"
            return f"error {status.cause} ({name}), detail {status.detail}"
        return "busy" if status.busy else "done" if status.done else "idle, never done"
