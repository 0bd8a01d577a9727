"""One block in cocotb: streams in and out of it, arrays beside it, pauses everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data, stream, wiring
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from cocotb_tests.lib.streams import End, Memory, Port, Sink, Source, settle
from gnarl.hw.lib.stream.memory_ports import ReadPort, WritePort
from tests.support.sam.cases import Case
from tests.support.sam.tokens import format_stream, pack, unpack

_QUIET_CYCLES = 12
"""Cycles after a run in which nothing may happen any more."""


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
            await settle(ends)
            over = is_over()
            self._check_status(over)
            quiet = quiet + 1 if over and self._status("done", 1) else 0
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
                layout = member.signature.members["data"].signature.members["payload"].shape
                rows = [_packed(row, layout) for row in case.reads[array]]
                address, data = (Port(self._dut, f"{path}__{end}") for end in ("address", "data"))
                memories.append(Memory(address, data, rng, rows))
            elif isinstance(member.signature, WritePort):
                written[array] = []
                shape = _payload(member.signature.members["write"].signature)
                rows = [_packed(row, shape["data"].shape) for row in case.writes[array]]
                take = _writes(written[array], shape["address"].width, rows, path)
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


def _packed(row: list[int], layout: data.ArrayLayout) -> int:
    width = Shape.cast(layout.elem_shape).width
    return sum(word << place * width for place, word in enumerate(row))


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
