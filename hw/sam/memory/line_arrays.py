"""A memory of lines for the arrays of all blocks, in channels."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_mux import LineMux
from gnarl.hw.lib.lines.write_buffer import WriteBuffer
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.select import selected
from gnarl.hw.sam.memory.arrays import Arrays, array_ports
from gnarl.hw.sam.memory.line_placement import (
    all_lines,
    channel,
    line_place_layout,
    rows_per_line,
    words_window,
)
from gnarl.hw.sam.memory.line_reader import LineReader

WRITTEN_LINES = 2
"""Lines that a port keeps of those that it writes."""


class LineArrays(wiring.Component):
    """Arrays in a memory of lines: line a lies in channel a modulo their number.

    Each array that is read has a ``LineReader``, each one that is written a ``WriteBuffer``, in
    which words become lines. Ports of a channel take turns. A port that is read takes a line a
    cycle: of lines that come for it in a cycle the one from the lowest channel.

    The channels are ``LinePort``s. What is behind them here is a model of a memory off the chip, a
    ``LineMemory`` each, which the host loads and reads while no run is going on; a controller would
    take its place, and would have to be reset with the rest.

    Parameters: ``arrays``, windows and whether their blocks write them: there is room for all of
    their rows; ``address_bits`` of ports; ``line_words``; ``channels``, a power of two;
    ``latency``, ``line_cycles`` of a channel, as ``LineMemory`` has them; ``slots``, ``ahead``,
    ``in_flight`` as for ``LineReader``.

    Members: ``ports.WINDOW``, a ``ReadPort`` or ``WritePort`` in for each array; ``windows.words``,
    a ``WindowSignature`` in; ``places`` in: an array of ``line_place_layout``, the same during a
    run; ``faults`` out: a bit for each array, it is asked for a row beyond its place; ``busy`` in:
    a run is going on; ``drain`` in: nothing more is written; ``settled`` out: no channel has
    anything to do, and with ``drain`` all that was written is in memory; ``moves`` out: a bit for
    each channel, it is in use; ``accepts`` out: likewise, it begins with a line; ``lines`` out: a
    bit for each array, a line of it goes to a channel, as a request or to be written; ``reset`` in:
    forgets all that is under way.
    """

    def __init__(
        self,
        arrays: Arrays,
        address_bits: int,
        *,
        line_words: int,
        channels: int,
        latency: int,
        line_cycles: int,
        slots: int,
        ahead: int,
        in_flight: int,
    ) -> None:
        self._arrays = tuple(arrays)
        self._address_bits = address_bits
        self._line_words = line_words
        self._channels = channels
        self._latency = latency
        self._line_cycles = line_cycles
        self._slots = slots
        self._ahead = ahead
        self._in_flight = in_flight
        windows = [window for window, _ in self._arrays]
        lines = all_lines(windows, line_words)
        self._line_bits = max(1, (lines - 1).bit_length())
        self._channel_bits = (channels - 1).bit_length()
        self._window = words_window(windows, line_words, channels, "")
        self._channel_window = Window(
            "channel", -(-lines // channels), line_words, self._window.word_bits
        )
        self._tag_bits = (slots - 1).bit_length()
        place = line_place_layout(windows, line_words)
        super().__init__(
            {
                "ports": In(array_ports(self._arrays, address_bits)),
                "windows": In(wiring.Signature({"words": Out(WindowSignature(self._window))})),
                "places": In(data.ArrayLayout(place, len(self._arrays))),
                "faults": Out(len(self._arrays)),
                "busy": In(1),
                "drain": In(1),
                "settled": Out(1),
                "moves": Out(channels),
                "accepts": Out(channels),
                "lines": Out(len(self._arrays)),
                "reset": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        row_bits = max(1, self._channel_window.row_bits)
        turns, memories = [], []
        for number in range(self._channels):
            mux = LineMux(len(self._arrays), row_bits, self._line_words, self._tag_bits)
            m.submodules[f"turns_{number}"] = ResetInserter(self.reset)(mux)
            memory = LineMemory(
                self._channel_window,
                self._line_words,
                self._latency,
                len(mux.down.request.payload.tag),
                self._line_cycles,
            )
            m.submodules[channel(number)] = ResetInserter(self.reset)(memory)
            wiring.connect(m, mux.down, memory.port)
            m.d.comb += memory.busy.eq(self.busy)
            turns.append(mux)
            memories.append(memory)

        settled = [mux.up0.idle for mux in turns]
        for number, (window, writes) in enumerate(self._arrays):
            ups = [getattr(mux, f"up{number}") for mux in turns]
            if writes:
                settled.append(self._connect_writer(m, number, window, ups))
            else:
                self._connect_reader(m, number, window, ups)
        m.d.comb += [
            self.settled.eq(Cat(settled).all()),
            self.moves.eq(Cat(memory.moves for memory in memories)),
            self.accepts.eq(
                Cat(each.port.request.valid & each.port.request.ready for each in memories)
            ),
        ]
        self._connect_host(m, memories)
        return m

    def _is_there(self, m: Module, number: int, window: Window, row: Any, asks: Value) -> Signal:
        """Whether a row is in the array's place, which it is a fault not to be."""
        is_there = Signal(name=f"{window.name}_is_there")
        m.d.comb += [
            is_there.eq(row < self.places[number].rows),
            self.faults[number].eq(self.busy & asks & ~is_there),
        ]
        return is_there

    def _connect_reader(self, m: Module, number: int, window: Window, ups: list[Any]) -> None:
        reader = LineReader(
            self._address_bits,
            window.word_bits,
            window.words,
            self._line_bits,
            self._line_words,
            self._slots,
            self._ahead,
            self._in_flight,
        )
        m.submodules[f"{window.name}_reader"] = ResetInserter(self.reset)(reader)
        port, place = getattr(self.ports, window.name), self.places[number]
        asked = port.address
        is_there = self._is_there(m, number, window, asked.payload, asked.valid)
        rows = rows_per_line(window, self._line_words)
        shift = (rows - 1).bit_length()
        m.d.comb += [
            reader.port.address.payload.eq(asked.payload),
            reader.port.address.valid.eq(asked.valid & is_there & self.busy),
            asked.ready.eq(reader.port.address.ready),
            reader.base.eq(place.base),
            reader.end.eq(place.base + (place.rows + rows - 1 >> shift)),
            reader.ends.eq(self.drain),
        ]
        wiring.connect(m, reader.port.data, wiring.flipped(port.data))

        fetch, goes = reader.fetch, []
        comes: Value = Const(0, 1)
        for at, up in enumerate(ups):
            request, answer = up.request, up.response
            m.d.comb += [
                request.valid.eq(fetch.valid & self._is_at(fetch.payload.line, at)),
                request.payload.line.eq(fetch.payload.line >> self._channel_bits),
                request.payload.tag.eq(fetch.payload.slot),
                answer.ready.eq(~comes),
            ]
            goes.append(request.valid & request.ready)
            comes = comes | answer.valid
        answers = [up.response for up in ups]
        first = [answer.valid & answer.ready for answer in answers]
        m.d.comb += [
            fetch.ready.eq(Cat(goes).any()),
            self.lines[number].eq(Cat(goes).any()),
            reader.come.eq(comes),
            reader.slot.eq(
                selected(
                    (is_first, answer.payload.tag)
                    for is_first, answer in zip(first, answers, strict=True)
                )
            ),
            Value.cast(reader.data).eq(
                selected(
                    (is_first, Value.cast(answer.payload.data))
                    for is_first, answer in zip(first, answers, strict=True)
                )
            ),
        ]

    def _connect_writer(self, m: Module, number: int, window: Window, ups: list[Any]) -> Value:
        """Whether the port keeps nothing that was written."""
        buffer = WriteBuffer(WRITTEN_LINES, self._line_bits, self._line_words, self._tag_bits)
        m.submodules[f"{window.name}_writer"] = ResetInserter(self.reset)(buffer)
        write, place = getattr(self.ports, window.name).write, self.places[number]
        row, up, down = write.payload.address, buffer.up, buffer.down
        is_there = self._is_there(m, number, window, row, write.valid)
        shift = (rows_per_line(window, self._line_words) - 1).bit_length()
        stride = window.stride
        mask = ((1 << window.words) - 1) << (row[:shift] * stride)
        m.d.comb += [
            up.request.valid.eq(write.valid & is_there & self.busy),
            up.request.payload.line.eq(place.base + (row >> shift)),
            up.request.payload.write.eq(mask),
            write.ready.eq(up.request.valid & up.request.ready),
            buffer.drain.eq(self.drain),
            down.idle.eq(1),
        ]
        for word in range(self._line_words):
            if (at := word % stride) < window.words:
                m.d.comb += up.request.payload.data[word].eq(write.payload.data[at])
        goes = []
        for at, each in enumerate(ups):
            asked = down.request.payload
            m.d.comb += [
                each.request.valid.eq(down.request.valid & self._is_at(asked.line, at)),
                each.request.payload.line.eq(asked.line >> self._channel_bits),
                each.request.payload.write.eq(asked.write),
                each.request.payload.data.eq(asked.data),
            ]
            goes.append(each.request.valid & each.request.ready)
        m.d.comb += [
            down.request.ready.eq(Cat(goes).any()),
            self.lines[number].eq(Cat(goes).any()),
        ]
        return up.idle

    def _connect_host(self, m: Module, memories: list[LineMemory]) -> None:
        host = self.windows.words
        word_bits = (self._line_words - 1).bit_length()
        line = host.row[word_bits:]
        was_at = Signal(max(1, self._channel_bits))
        m.d.sync += was_at.eq(line[: self._channel_bits])
        for number, memory in enumerate(memories):
            m.d.comb += [
                memory.host.row.eq(line[self._channel_bits :]),
                memory.host.lane.eq(host.row[:word_bits]),
                memory.host.selected.eq(host.selected),
                memory.host.write_data.eq(host.write_data),
                memory.host.write_enable.eq(host.write_enable & self._is_at(line, number)),
            ]
        answers = ((was_at == number, each.host.read_data) for number, each in enumerate(memories))
        m.d.comb += host.read_data.eq(selected(answers))

    def _is_at(self, line: Value, number: int) -> Value:
        """Whether a line is in a channel."""
        return line[: self._channel_bits] == number
