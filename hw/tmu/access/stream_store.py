"""The queues of all streams: a memory for each lane, and which of its words have arrived."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.memory.ram import TwoPortRam


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

    ``arrived``: in the same cycle, the lanes whose word of phase ``phase`` is there. ``single``:
    all lanes are that of layers of one unit.
    """
    return wiring.Signature(
        {
            "enable": Out(1),
            "row": Out(range(rows)),
            "phase": Out(1),
            "single": Out(1),
            "arrived": In(lanes),
            "data": In(data.ArrayLayout(unsigned(32), lanes)),
        }
    )


class StreamStore(wiring.Component):
    """``rows`` words for each of ``lanes``, and as many more for layers of one unit and for where
    vectors go: both written by one and read by two. So the words of indices and of the rows that
    they name are written in the same cycles.

    A row of a queue is used again and again, each time with the other phase, from 1 on after a
    reset: so a word has arrived once its phase is what its reader expects. A word that is written
    has arrived from the next cycle on.

    Members: ``write`` in, a ``write_signature``; ``write_single`` in, that of one lane; ``front``,
    ``back`` in, ``read_signature``.
    """

    def __init__(self, lanes: int, rows: int) -> None:
        self._lanes = lanes
        self._rows = rows
        super().__init__(
            {
                "write": In(write_signature(lanes, rows)),
                "write_single": In(write_signature(1, rows)),
                "front": In(read_signature(lanes, rows)),
                "back": In(read_signature(lanes, rows)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        single = self._add_memory(m, "single", self.write_single, 0)
        lanes = [self._add_memory(m, f"{lane}", self.write, lane) for lane in range(self._lanes)]
        for reader, port in enumerate((self.front, self.back)):
            was_single = Signal()
            with m.If(port.enable):
                m.d.sync += was_single.eq(port.single)
            single_arrived, single_word = single[reader]
            for lane, readers in enumerate(lanes):
                arrived, word = readers[reader]
                m.d.comb += [
                    port.arrived[lane].eq(Mux(port.single, single_arrived, arrived)),
                    port.data[lane].eq(Mux(was_single, single_word, word)),
                ]
        return m

    def _add_memory(self, m: Module, name: str, write: Any, lane: int) -> list[tuple[Any, Any]]:
        """A lane's; for each reader, whether its word has arrived, and its word."""
        phases = Signal(self._rows, name=f"phases_{name}")
        at = (Const(1, self._rows) << write.row)[: self._rows]
        with m.If(write.lanes[lane]):  # a mask, for as a choice of bits it is too much for Yosys
            m.d.sync += phases.eq(Mux(write.phase, phases | at, phases & ~at))
        readers = []
        for reader, port in (("front", self.front), ("back", self.back)):
            m.submodules[f"{reader}_{name}"] = ram = TwoPortRam(self._rows, 32)
            m.d.comb += [
                ram.write_address.eq(write.row),
                ram.write_enable.eq(write.lanes[lane]),
                ram.write_data.eq(write.data[lane]),
                ram.read_address.eq(port.row),
                ram.read_enable.eq(port.enable),
            ]
            readers.append((Array(phases)[port.row] == port.phase, ram.read_data))
        return readers
