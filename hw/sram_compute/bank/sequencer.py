"""Runs microprograms: a row operation a cycle for all arrays of a bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.select import selected
from gnarl.hw.sram_compute.array.compute_array import operation_layout, read_layout
from gnarl.hw.sram_compute.isa import WIDTH_BITS
from gnarl.hw.sram_compute.microcode.tables import (
    KEEP_CARRY,
    KEEP_PREDICATE,
    START_CARRY,
    START_PREDICATE,
)
from gnarl.hw.sram_compute.microinstruction import MICROINSTRUCTION, SKIP_CYCLES, Base, Kind

COUNT_BITS = 10
"""Bits of counts, trips and rows, on the way to what they are modulo the wordlines."""


def program_layout(wordlines: int, microinstructions: int) -> data.StructLayout:
    """A microprogram to be run: ``entry``, its first microinstruction; ``n``, the width; and the
    row of each base."""
    return data.StructLayout(
        {
            "entry": range(max(2, microinstructions)),
            "n": unsigned(WIDTH_BITS),
            "bases": data.ArrayLayout(range(wordlines), len(Base)),
        }
    )


class Sequencer(wiring.Component):
    """Gives arrays the row operations of microprograms, without a cycle between two sweeps, two
    rounds of a loop, or two programs.

    A microinstruction is read from the ROM in a cycle, its rows and counts are added up in the
    next, and its first row operation comes in the one behind. ``SKIP_CYCLES`` follow from that:
    behind the last row operation rows are computed with, ``any_predicate`` is registered, the skip
    is decided, and the next microinstruction is read and added up.

    Parameters: ``wordlines`` of the arrays; ``rom``, the words of all microprograms; ``skips``,
    whether blocks are passed over where no predicate is set.

    Members
    -------
    program
        in: a stream of ``program_layout``.
    any_predicate
        in: whether any bitline's predicate is set.
    read, operation
        out: for the arrays, in this cycle and in the next; ``is_inward`` is 0.
    busy
        out: a program is under way.
    """

    def __init__(self, wordlines: int, rom: Sequence[int], skips: bool) -> None:
        self._wordlines = wordlines
        self._rom = rom
        self._skips = skips
        super().__init__(
            {
                "program": In(stream.Signature(program_layout(wordlines, len(rom)))),
                "any_predicate": In(1),
                "read": Out(read_layout(wordlines)),
                "operation": Out(operation_layout(wordlines)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.rom = rom = Memory(
            shape=MICROINSTRUCTION.size, depth=len(self._rom), init=self._rom
        )
        fetch = rom.read_port()
        word = data.View(MICROINSTRUCTION, fetch.data)
        pc = Signal(range(max(2, len(self._rom))))
        has_word, is_back = Signal(), Signal()
        i, trips, start = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal.like(pc)
        running = Signal(program_layout(self._wordlines, len(self._rom)))

        # The microinstruction that was read, with the loop it is in.
        begins = word.starts_loop & ~is_back
        round, rounds, back_to = Signal.like(i), Signal.like(trips), Signal.like(pc)
        m.d.comb += [
            round.eq(Mux(begins, 0, i)),
            rounds.eq(Mux(begins, self._sum(word.trips, round, running.n), trips)),
            back_to.eq(Mux(begins, pc, start)),
        ]
        takes, skip_done, passes = Signal(), Signal(), Signal()
        is_skip = word.kind == Kind.SKIP
        runs_last = self._run_sweep(m, word, round, running, has_word, takes)
        self._decide_skip(m, has_word & is_skip & runs_last, skip_done, passes)

        advances, goes_back, ends = Signal(), Signal(), Signal()
        is_passed = ~is_skip | passes
        next_pc = Signal.like(pc)
        m.d.comb += [
            advances.eq(takes | skip_done),
            goes_back.eq(is_passed & word.ends_loop & (round + 1 < rounds)),
            ends.eq(is_passed & ~goes_back & word.is_last),
            next_pc.eq(Mux(goes_back, back_to, pc + 1 + Mux(is_skip & passes, word.length, 0))),
            self.program.ready.eq(~has_word | advances & ends),
            fetch.en.eq(~has_word | advances),
            fetch.addr.eq(Mux(self.program.ready, self.program.payload.entry, next_pc)),
        ]
        with m.If(advances):
            m.d.sync += [
                pc.eq(next_pc),
                i.eq(Mux(goes_back, round + 1, round)),
                trips.eq(rounds),
                start.eq(back_to),
                is_back.eq(goes_back),
            ]
        behind_skip = Signal()  # the cycle in which the next microinstruction would be added up
        m.d.sync += behind_skip.eq(skip_done)
        m.d.comb += self.busy.eq(has_word | self.operation.enable | behind_skip)
        with m.If(self.program.ready):
            m.d.sync += [
                has_word.eq(self.program.valid),
                pc.eq(self.program.payload.entry),
                is_back.eq(0),
                running.eq(self.program.payload),
            ]
        return m

    def _run_sweep(
        self,
        m: Module,
        word: data.View,
        round: Value,
        running: data.View,
        has_word: Value,
        takes: Signal,
    ) -> Value:
        """Goes through a sweep's rows; ``takes`` the next one with the last. The result is whether
        none runs beyond this cycle."""
        left, count = Signal(COUNT_BITS), Signal(COUNT_BITS)
        rows = {name: Signal(range(self._wordlines), name=f"row_{name}") for name in "abd"}
        steps = {name: Signal(signed(2), name=f"step_{name}") for name in "abd"}
        is_first, writes = Signal(), Signal()
        is_empty = Signal()  # of a sweep without row operations, which begins all the same
        operation = self.operation
        tables = {
            "begin_carry": word.start_carry,
            "begin_predicate": word.start_predicate,
            "write": word.write_table,
            "carry": word.carry_table,
            "predicate": word.predicate_table,
        }
        held = {
            name: Signal(len(Value.cast(value)), name=f"held_{name}")
            for name, value in tables.items()
        }
        runs_last = Signal()
        m.d.comb += [
            count.eq(self._sum(word.count, round, running.n)),
            runs_last.eq(left <= 1),
            takes.eq(has_word & (word.kind == Kind.SWEEP) & runs_last),
            self.read.enable.eq(left != 0),
            self.read.a.eq(rows["a"]),
            self.read.b.eq(rows["b"]),
        ]
        m.d.sync += is_empty.eq(takes & (count == 0))
        with m.If(takes):
            m.d.sync += [left.eq(count), is_first.eq(1), writes.eq(word.writes)]
            for name, row in rows.items():
                described = word[name]
                base = selected(
                    (described.base == base, running.bases[base.value]) for base in Base
                )
                m.d.sync += [
                    row.eq(base + self._sum(described, round, running.n)),
                    steps[name].eq(described.step),
                ]
            m.d.sync += [held[name].eq(value) for name, value in tables.items()]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left - 1), is_first.eq(0)]
            m.d.sync += [row.eq(row + steps[name]) for name, row in rows.items()]
        m.d.comb += [
            operation.enable.eq((left != 0) | is_empty),
            operation.d.eq(rows["d"]),
            operation.write_enable.eq(writes & ~is_empty),
        ]
        self._give_tables(m, held, is_first, is_empty)
        return runs_last

    def _give_tables(
        self, m: Module, held: dict[str, Signal], is_first: Signal, is_empty: Signal
    ) -> None:
        """A row operation has a sweep's tables, but those of its begin behind the first row, and
        those of its rows where it has none."""
        operation = self.operation
        keeps = {
            "begin_carry": (~is_first, START_CARRY),
            "begin_predicate": (~is_first, START_PREDICATE),
            "carry": (is_empty, KEEP_CARRY),
            "predicate": (is_empty, KEEP_PREDICATE),
        }
        m.d.comb += operation.write.eq(held["write"])
        for name, (is_kept, kept) in keeps.items():
            m.d.comb += operation[name].eq(Mux(is_kept, kept, held[name]))

    def _decide_skip(self, m: Module, waits: Value, done: Signal, passes: Signal) -> None:
        """Decides a skip. ``waits``: nothing is left to be done before a skip. It is ``done`` when
        the predicates of that are known: two cycles on its way through the arrays, and one to the
        register."""
        cycles = SKIP_CYCLES - 1
        any_predicate, waited = Signal(), Signal(range(cycles + 1))
        m.d.sync += any_predicate.eq(self.any_predicate)
        m.d.comb += [
            done.eq(waits & (waited == cycles)),
            passes.eq(~any_predicate if self._skips else 0),
        ]
        with m.If(waits & ~done):
            m.d.sync += waited.eq(waited + 1)
        with m.Else():
            m.d.sync += waited.eq(0)

    def _sum(self, count: data.View, i: Value, n: Value) -> Value:
        """``offset`` + ``per_i`` x i + ``per_n`` x n, modulo what rows and counts have."""
        times_i = Mux(count.per_i == 0, 0, Mux(count.per_i < 0, -i, i))
        shifted = Mux(count.per_n == 2, n << 1, n)
        times_n = Mux(count.per_n == 0, 0, Mux(count.per_n < 0, -n, shifted))
        return (count.offset + times_i + times_n)[:COUNT_BITS]
