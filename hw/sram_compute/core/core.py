"""In-SRAM computing without its host port: banks, network, memory, commands and control."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder, Rank
from gnarl.hw.lib.machine.machine import Core
from gnarl.hw.lib.machine.settings import Settings
from gnarl.hw.lib.machine.watchdog import Watchdog
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.hw.lib.stream.fork import Fork
from gnarl.hw.sram_compute.bank.bank import WORD_BITS, Bank
from gnarl.hw.sram_compute.commands.command_fetch import CommandFetch
from gnarl.hw.sram_compute.commands.command_unit import CommandUnit
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.core.main_memory import Users, add_main_memory
from gnarl.hw.sram_compute.core.vector_core import VectorCore
from gnarl.hw.sram_compute.memory_map import (
    CORE_CAUSES,
    EVENTS,
    TOTALS,
    WATCHDOG_CYCLES,
    ErrorCause,
    memory_map,
)
from gnarl.hw.sram_compute.network.exchange import Exchange
from gnarl.hw.sram_compute.network.row_network import RowNetwork
from gnarl.hw.sram_compute.streams.near_memory import NearMemory
from gnarl.hw.sram_compute.transfer.array_transfer import ArrayTransfer

COUNTER_BITS = 40
TOTAL_BITS = 56

_FAULTS = data.StructLayout({"cause": ErrorCause, "place": 32, "stuck": 1})

_RANKS = (
    ErrorCause.COMMAND,
    ErrorCause.OPERAND,
    ErrorCause.LAYOUT,
    ErrorCause.ADDRESS,
    ErrorCause.UNSYNCED,
    ErrorCause.CORE_ENCODING,
    ErrorCause.CORE_CONTROL,
    ErrorCause.CORE_ADDRESS,
    ErrorCause.STREAM,
)


class SramCore(Core):
    """Banks of compute arrays, perhaps stream engines and a core, led by a program of commands in
    main memory.

    A run begins with an empty layout override table; arrays and engines hold zeros. It
    ends with an ``END``. Source: Infinity Stream, section 5, figure 10.

    Members: as ``Core``, with ``memory_map(config)``.
    """

    def __init__(self, config: SramConfig) -> None:
        self._config = config
        super().__init__(memory_map(config))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        faults = FaultRecorder(_FAULTS, ErrorCause, _ranked)
        events = Counters(len(EVENTS), COUNTER_BITS)
        totals = [Signal(TOTAL_BITS, name=name) for name in TOTALS]
        control = self.add_run_control(m, faults, events, totals)
        m.submodules.watchdog = watchdog = Watchdog(WATCHDOG_CYCLES + config.latency)
        reset, was_busy, keeps = Signal(), Signal(), Signal()
        m.d.sync += was_busy.eq(control.busy)
        m.d.comb += reset.eq(~control.busy)

        fetch, unit, transfer, exchange, rows = self._add_units(m, reset)
        near = self._add_near(m, reset, unit) if config.near_lanes else None
        banks = self._add_banks(m, reset, reset & ~keeps, unit, transfer, rows, near)
        self._connect_commands(m, reset, fetch, unit, transfer, exchange, rows)
        core = self._add_core(m, reset, unit, control.busy) if config.core_lanes else None
        users = Users(fetch, transfer, near, core)
        window, host = self.memory_map.window("memory"), self.windows.memory
        channel = add_main_memory(m, config, window, host, users, reset, control.busy, was_busy)
        m.submodules.program = program = Settings(
            self.memory_map.window("program"), [len(fetch.first_line)]
        )
        wiring.connect(m, program.host, wiring.flipped(self.windows.program))

        moves, computes, core_busy, issued = Signal(), Signal(), Signal(), Signal()
        transfers, streams, is_final, strip_begins = Signal(), Signal(), Signal(), Signal()
        bits_of_words: ValueLike = 0
        m.d.comb += transfers.eq(transfer.busy)
        if near is not None:
            m.d.comb += [
                transfers.eq(transfer.busy | near.copies),
                streams.eq(near.streams & ~near.waits),
                is_final.eq(near.is_final),
                strip_begins.eq(near.begins),
            ]
            bits_of_words = near.words_between_banks * WORD_BITS
        if core is not None:
            m.d.comb += [core_busy.eq(core.busy), issued.eq(core.issued)]
        with m.If(unit.finished):
            m.d.sync += keeps.eq(unit.keeps)
        with m.Elif(fetch.start | self.clear):
            m.d.sync += keeps.eq(0)
        m.d.comb += [
            fetch.first_line.eq(program.values["0"]),
            fetch.start.eq(control.busy & ~was_busy),
            unit.banks_idle.eq(~Cat(bank.busy for bank in banks).any()),
            moves.eq(Cat(bank.moves for bank in banks).any() | exchange.busy),
            computes.eq(Cat(bank.computes for bank in banks).any()),
            control.works.eq(1),
            control.finished.eq(unit.finished),
            events.happens.eq(
                Cat(
                    transfers & ~moves & ~computes & ~streams,
                    moves,
                    computes & ~moves,
                    core_busy & ~moves & ~computes,
                    streams & ~is_final,
                    streams & is_final,
                    ~(transfers | moves | computes | core_busy | streams),
                    unit.accepted,
                    channel.fetched,
                    issued,
                    channel.core_read,
                    channel.core_written,
                    strip_begins,
                )
            ),
            watchdog.watch.eq(control.busy),
            watchdog.moves.eq(
                unit.accepted | Cat(channel).any() | exchange.busy | issued | strip_begins
            ),
            faults.faults.cause.eq(unit.fault),
            faults.faults.place.eq(unit.fault_place),
            faults.faults.stuck.eq(watchdog.stuck),
        ]
        amounts = (
            channel.loaded,
            channel.stored,
            sum((bank.bits_moved for bank in banks[1:]), banks[0].bits_moved),
            exchange.bits_between_tiles,
            exchange.bits_between_banks + bits_of_words,
        )
        self.add_totals(m, control, control.busy, totals, amounts)
        return m

    def _add_units(
        self, m: Module, reset: Signal
    ) -> tuple[CommandFetch, CommandUnit, ArrayTransfer, Exchange, RowNetwork]:
        config = self._config
        network = (
            config.banks,
            config.arrays,
            config.wordlines,
            config.bitlines,
            config.tree_bits,
            config.network_bits,
        )
        fetch = CommandFetch(config.memory_lines)
        unit = CommandUnit(
            config.wordlines,
            config.bitlines,
            config.tiles,
            config.arrays,
            len(config.rom.words),
            config.core_instructions if config.core_lanes else 0,
            config.memory_lines,
            config.near_lanes > 0,
        )
        transfer = ArrayTransfer(
            config.memory_lines,
            config.wordlines,
            config.bitlines,
            config.arrays,
            config.banks,
            config.memory_channels,
        )
        exchange, rows = Exchange(*network), RowNetwork(*network)
        m.submodules.fetch = ResetInserter(reset)(fetch)
        m.submodules.unit = ResetInserter(reset)(unit)
        m.submodules.transfer = ResetInserter(reset)(transfer)
        m.submodules.exchange = ResetInserter(reset)(exchange)
        m.submodules.rows = ResetInserter(reset)(rows)
        return fetch, unit, transfer, exchange, rows

    def _add_banks(
        self,
        m: Module,
        reset: Signal,
        clear: Value,
        unit: CommandUnit,
        transfer: ArrayTransfer,
        rows: RowNetwork,
        near: NearMemory | None,
    ) -> list[Bank]:
        """``clear``: the reset of banks, which lose all that is in their rows."""
        config = self._config
        array_bits = (config.arrays - 1).bit_length()
        fork = Fork(unit.bank.payload.shape(), config.banks)
        m.submodules.fork = ResetInserter(reset)(fork)
        wiring.connect(m, unit.bank, fork.i)
        banks = []
        for number in range(config.banks):
            bank = Bank(
                config.wordlines,
                config.bitlines,
                config.arrays,
                config.tree_bits,
                config.tiles,
                config.rom.words,
                config.skip,
                config.memory_channels > 1,
            )
            m.submodules[f"bank_{number}"] = ResetInserter(clear)(bank)
            wiring.connect(m, getattr(fork, f"o{number}"), bank.command)
            wiring.connect(m, getattr(rows, f"rows{number}"), bank.rows)
            request, response, word = bank.request.payload, bank.response, transfer.words[number]
            m.d.comb += [
                bank.first_tile.eq(number * config.arrays),
                bank.request.valid.eq(transfer.accesses[number]),
                request.array.eq(word.tile[:array_bits]),
                *(request[name].eq(word[name]) for name, _ in request.shape() if name != "array"),
                response.ready.eq(1),
                transfer.reads[number].eq(Mux(response.valid, response.payload, 0)),
            ]
            if near is not None:
                with m.If(near.accesses[number]):
                    m.d.comb += [
                        bank.request.valid.eq(1),
                        *_fields(request, getattr(near, f"request{number}")),
                    ]
                m.d.comb += getattr(near, f"response{number}").eq(response.payload)
            banks.append(bank)
        return banks

    def _connect_commands(
        self,
        m: Module,
        reset: Signal,
        fetch: CommandFetch,
        unit: CommandUnit,
        transfer: ArrayTransfer,
        exchange: Exchange,
        rows: RowNetwork,
    ) -> None:
        balance = Signal(range(-self._config.banks * 8, self._config.banks * 8))
        with m.If(reset):
            m.d.sync += balance.eq(0)
        with m.Else():
            m.d.sync += balance.eq(balance + count_ones(exchange.sent) - count_ones(rows.received))
        m.d.comb += [
            unit.units.eq(fetch.units),
            unit.available.eq(fetch.available),
            unit.ends.eq(fetch.ends),
            unit.place.eq(fetch.place),
            unit.fetch_idle.eq(fetch.idle),
            fetch.take.eq(unit.take),
            fetch.holds.eq(unit.holds),
            transfer.transfer.eq(unit.transfer),
            transfer.entry.eq(unit.entry),
            transfer.start.eq(unit.starts_transfer),
            unit.transfer_busy.eq(transfer.busy),
            unit.transfer_fault.eq(
                Mux(
                    transfer.is_outside,
                    ErrorCause.ADDRESS,
                    Mux(transfer.is_beyond, ErrorCause.LAYOUT, ErrorCause.NONE),
                )
            ),
            exchange.command.eq(unit.exchange),
            exchange.start.eq(unit.starts_exchange),
            exchange.on_network.eq(rows.busy),
            unit.exchange_sends.eq(exchange.sends),
            unit.exchange_busy.eq(exchange.busy),
            unit.all_received.eq(balance == 0),
            rows.step.eq(exchange.step),
            rows.distance.eq(exchange.distance),
            rows.mask.eq(exchange.mask),
            rows.moves.eq(exchange.moves),
            rows.turn.eq(exchange.turn),
            rows.foreign.eq(exchange.foreign),
        ]

    def _add_near(self, m: Module, reset: Signal, unit: CommandUnit) -> NearMemory:
        config = self._config
        near = NearMemory(
            config.memory_lines,
            config.banks,
            config.arrays,
            config.wordlines,
            config.bitlines,
            config.network_bits,
        )
        m.submodules.near_memory = ResetInserter(reset)(near)
        m.d.comb += [
            near.command.eq(unit.near),
            near.start.eq(unit.starts_near),
            unit.near_has_room.eq(near.has_room),
            unit.near_is_complete.eq(near.is_complete),
            unit.near_copies.eq(near.copies),
            unit.near_streams.eq(near.streams),
            unit.near_fault.eq(near.fault),
            unit.near_stream.eq(near.stream),
        ]
        return near

    def _add_core(self, m: Module, reset: Signal, unit: CommandUnit, busy: Signal) -> VectorCore:
        config = self._config
        core = VectorCore(
            lanes=config.core_lanes,
            instructions=config.core_instructions,
            memory_words=config.memory_words,
            cache_bytes=config.core_cache_bytes,
            loads=config.core_loads,
        )
        m.submodules.vector_core = ResetInserter(reset)(core)
        instructions = SharedMemory(self.memory_map.window("instructions"))
        m.submodules.instructions = instructions
        wiring.connect(m, instructions.host, wiring.flipped(self.windows.instructions))
        m.d.comb += [
            instructions.busy.eq(busy),
            instructions.core.row.eq(core.program_row),
            instructions.core.read_enable.eq(core.program_enable),
            core.program_data.eq(instructions.core.read_data.as_value()),
            core.first.eq(unit.first_instruction),
            core.start.eq(unit.starts_core),
            unit.core_busy.eq(core.busy),
            unit.core_fault_place.eq(core.fault_place),
        ]
        with m.Switch(core.fault):
            for fault, cause in CORE_CAUSES.items():
                with m.Case(fault):
                    m.d.comb += unit.core_fault.eq(cause)
        return core


def _fields(target: data.View, source: data.View) -> list[Any]:
    """Sets the fields of a word's request that ``source`` has, others to 0."""
    has = source.shape().members
    return [target[name].eq(source[name] if name in has else 0) for name, _ in target.shape()]


def _ranked(faults: Any) -> list[Rank]:
    ranks: list[Rank] = [(cause, faults.cause == cause, faults.place) for cause in _RANKS]
    return [*ranks, (ErrorCause.DEADLOCK, faults.stuck, faults.place)]
