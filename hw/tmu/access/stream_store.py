"""The queues of all streams: a memory for each lane, and which of its words have arrived."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.ram import TwoPortRam


def write_signature(lanes: int, rows: int) -> wiring.Signature:
    """A row's words for some lanes; ``phase``: of the slot they belong to."""
    return wiring.Signature(
        {
            "lanes": Out(lanes),
            "row": Out(range(rows)),
            "phase": Out(1),
            "data": Out(data.ArrayLayout(unsigned(32), lanes)),
        }
    )


def read_signature(lanes: int, rows: int) -> wiring.Signature:
    """Reads ``row`` of all lanes where ``enable``; ``data`` shows it from the next cycle on.

    ``arrived``: in the same cycle, the lanes whose word of phase ``phase`` is there.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "row": Out(range(rows)),
            "phase": Out(1),
            "arrived": In(lanes),
            "data": In(data.ArrayLayout(unsigned(32), lanes)),
        }
    )


class StreamStore(wiring.Component):
    """``rows`` words for each of ``lanes``, written by one and read by two.

    A row of a queue is used again and again, each time with the other phase, from 1 on after a
    reset: so a word has arrived once its phase is what its reader expects. A word that is written
    has arrived from the next cycle on.

    Members: ``write`` in, ``write_signature``; ``front``, ``back`` in, ``read_signature``.
    """

    def __init__(self, lanes: int, rows: int) -> None:
        self._lanes = lanes
        self._rows = rows
        super().__init__(
            {
                "write": In(write_signature(lanes, rows)),
                "front": In(read_signature(lanes, rows)),
                "back": In(read_signature(lanes, rows)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        write = self.write
        for lane in range(self._lanes):
            phases = Signal(self._rows, name=f"phases_{lane}")
            with m.If(write.lanes[lane]):
                m.d.sync += phases.bit_select(write.row, 1).eq(write.phase)
            for name, port in (("front", self.front), ("back", self.back)):
                m.submodules[f"{name}_{lane}"] = ram = TwoPortRam(self._rows, 32)
                m.d.comb += [
                    ram.write_address.eq(write.row),
                    ram.write_enable.eq(write.lanes[lane]),
                    ram.write_data.eq(write.data[lane]),
                    ram.read_address.eq(port.row),
                    ram.read_enable.eq(port.enable),
                    port.data[lane].eq(ram.read_data),
                    port.arrived[lane].eq(Array(phases)[port.row] == port.phase),
                ]
        return m
