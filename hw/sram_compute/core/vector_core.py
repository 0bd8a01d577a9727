"""The vector core: an execute unit and its cache."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES, INSTRUCTION, Fault
from gnarl.hw.lib.execute.execute_unit import ExecuteUnit
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.lines.lane_cache import LaneCache
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_WORDS


class VectorCore(wiring.Component):
    """Runs programs of the execute unit, one after the other, on main memory.

    Each begins with an empty cache and scalar registers of 0, at an instruction from which the
    addresses in it are counted, modulo the instructions that there are. It is over when the unit
    has halted, and all that it has written is in memory. Nobody fills the unit's queues: what
    takes from them waits for ever.

    Parameters: ``lanes``; ``instructions``, ``memory_words``, powers of two; ``cache_bytes``;
    ``loads`` under way.

    Members
    -------
    first, start
        in: the first instruction, and that a program begins, a pulse.
    busy
        out: from the cycle behind ``start`` on, until all is done.
    program_row, program_enable, program_data
        the instructions' memory, whose data come a cycle after.
    port
        out: a ``LinePort`` to main memory with ``tag_bits``.
    issued
        out: an instruction issues.
    fault, fault_place
        out: why, and at which instruction, a program ended otherwise: until a reset.
    """

    def __init__(
        self, *, lanes: int, instructions: int, memory_words: int, cache_bytes: int, loads: int
    ) -> None:
        self._unit = ExecuteUnit(
            lanes=lanes,
            program_words=instructions,
            memory_words=memory_words,
            loads=loads,
            stages=FLOAT_STAGES,
        )
        address_bits = (memory_words - 1).bit_length()
        self._cache = LaneCache(lanes, address_bits, cache_bytes, loads)
        self.tag_bits = self._cache.fetch_bits
        line_bits = (memory_words // LINE_WORDS - 1).bit_length()
        row = range(instructions)
        super().__init__(
            {
                "first": In(row),
                "start": In(1),
                "busy": Out(1),
                "program_row": Out(row),
                "program_enable": Out(1),
                "program_data": In(INSTRUCTION.size),
                "port": Out(LinePort(line_bits, LINE_WORDS, self.tag_bits)),
                "issued": Out(1),
                "fault": Out(Fault),
                "fault_place": Out(32),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        unit, cache = self._unit, self._cache
        first, ends = Signal.like(self.first), Signal()
        m.submodules.unit = ResetInserter(~self.busy)(unit)
        m.submodules.cache = ResetInserter(ends)(cache)
        wiring.connect(m, unit.port, cache.up)
        wiring.connect(m, cache.down, wiring.flipped(self.port))
        m.d.comb += [
            ends.eq(self.busy & unit.halted),
            cache.drain.eq(unit.ended),
            self.program_row.eq(first + unit.program_row),
            self.program_enable.eq(unit.program_enable),
            unit.program_data.eq(self.program_data),
            self.issued.eq(unit.issued),
            self.fault.eq(unit.fault),
            self.fault_place.eq(first + unit.fault_pc),
        ]
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), first.eq(self.first)]
        with m.Elif(ends):
            m.d.sync += self.busy.eq(0)
        return m
