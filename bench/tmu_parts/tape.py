"""A recording of what goes through a queue."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.memory.ram import TwoPortRam


class Tape(wiring.Component):
    """Records up to ``items`` items of ``width`` bits, one or ``lanes`` of them in a cycle, and
    plays them back, ``lanes`` in a cycle.

    ``items`` is a multiple of ``lanes``, both are powers of two. What is recorded beyond ``items``
    replaces what came first.

    Members
    -------
    put, put_vector, put_data
        in: records ``put_data``, its first item or all.
    erase
        in: forgets what is recorded.
    rewind
        in: plays from the first item on, where it is 0 again.
    played
        out: a stream of ``lanes`` items; behind the last item the last of them are any.
    """

    def __init__(self, items: int, lanes: int, width: int) -> None:
        self._items = items
        self._lanes = lanes
        self._width = width
        items_layout = data.ArrayLayout(unsigned(width), lanes)
        super().__init__(
            {
                "put": In(1),
                "put_vector": In(1),
                "put_data": In(items_layout),
                "erase": In(1),
                "rewind": In(1),
                "played": Out(stream.Signature(items_layout)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, rows = self._lanes, self._items // self._lanes
        end, count = Signal(range(self._items + 1)), Signal(range(lanes + 1))
        m.d.comb += count.eq(Mux(self.put, Mux(self.put_vector, lanes, 1), 0))
        m.d.sync += end.eq(Mux(self.erase, 0, end + count))

        row, fetches, has_row = Signal(range(rows + 1)), Signal(), Signal()
        m.d.comb += [
            fetches.eq(~self.played.valid | self.played.ready),
            has_row.eq(row * lanes < end),
        ]
        with m.If(self.rewind):
            m.d.sync += [row.eq(0), self.played.valid.eq(0)]
        with m.Elif(fetches):
            m.d.sync += [row.eq(row + has_row), self.played.valid.eq(has_row)]

        # Item i of all is in bank i modulo lanes, row i // lanes.
        first = end % lanes
        for number in range(lanes):
            m.submodules[f"bank_{number}"] = bank = TwoPortRam(rows, self._width)
            place = Signal(range(lanes))
            m.d.comb += [
                place.eq(number - first),
                bank.write_address.eq(end // lanes + (first > number)),
                bank.write_data.eq(Array(self.put_data)[place]),
                bank.write_enable.eq(place < count),
                bank.read_address.eq(row),
                bank.read_enable.eq(fetches),
                self.played.payload[number].eq(bank.read_data),
            ]
        return m
