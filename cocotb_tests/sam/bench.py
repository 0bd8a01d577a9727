"""One block in cocotb: streams in and out of it, arrays beside it, pauses everywhere.

Cycles begin at the falling edge. An end of a stream sets its signals then (``begin``), and sees
what has come of it once all is settled (``end``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from amaranth.lib import stream, wiring
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from hw.lib.stream.memory_ports import ReadPort, WritePort
from hw.sam.token import format_stream, pack, unpack
from tests.support.sam_cases import Case

_QUIET_CYCLES = 12
"""Cycles after a run in which nothing may happen any more."""


class End(Protocol):
    def begin(self) -> None: ...
    def end(self) -> None: ...


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
        self._port = port
        self._rng = rng
        self._pauses = Pauses(rng)
        self._offered = False

    def begin(self) -> None:
        self._offered = self._offered or (bool(self.items) and not self._pauses())
        self._port.valid.value = int(self._offered)
        # What is there without being valid should not matter.
        width = len(self._port.payload)
        self._port.payload.value = self.items[0] if self._offered else self._rng.getrandbits(width)

    def end(self) -> None:
        if self._offered and int(self._port.ready.value):
            del self.items[0]
            self._offered = False


class Sink:
    """Takes what comes and gives it to ``take``; it has to stay as it is until it is taken."""

    def __init__(self, port: Port, rng: random.Random, take: Callable[[int], None]) -> None:
        self._port = port
        self._pauses = Pauses(rng)
        self._take = take
        self._ready = False
        self._waiting: int | None = None

    def begin(self) -> None:
        self._ready = not self._pauses()
        self._port.ready.value = int(self._ready)

    def end(self) -> None:
        bits = int(self._port.payload.value) if int(self._port.valid.value) else None
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


class Port:
    """Signals of a stream of the design."""

    def __init__(self, dut: Any, name: str) -> None:
        self.name = name
        self.valid = getattr(dut, f"{name}__valid")
        self.ready = getattr(dut, f"{name}__ready")
        self.payload = getattr(dut, f"{name}__payload")


class Bench:
    """Runs the block ``name`` of a ``SideBySide``."""

    def __init__(self, dut: Any, name: str, signature: wiring.Signature) -> None:
        self._dut = dut
        self._name = name
        self._members = dict(signature.members.items())

    def start_clock(self) -> None:
        Clock(self._dut.clk, 10, unit="ns").start()

    async def reset(self, rng: random.Random) -> None:
        """One cycle of reset, with inputs that should not matter."""
        for member, path in self._streams():
            port = Port(self._dut, path)
            if member.flow is wiring.In:
                port.valid.value = rng.getrandbits(1)
                port.payload.value = rng.getrandbits(len(port.payload))
            else:
                port.ready.value = rng.getrandbits(1)
        self._dut.rst.value = 1
        await FallingEdge(self._dut.clk)
        self._dut.rst.value = 0

    async def run(self, case: Case, rng: random.Random, cycles: int | None = None) -> None:
        """A run from reset to its end, or only its first ``cycles``; fails where it goes wrong."""
        self._set(case.settings)
        sources, given, written, memories, ends = self._ends(case, rng)

        def is_over() -> bool:
            return (
                not any(source.items for source in sources.values())
                and all(given[name] == case.outputs[name] for name in given)
                and all(len(written[name]) == len(case.writes[name]) for name in written)
                and all(memory.is_idle for memory in memories)
            )

        limit = 2000 + 60 * sum(map(len, [*case.inputs.values(), *case.outputs.values()]))
        quiet = 0
        for _ in range(limit if cycles is None else cycles):
            for end in ends:
                end.begin()
            await ReadOnly()
            for end in ends:
                end.end()
            self._check_status(is_over())
            quiet = quiet + 1 if is_over() and self._status("done", 1) else 0
            await FallingEdge(self._dut.clk)
            if quiet > _QUIET_CYCLES:
                break
        else:
            left = {name: len(source.items) for name, source in sources.items() if source.items}
            assert cycles is not None, f"{self._name} hangs: {left} tokens left, {written}"
            return
        counts = {name: self._status(name, 0) for name in case.counts}
        assert counts == case.counts, f"{self._name}: {counts}, not {case.counts}"

    def _ends(self, case: Case, rng: random.Random) -> tuple[Any, Any, Any, Any, list[End]]:
        sources: dict[str, Source] = {}
        given: dict[str, list[int]] = {}
        written: dict[str, list[tuple[int, int]]] = {}
        memories: list[Memory] = []
        sinks: list[Sink] = []
        for name, member in self._members.items():
            if not member.is_signature:
                continue
            path = f"{self._name}__{name}"
            array = name.removeprefix("mem_")
            if isinstance(member.signature, ReadPort):
                width = (
                    member.signature.members["data"]
                    .signature.members["payload"]
                    .shape.elem_shape.width
                )
                rows = [
                    sum(one << place * width for place, one in enumerate(row))
                    for row in case.reads[array]
                ]
                address, data = (Port(self._dut, f"{path}__{end}") for end in ("address", "data"))
                memories.append(Memory(address, data, rng, rows))
            elif isinstance(member.signature, WritePort):
                written[array] = []
                shape = _payload(member.signature.members["write"].signature)
                take = _writes(written[array], shape["address"].width, case.writes[array], path)
                sinks.append(Sink(Port(self._dut, f"{path}__write"), rng, take))
            elif member.flow is wiring.In:
                width = _width(member.signature)
                bits = [pack(token, width) for token in case.inputs[name]]
                sources[name] = Source(Port(self._dut, path), rng, bits)
            else:
                given[name] = []
                take = _gives(given[name], _width(member.signature), case.outputs[name], path)
                sinks.append(Sink(Port(self._dut, path), rng, take))
        return sources, given, written, memories, [*sources.values(), *memories, *sinks]

    def _streams(self) -> list[tuple[wiring.Member, str]]:
        found = []
        for name, member in self._members.items():
            if not member.is_signature:
                continue
            path = f"{self._name}__{name}"
            if isinstance(member.signature, stream.Signature):
                found.append((member, path))
            else:
                for end, one in member.signature.members.items():
                    found.append((one, f"{path}__{end}"))
        return found

    def _set(self, settings: dict[str, int]) -> None:
        for name, value in settings.items():
            getattr(self._dut, f"{self._name}__{name}").value = value

    def _status(self, name: str, default: int) -> int:
        if name not in self._members:
            return default
        return int(getattr(self._dut, f"{self._name}__{name}").value)

    def _check_status(self, is_over: bool) -> None:
        assert not self._status("fault", 0), f"{self._name}: fault"
        assert is_over or not self._status("done", 0), f"{self._name}: done too early"


def _width(signature: stream.Signature) -> int:
    """Bits of payload of a stream of tokens."""
    return _payload(signature)["payload"].width


def _payload(signature: stream.Signature) -> Any:
    return signature.members["payload"].shape


def _gives(
    given: list[int], width: int, expected: Sequence[int], path: str
) -> Callable[[int], None]:
    def take(bits: int) -> None:
        given.append(unpack(bits, width))
        assert given[-1:] == expected[len(given) - 1 :][:1], (
            f"{path}: {format_stream(given)}, not {format_stream(expected)}"
        )

    return take


def _writes(
    written: list[tuple[int, int]], address_bits: int, expected: Sequence[int], path: str
) -> Callable[[int], None]:
    def take(bits: int) -> None:
        place = len(written)
        written.append((bits & (1 << address_bits) - 1, bits >> address_bits))
        assert place < len(expected) and written[-1] == (place, expected[place]), (
            f"{path}: write {place} is {written[-1]}, not of {expected}"
        )

    return take
