"""Ends of streams in cocotb: what offers, takes and answers, with random pauses.

Payloads are whole numbers, the bits of what the stream carries. Cycles begin at the falling edge:
an end sets its signals then (``begin``), and sees what has come of it once all is settled
(``end``)::

    sent, taken = [1, 2, 3], []
    ends = [Source(Port(dut, "i"), rng, sent), Sink(Port(dut, "o"), rng, taken.append)]
    while len(taken) < len(sent):
        await settle(ends)
        await FallingEdge(dut.clk)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from cocotb.triggers import ReadOnly


class Driven:
    """A signal that is written where its value changes: cocotb takes its time for each write."""

    def __init__(self, signal: Any) -> None:
        self._signal = signal
        self._value: int | None = None

    def drive(self, value: int) -> None:
        if value != self._value:
            self._signal.value = self._value = value


class Port:
    """Signals of the stream that is member ``name`` of the top ``dut``."""

    def __init__(self, dut: Any, name: str) -> None:
        self.name = name
        self.valid = getattr(dut, f"{name}__valid")
        self.ready = getattr(dut, f"{name}__ready")
        self.payload = getattr(dut, f"{name}__payload")


class End(Protocol):
    """What drives signals at the beginning of each cycle, and looks at them at its end."""

    def begin(self) -> None: ...
    def end(self) -> None: ...


async def settle(ends: Sequence[End]) -> None:
    """One cycle of all ends, up to where its signals have settled, just before the clock's edge."""
    for end in ends:
        end.begin()
    await ReadOnly()
    for end in ends:
        end.end()


class Pauses:
    """How often an end of a stream pauses: never, now and then, mostly, or in long bursts."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._share = rng.choice([0.0, 0.0, 0.2, 0.5, 0.9])
        self._lengths = rng.choice([1, 1, 1, 12])
        self._left = 0

    def __call__(self) -> bool:
        if self._left == 0 and self._rng.random() < self._share / self._lengths:
            self._left = self._rng.randint(1, 2 * self._lengths - 1)
        self._left = max(0, self._left - 1)
        return self._left > 0 or (self._lengths == 1 and self._rng.random() < self._share)


class Source:
    """Offers ``items`` (bits) in order, each from some cycle on until it is taken."""

    def __init__(self, port: Port, rng: random.Random, items: Sequence[int] = ()) -> None:
        self.items = list(items)
        self._valid, self._payload = Driven(port.valid), Driven(port.payload)
        self._ready = port.ready
        self._rng = rng
        self._pauses = Pauses(rng)
        self._offered = False
        # What is there without being valid should not matter.
        self._width = len(port.payload)
        self._nothing = rng.getrandbits(self._width)

    def begin(self) -> None:
        self._offered = self._offered or (bool(self.items) and not self._pauses())
        self._valid.drive(int(self._offered))
        self._payload.drive(self.items[0] if self._offered else self._nothing)

    def end(self) -> None:
        if self._offered and self._ready.value:
            self._nothing = self._rng.getrandbits(self._width)
            del self.items[0]
            self._offered = False


class Sink:
    """Takes what comes and gives it to ``take``; it has to stay as it is until it is taken."""

    def __init__(self, port: Port, rng: random.Random, take: Callable[[int], None]) -> None:
        self._port = port
        self._ready_signal = Driven(port.ready)
        self._pauses = Pauses(rng)
        self._take = take
        self._ready = False
        self._waiting: int | None = None

    def begin(self) -> None:
        self._ready = not self._pauses()
        self._ready_signal.drive(int(self._ready))

    def end(self) -> None:
        bits = int(self._port.payload.value) if self._port.valid.value else None
        if self._waiting is not None:
            assert bits == self._waiting, f"{self._port.name}: {self._waiting:#x} became {bits}"
        self._waiting = None if self._ready else bits
        if bits is not None and self._ready:
            self._take(bits)


class Memory:
    """Answers reads of ``rows`` (bits) in order, after any number of cycles."""

    def __init__(self, address: Port, data: Port, rng: random.Random, rows: list[int]) -> None:
        self._name = address.name
        self._rows = rows
        self._rng = rng
        self._requests = Sink(address, rng, self._request)
        self._answers = Source(data, rng)
        self._latency = rng.choice([1, 1, 4, 15])
        self._under_way: list[tuple[int, int]] = []

    def _request(self, row: int) -> None:
        assert row < len(self._rows), f"{self._name}: row {row} of {len(self._rows)}"
        self._under_way.append((self._rng.randint(1, self._latency), self._rows[row]))

    def begin(self) -> None:
        self._requests.begin()
        self._answers.begin()

    def end(self) -> None:
        self._answers.end()
        self._under_way = [(left - 1, row) for left, row in self._under_way]
        while self._under_way and self._under_way[0][0] <= 0:
            self._answers.items.append(self._under_way.pop(0)[1])
        self._requests.end()

    @property
    def is_idle(self) -> bool:
        return not self._under_way and not self._answers.items
