"""A small accelerator with all that the host port offers, for tests of whatever drives one."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.machine.host import HostPort, HostSignature
from gnarl.hw.lib.machine.memory_map import CommonCause, MemoryMap, Window
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.runtime.machine.cycle_limit import require_cycles

DIGEST = "89abcdef" + 56 * "0"

SHAPE = ROWS, WORDS = 24, 3
NARROW_ROWS, NARROW_WORDS, NARROW_BITS = 4, 4, 13

CYCLES = 2 * ROWS
"""From start to done."""


class Cause(enum.IntEnum):
    """Why the adder stopped. Detail: the row."""

    NONE = 0
    OVERFLOW = 3


def memory_map() -> MemoryMap:
    """``table``: what is added to. ``narrow``: a memory of the host's only."""
    return MemoryMap(
        [
            Window("table", ROWS, WORDS).in_shared_memory("table"),
            Window("narrow", NARROW_ROWS, NARROW_WORDS, NARROW_BITS).in_shared_memory("narrow"),
        ],
        ["starts", "rows"],
        Cause,
    )


def expected(table: np.ndarray) -> np.ndarray:
    """The table after a run that ends well."""
    return table + np.uint32(1)


def model(table: np.ndarray, wanted: Wanted, max_cycles: int) -> MachineRun:
    """A run: what it leaves in ``table``, uint32 [rows, words], of the rows that are wanted.

    Raises ``ProgramError`` where the hardware stops.
    """
    is_full = table[:, 0] == 2**32 - 1
    row = int(np.argmax(is_full)) if is_full.any() else ROWS - 1
    require_cycles(2 * (row + 1), max_cycles)
    if is_full.any():
        raise ProgramError(f"row {row}: OVERFLOW")
    counters = {"starts": 1, "rows": ROWS}
    found = {name: Rows(rows, expected(table)[rows]) for name, rows in wanted(counters).items()}
    return MachineRun(found, CYCLES, counters)


class Adder(wiring.Component):
    """Adds 1 to each word of ``table``, a row every other cycle, as long as word 0 is not all ones.

    Members: ``host``.
    """

    def __init__(self, digest: str = DIGEST) -> None:
        self._digest = digest
        super().__init__({"host": Out(HostSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.port = port = HostPort(memory_map(), int(self._digest[:8], 16))
        table_window, narrow_window = port.memory_map.windows
        m.submodules.table = table = SharedMemory(table_window)
        m.submodules.narrow = narrow = SharedMemory(narrow_window)
        wiring.connect(m, wiring.flipped(self.host), port.host)
        wiring.connect(m, port.windows.table, table.host)
        wiring.connect(m, port.windows.narrow, narrow.host)

        row = Signal(range(ROWS))
        write_back = Signal()
        m.d.comb += [
            table.busy.eq(port.busy),
            narrow.busy.eq(port.busy),
            table.core.row.eq(row),
            table.core.read_enable.eq(~write_back),
        ]
        for word in range(WORDS):
            m.d.comb += table.core.write_data[word].eq(table.core.read_data[word] + 1)
        overflow = Signal()
        m.d.comb += overflow.eq(write_back & table.core.read_data[0].all())

        with m.If(port.busy):
            m.d.sync += [port.cycles.eq(port.cycles + 1), write_back.eq(~write_back)]
            with m.If(port.cycles == port.limit):
                m.d.sync += [port.busy.eq(0), port.cause.eq(CommonCause.CYCLE_LIMIT)]
            with m.Elif(overflow):
                m.d.sync += [port.busy.eq(0), port.cause.eq(Cause.OVERFLOW), port.detail.eq(row)]
            with m.Elif(write_back):
                m.d.comb += table.core.write_enable.eq(~0)
                m.d.sync += [row.eq(row + 1), port.counters.rows.eq(port.counters.rows + 1)]
                with m.If(row == ROWS - 1):
                    m.d.sync += [port.busy.eq(0), port.done.eq(1)]
            with m.If(port.stop):
                m.d.sync += port.busy.eq(0)
        with m.Elif(port.start & (port.cause == Cause.NONE)):
            m.d.sync += [
                port.busy.eq(1),
                port.done.eq(0),
                port.cycles.eq(0),
                port.counters.rows.eq(0),
                port.counters.starts.eq(port.counters.starts + 1),
                row.eq(0),
                write_back.eq(0),
            ]
        with m.If(port.clear):
            m.d.sync += [port.busy.eq(0), port.done.eq(0), port.cause.eq(0), port.detail.eq(0)]
        return m
