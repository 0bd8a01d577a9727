"""The port through which a host drives an accelerator, the same for every target."""

from __future__ import annotations

import functools
import operator
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.machine.memory_map import (
    ADDRESS_BITS,
    CONTROL,
    MAGIC,
    STATUS,
    VERSION,
    MemoryMap,
    Register,
    Window,
)

REQUEST = data.StructLayout({"data": 32, "address": ADDRESS_BITS, "write": 1})
"""What the host asks for: ``data`` is ignored unless ``write`` is 1."""


_ANSWER_CYCLES = 3
"""From a read that is served to its answer's place among the responses."""


class HostSignature(wiring.Signature):
    """The streams between host and accelerator, as the accelerator sees them.

    Members: ``request``, a stream in of ``REQUEST``; ``response``, a stream out with the 32-bit
    word of each read, in the order of the reads. Writes have no response.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "request": In(stream.Signature(REQUEST)),
                "response": Out(stream.Signature(unsigned(32))),
            }
        )


class WindowSignature(wiring.Signature):
    """A bus from the host port to one memory.

    Members: ``row`` and ``lane`` of a word, of at least one bit each; ``selected``: they name a
    word of this window, which memories behind several windows need to know; ``write_enable`` and
    ``write_data`` for it; and ``read_data`` in, the word that ``row`` and ``lane`` named a cycle
    before.
    """

    def __init__(self, window: Window) -> None:
        super().__init__(
            {
                "row": Out(max(1, window.row_bits)),
                "lane": Out(max(1, window.lane_bits)),
                "selected": Out(1),
                "write_enable": Out(1),
                "write_data": Out(window.word_bits),
                "read_data": In(window.word_bits),
            }
        )


class HostPort(wiring.Component):
    """Registers, counters and memory windows behind a request and a response stream.

    Requests are served in order, one a cycle, as long as the host takes its responses; behind a
    write to ``CONTROL`` that gives a pulse, two cycles later. A response comes 5 cycles after its
    request. Addresses without a register or word read as 0, and writes to them are dropped; so do
    all windows while the accelerator is busy.

    Parameters: ``memory_map``; ``digest``, 32 bits that name the configuration.

    Members
    -------
    host
        to the outside: ``HostSignature``.
    start, stop, clear
        out: pulses of one cycle. ``busy``, ``done`` and ``cause`` must show what a pulse did from
        the next cycle on, so that a host that asks for the status after a start sees it busy.
    limit
        out: cycles that runs may have, as the host has written it last; all ones behind a clear.
    busy, done, cause, detail, cycles
        in: the state that the registers show. While ``busy`` is 0 the memories are the host's.
    counters
        in: a structure of 64-bit numbers, by the names of the memory map; absent if it has none.
    windows
        ``windows.NAME``: a ``WindowSignature`` for each window; absent if there are none.
    """

    def __init__(self, memory_map: MemoryMap, digest: int) -> None:
        self._map = memory_map
        self._digest = digest
        members: dict[str, Any] = {
            "host": Out(HostSignature()),
            "start": Out(1),
            "stop": Out(1),
            "clear": Out(1),
            "limit": Out(memory_map.limit_bits, init=(1 << memory_map.limit_bits) - 1),
            "busy": In(1),
            "done": In(1),
            "cause": In(8),
            "detail": In(32),
            "cycles": In(64),
        }
        if memory_map.counters:
            members["counters"] = In(data.StructLayout(dict.fromkeys(memory_map.counters, 64)))
        if memory_map.windows:
            members["windows"] = Out(
                wiring.Signature(
                    {window.name: Out(WindowSignature(window)) for window in memory_map.windows}
                )
            )
        super().__init__(members)

    @property
    def memory_map(self) -> MemoryMap:
        return self._map

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.responses = responses = fifo.SyncFIFO(width=32, depth=2 + _ANSWER_CYCLES)
        wiring.connect(m, responses.r_stream, wiring.flipped(self.host.response))

        # The request being served: memories see its address, and answer a cycle later.
        request = Signal(REQUEST)
        held = Signal()
        serve = Signal()
        accept = Signal()
        pulses = Signal(CONTROL)
        m.d.comb += [
            # Places are left for all answers that are on their way, and for the next.
            serve.eq(held & (responses.level < 2) & ~pulses.as_value().any()),
            accept.eq(~held | serve),
            self.host.request.ready.eq(accept),
        ]
        # Whether a request is for a window is found as it comes: the way from here to the memories
        # is long.
        named_windows = Signal(len(self._map.windows))
        coming = self.host.request.payload
        with m.If(accept):
            m.d.sync += [
                held.eq(self.host.request.valid),
                request.eq(coming),
                named_windows.eq(Cat(_names(coming.address, each) for each in self._map.windows)),
            ]

        read = Signal()
        write = Signal()
        m.d.comb += [read.eq(serve & ~request.write), write.eq(serve & request.write)]

        # Pulses come from registers: they go to all of an accelerator.
        m.d.sync += pulses.eq(0)
        with m.If(write & (request.address == Register.CONTROL)):
            m.d.sync += pulses.eq(request.data)
        m.d.comb += [
            self.start.eq(pulses.start),
            self.stop.eq(pulses.stop),
            self.clear.eq(pulses.clear),
        ]
        self._keep_limit(m, request, write)

        answers = [
            self._serve_registers(m, request, read),
            *self._serve_windows(m, request, write, named_windows),
        ]
        # Memories take long to answer, and are far apart: registers end the ways from them, and
        # the choice of one.
        under_way, answer = Signal(_ANSWER_CYCLES), Signal(32)
        m.d.sync += [
            under_way.eq(Cat(read, under_way)),
            answer.eq(functools.reduce(operator.or_, answers)),
        ]
        m.d.comb += [responses.w_en.eq(under_way[-1]), responses.w_data.eq(answer)]
        return m

    def _keep_limit(self, m: Module, request: Any, write: Any) -> None:
        for address, half in (
            (Register.LIMIT_LO, self.limit[:32]),
            (Register.LIMIT_HI, self.limit[32:]),
        ):
            if len(half):
                with m.If(write & (request.address == address)):
                    m.d.sync += half.eq(request.data)
        with m.If(self.clear):
            m.d.sync += self.limit.eq(~0)

    def _serve_registers(self, m: Module, request: Any, read: Any) -> Any:
        """The word of a register two cycles later, 0 where none was read."""
        status = Signal(STATUS)
        m.d.comb += [
            status.busy.eq(self.busy),
            status.done.eq(self.done),
            status.cause.eq(self.cause),
        ]
        values: dict[int, Any] = {
            Register.MAGIC: MAGIC,
            Register.VERSION: VERSION,
            Register.DIGEST: self._digest,
            Register.STATUS: status.as_value(),
            Register.DETAIL: self.detail,
        }
        counters: dict[int, Any] = {Register.CYCLES_LO: self.cycles}
        for index, name in enumerate(self._map.counters):
            counters[self._map.counter_address(index)] = self.counters[name]
        answer = Signal(32)
        high = Signal(32)
        m.d.sync += answer.eq(0)
        with m.If(read), m.Switch(request.address):
            for address, value in values.items():
                with m.Case(address):
                    m.d.sync += answer.eq(value)
            for address, value in counters.items():
                with m.Case(address):
                    m.d.sync += [answer.eq(value[:32]), high.eq(value[32:])]
                with m.Case(address + 1):
                    m.d.sync += answer.eq(high)
        word = Signal(32, name="register_word")
        m.d.sync += word.eq(answer)
        return word

    def _serve_windows(self, m: Module, request: Any, write: Any, named: Any) -> list[Any]:
        """The word of each window two cycles later, 0 where the request is for another place.

        ``named``: for each window, whether it has the word that the request is for.
        """
        words = []
        for number, window in enumerate(self._map.windows):
            bus = getattr(self.windows, window.name)
            row, lane = _row_and_lane(request.address, window)
            chosen = Signal(name=f"{window.name}_chosen")
            was_chosen = Signal(name=f"{window.name}_was_chosen")
            m.d.comb += [
                chosen.eq(named[number] & ~self.busy),
                bus.row.eq(row),
                bus.lane.eq(lane),
                bus.selected.eq(chosen),
                bus.write_enable.eq(write & chosen),
                bus.write_data.eq(request.data[: window.word_bits]),
            ]
            word = Signal(window.word_bits, name=f"{window.name}_word")
            m.d.sync += [was_chosen.eq(chosen), word.eq(Mux(was_chosen, bus.read_data, 0))]
            words.append(word)
        return words


def _row_and_lane(address: Value, window: Window) -> tuple[Value, Value]:
    row_start, base_start = window.lane_bits, window.lane_bits + window.row_bits
    return address[row_start:base_start], address[:row_start]


def _names(address: Value, window: Window) -> Value:
    """Whether ``address`` is that of a word of ``window``."""
    row, lane = _row_and_lane(address, window)
    base_start = window.lane_bits + window.row_bits
    is_inside = (row < window.rows) & (lane < window.words)
    return (address[base_start:] == window.base >> base_start) & is_inside
