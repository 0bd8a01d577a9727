"""Takes a program's commands in order, and sees to it that they are done."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute.bank.bank_command import bank_command_layout
from gnarl.hw.sram_compute.commands.command_decoder import CommandDecoder, decoded_layout
from gnarl.hw.sram_compute.config import LAYOUTS
from gnarl.hw.sram_compute.isa import LINE_UNITS, MOST_UNITS, UNIT_BITS, Opcode
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.network.exchange import exchange_layout
from gnarl.hw.sram_compute.streams.near_memory import COMMAND_BITS
from gnarl.hw.sram_compute.transfer.layout_walker import ENTRY
from gnarl.hw.sram_compute.transfer.line_transposer import transfer_layout

END_CYCLES = 4
"""Cycles without anything under way before a run is over: until all is counted."""


class _State(enum.Enum):
    DECODE = 0
    CHECK = 1
    TRANSFER = 2
    EXCHANGE = 3
    CORE = 4
    NEAR = 5


class CommandUnit(wiring.Component):
    """A command is decoded in a cycle, and in the next one or later it goes on its way: as the
    manual's order of events has it. Source: Infinity Stream, section 5.2.

    Parameters: as of ``CommandDecoder``.

    Members
    -------
    units, available, ends, take, place
        in, in, in, out, in: as of ``CommandFetch``.
    bank
        out: a stream of ``bank_command_layout``.
    banks_idle
        in: no bank has anything under way.
    exchange, starts_exchange, exchange_sends, exchange_busy
        out, out, in, in: as of ``Exchange``.
    all_received
        in: as many rows have arrived as were sent between banks.
    holds, fetch_idle
        out, in: as of ``CommandFetch``.
    transfer, entry, starts_transfer, transfer_busy
        out, out, out, in: as of ``ArrayTransfer``.
    first_instruction, starts_core, core_busy
        out, out, in: ``first``, ``start`` and ``busy`` of ``VectorCore``.
    core_fault, core_fault_place
        in: what is wrong with the core's program, and at which instruction.
    near, starts_near
        out: ``command`` and ``start`` of ``NearMemory``.
    near_is_complete, near_has_room, near_copies, near_streams, near_fault, near_stream
        in: ``is_complete``, ``has_room``, ``copies``, ``streams``, ``fault`` and ``stream`` of
        ``NearMemory``.
    accepted
        out: a command is taken up.
    transfer_fault
        in: what is wrong with the transfer that is under way.
    fault, fault_place
        out: what is wrong with a command, and its ``place``; or with the core's program.
    finished
        out: the program is over.
    """

    def __init__(
        self,
        wordlines: int,
        bitlines: int,
        tiles: int,
        arrays: int,
        microinstructions: int,
        core_instructions: int,
        memory_lines: int,
        has_engines: bool,
    ) -> None:
        size = (wordlines, bitlines, tiles, arrays, microinstructions, core_instructions)
        self._decoder = CommandDecoder(*size, memory_lines, has_engines)
        self._decoded = decoded_layout(wordlines, bitlines, tiles, microinstructions)
        bank = bank_command_layout(wordlines, bitlines, tiles, microinstructions)
        super().__init__(
            {
                "units": In(MOST_UNITS * UNIT_BITS),
                "available": In(range(2 * LINE_UNITS + 1)),
                "ends": In(1),
                "take": Out(range(MOST_UNITS + 1)),
                "place": In(32),
                "bank": Out(stream.Signature(bank)),
                "banks_idle": In(1),
                "exchange": Out(exchange_layout(wordlines, bitlines, tiles)),
                "starts_exchange": Out(1),
                "exchange_sends": In(1),
                "exchange_busy": In(1),
                "all_received": In(1),
                "holds": Out(1),
                "fetch_idle": In(1),
                "transfer": Out(transfer_layout(wordlines)),
                "entry": Out(ENTRY),
                "starts_transfer": Out(1),
                "transfer_busy": In(1),
                "transfer_fault": In(ErrorCause),
                "first_instruction": Out(16),
                "starts_core": Out(1),
                "core_busy": In(1),
                "core_fault": In(ErrorCause),
                "core_fault_place": In(32),
                "near": Out(COMMAND_BITS),
                "starts_near": Out(1),
                "near_is_complete": In(1),
                "near_has_room": In(1),
                "near_copies": In(1),
                "near_streams": In(1),
                "near_fault": In(ErrorCause),
                "near_stream": In(4),
                "accepted": Out(1),
                "fault": Out(ErrorCause),
                "fault_place": Out(32),
                "finished": Out(1),
                "keeps": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        m.submodules.table = table = TwoPortRam(LAYOUTS, ENTRY.size)
        found, command = decoder.decoded, Signal(self._decoded)
        state, place = Signal(_State), Signal.like(self.place)
        is_set, unsynced = Signal(LAYOUTS), Signal()
        entry = Signal(ENTRY)
        is_quiet, quiet_cycles = Signal(), Signal(range(END_CYCLES))
        m.d.comb += [
            decoder.units.eq(self.units),
            table.read_address.eq(found.layout),
            table.read_enable.eq(state == _State.DECODE),
            table.write_address.eq(command.layout),
            table.write_data.eq(command.entry),
            entry.eq(table.read_data),
            self.entry.eq(entry),
            self.bank.payload.eq(command.bank),
            self.exchange.eq(command.exchange),
            self.transfer.eq(command.transfer),
            self.first_instruction.eq(command.first),
            self.near.eq(command.near),
            self.keeps.eq(command.keeps),
            self.fault_place.eq(place),
            is_quiet.eq(self.banks_idle & ~self.exchange_busy),
        ]
        with m.Switch(state):
            with m.Case(_State.DECODE):
                is_whole = (self.available >= found.units) & (self.available != 0)
                with m.If(is_whole):
                    m.d.comb += [self.take.eq(found.units), self.accepted.eq(1)]
                    m.d.sync += [
                        command.eq(found),
                        place.eq(self.place),
                        state.eq(_State.CHECK),
                    ]
                with m.Elif(self.ends):
                    m.d.comb += [
                        self.fault.eq(ErrorCause.ADDRESS),
                        self.fault_place.eq(self.place),
                    ]
            with m.Case(_State.CHECK):
                with m.If(command.is_unknown):
                    m.d.comb += self.fault.eq(ErrorCause.COMMAND)
                with m.Elif(command.bad_operand):
                    m.d.comb += self.fault.eq(ErrorCause.OPERAND)
                with m.Else():
                    self._go(m, command, state, is_set, unsynced, table, is_quiet, quiet_cycles)
            self._wait(m, state)
        return m

    def _wait(self, m: Module, state: Signal) -> None:
        """What is under way, until the next command is taken."""
        with m.Case(_State.TRANSFER):
            m.d.comb += [self.holds.eq(1), self.fault.eq(self.transfer_fault)]
            with m.If(~self.transfer_busy):
                m.d.sync += state.eq(_State.DECODE)
        with m.Case(_State.CORE):
            m.d.comb += [self.holds.eq(1), self.fault.eq(self.core_fault)]
            with m.If(self.core_fault != ErrorCause.NONE):
                m.d.comb += self.fault_place.eq(self.core_fault_place)
            with m.If(~self.core_busy):
                m.d.sync += state.eq(_State.DECODE)
        with m.Case(_State.NEAR):
            m.d.comb += self.fault.eq(self.near_fault)
            with m.If(self.near_fault != ErrorCause.NONE):
                m.d.comb += self.fault_place.eq(self.near_stream)
            with m.If(~self.near_streams):
                m.d.sync += state.eq(_State.DECODE)
        with m.Case(_State.EXCHANGE):
            with m.If(~self.exchange_sends):
                m.d.sync += state.eq(_State.DECODE)

    def _go_transfer(
        self,
        m: Module,
        command: data.View,
        state: Signal,
        is_set: Signal,
        unsynced: Signal,
        is_quiet: Signal,
    ) -> None:
        """Starts a ``LOAD`` or ``STORE``."""
        is_wide = command.transfer.n > (8 << self.entry.element)
        m.d.comb += self.holds.eq(1)
        with m.If(unsynced):
            m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
        with m.Elif(~at_index(list(is_set), command.layout)):
            m.d.comb += self.fault.eq(ErrorCause.LAYOUT)
        with m.Elif(is_wide):
            m.d.comb += self.fault.eq(ErrorCause.OPERAND)
        with m.Elif(is_quiet & self.fetch_idle & ~self.near_copies):
            m.d.comb += self.starts_transfer.eq(1)
            m.d.sync += state.eq(_State.TRANSFER)

    def _go_near(
        self,
        m: Module,
        command: data.View,
        state: Signal,
        unsynced: Signal,
        is_quiet: Signal,
    ) -> None:
        """Starts commands of stream engines, and copies."""
        with m.Case(Opcode.COPY):
            with m.If(unsynced):
                m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
            with m.Elif(command.is_outside):
                m.d.comb += self.fault.eq(ErrorCause.ADDRESS)
            with m.Elif(is_quiet & self.near_has_room):
                m.d.comb += self.starts_near.eq(1)
                m.d.sync += state.eq(_State.DECODE)
        with m.Case(Opcode.STREAM, Opcode.OPERATION):
            m.d.comb += self.starts_near.eq(1)
            m.d.sync += state.eq(_State.DECODE)
        with m.Case(Opcode.NEAR):
            with m.If(unsynced):
                m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
            with m.Elif(~self.near_is_complete):
                m.d.comb += self.fault.eq(ErrorCause.OPERAND)
            with m.Elif(is_quiet):
                m.d.comb += self.starts_near.eq(1)
                m.d.sync += state.eq(_State.NEAR)

    def _go(
        self,
        m: Module,
        command: data.View,
        state: Signal,
        is_set: Signal,
        unsynced: Signal,
        table: TwoPortRam,
        is_quiet: Signal,
        quiet_cycles: Signal,
    ) -> None:
        """What each command that is in order does, in the cycles until it is on its way."""
        with m.Switch(command.opcode):
            with m.Case(Opcode.COMPUTE, Opcode.MOVE, Opcode.FILL):
                with m.If(unsynced):
                    m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
                with m.Else():
                    m.d.comb += self.bank.valid.eq(~self.near_copies)
                    with m.If(self.bank.valid & self.bank.ready):
                        m.d.sync += state.eq(_State.DECODE)
            with m.Case(Opcode.LAYOUT):
                with m.If(command.bad_layout):
                    m.d.comb += self.fault.eq(ErrorCause.LAYOUT)
                with m.Else():
                    m.d.comb += table.write_enable.eq(1)
                    m.d.sync += [
                        is_set.eq(is_set | (1 << command.layout)),
                        state.eq(_State.DECODE),
                    ]
            with m.Case(Opcode.LOAD, Opcode.STORE):
                self._go_transfer(m, command, state, is_set, unsynced, is_quiet)
            with m.Case(Opcode.CORE):
                m.d.comb += self.holds.eq(1)
                with m.If(unsynced):
                    m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
                with m.Elif(self.fetch_idle & ~self.near_copies):
                    m.d.comb += self.starts_core.eq(1)
                    m.d.sync += state.eq(_State.CORE)
            self._go_near(m, command, state, unsynced, is_quiet)
            with m.Case(Opcode.SHIFT, Opcode.BROADCAST):
                with m.If(is_quiet & ~self.near_copies):
                    m.d.comb += self.starts_exchange.eq(1)
                    m.d.sync += [unsynced.eq(1), state.eq(_State.EXCHANGE)]
            with m.Case(Opcode.SYNC):
                with m.If(is_quiet & self.all_received):
                    m.d.sync += [unsynced.eq(0), state.eq(_State.DECODE)]
            with m.Case(Opcode.END):
                with m.If(unsynced):
                    m.d.comb += self.fault.eq(ErrorCause.UNSYNCED)
                with m.Elif(is_quiet & ~self.near_copies):
                    m.d.sync += quiet_cycles.eq(quiet_cycles + 1)
                    m.d.comb += self.finished.eq(quiet_cycles == END_CYCLES - 1)
