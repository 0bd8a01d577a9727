"""Fetches a program's lines from memory, one ahead."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import LINE_BITS
from gnarl.hw.sram_compute.isa import LINE_UNITS, MOST_UNITS, UNIT_BITS


class CommandFetch(wiring.Component):
    """Holds the line of the next unit and the one behind it, as soon as they have come. A line is
    asked for in the cycle behind that in which there is room, one at a time.

    Parameters: ``lines`` of memory.

    Members
    -------
    first_line, start
        in: where the program begins, and that it does.
    port
        out: a ``LinePort``.
    holds
        in: no line is asked for from this cycle on.
    idle
        out: none is asked for.
    units, available
        out: the next ``MOST_UNITS`` units, and how many of them, or more, are there.
    take
        in: so many units are done with.
    place
        out: the number of the first of them, counted from the beginning of memory.
    ends
        out: there is no more memory behind the units that are there.
    """

    def __init__(self, lines: int) -> None:
        self._lines = lines
        line_bits = (lines - 1).bit_length()
        super().__init__(
            {
                "first_line": In(line_bits),
                "start": In(1),
                "port": Out(LinePort(line_bits, LINE_WORDS, 1)),
                "holds": In(1),
                "idle": Out(1),
                "units": Out(MOST_UNITS * UNIT_BITS),
                "available": Out(range(2 * LINE_UNITS + 1)),
                "take": In(range(MOST_UNITS + 1)),
                "place": Out(32),
                "ends": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        request, response = self.port.request, self.port.response
        lines = [Signal(LINE_BITS, name=f"line_{number}") for number in range(2)]
        held = Signal(range(3))  # lines
        offset = Signal(range(LINE_UNITS))
        next_line = Signal(range(self._lines + 1))
        runs, asks, awaits = Signal(), Signal(), Signal()
        place, leaves, comes = Signal.like(self.place), Signal(), Signal()
        taken = Signal(range(LINE_UNITS + MOST_UNITS))
        m.d.comb += [
            request.valid.eq(asks),
            request.payload.line.eq(next_line),
            response.ready.eq(1),
            self.idle.eq(~asks & ~awaits),
            self.units.eq(Cat(*lines) >> (offset << (UNIT_BITS - 1).bit_length())),
            self.available.eq(Mux(held == 0, 0, (held << 2) - offset)),
            self.place.eq(place),
            self.ends.eq(runs & (next_line == self._lines) & self.idle),
            taken.eq(offset + self.take),
            leaves.eq(taken >= LINE_UNITS),
            comes.eq(response.valid & awaits),
        ]
        m.d.sync += [
            offset.eq(taken[: len(offset)]),
            place.eq(place + self.take),
            held.eq(held + comes - leaves),
        ]
        with m.If(leaves):
            m.d.sync += lines[0].eq(lines[1])
        with m.If(comes):
            m.d.sync += awaits.eq(0)
            with m.If(held == leaves):
                m.d.sync += lines[0].eq(response.payload.data)
            with m.Else():
                m.d.sync += lines[1].eq(response.payload.data)
        with m.If(asks & request.ready):
            m.d.sync += [asks.eq(0), awaits.eq(1), next_line.eq(next_line + 1)]
        with m.If(runs & self.idle & (held != 2) & ~self.holds & (next_line != self._lines)):
            m.d.sync += asks.eq(1)
        with m.If(self.start):
            m.d.sync += [
                runs.eq(1),
                next_line.eq(self.first_line),
                place.eq(self.first_line << (LINE_UNITS - 1).bit_length()),
            ]
        return m
