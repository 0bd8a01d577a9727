"""In-SRAM computing without its host port: banks, network, memory, commands and control."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from hw.lib.count_ones import count_ones
from hw.lib.counters import Counters
from hw.lib.fault_recorder import FaultRecorder, Rank
from hw.lib.instanced import ResetInserter
from hw.lib.lines.line_memory import LineMemory
from hw.lib.lines.line_size import LINE_WORDS
from hw.lib.machine import Core
from hw.lib.settings import Settings
from hw.lib.stream.fork import Fork
from hw.lib.watchdog import Watchdog
from hw.sram_compute.array_transfer import ArrayTransfer
from hw.sram_compute.bank import Bank
from hw.sram_compute.command_fetch import CommandFetch
from hw.sram_compute.command_unit import CommandUnit
from hw.sram_compute.config import SramConfig
from hw.sram_compute.exchange import Exchange
from hw.sram_compute.memory_map import EVENTS, TOTALS, WATCHDOG_CYCLES, ErrorCause, memory_map
from hw.sram_compute.row_network import RowNetwork

COUNTER_BITS = 40
TOTAL_BITS = 56

_FAULTS = data.StructLayout({"cause": ErrorCause, "place": 32, "stuck": 1})

_RANKS = (
    ErrorCause.COMMAND,
    ErrorCause.OPERAND,
    ErrorCause.LAYOUT,
    ErrorCause.ADDRESS,
    ErrorCause.UNSYNCED,
)


class SramCore(Core):
    """Banks of compute arrays, which a program of commands in main memory leads.

    A run begins with an empty layout override table; what arrays hold stays from run to run. It
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
        reset, was_busy = Signal(), Signal()
        m.d.sync += was_busy.eq(control.busy)
        m.d.comb += reset.eq(~control.busy)

        size = (config.wordlines, config.bitlines, config.tiles, len(config.rom.words))
        network = (
            config.banks,
            config.arrays,
            config.wordlines,
            config.bitlines,
            config.network_bits,
        )
        fetch = CommandFetch(config.memory_lines)
        unit = CommandUnit(*size)
        transfer = ArrayTransfer(
            config.memory_lines, config.wordlines, config.bitlines, config.tiles
        )
        exchange, rows = Exchange(*network), RowNetwork(*network)
        m.submodules.fetch = ResetInserter(reset)(fetch)
        m.submodules.unit = ResetInserter(reset)(unit)
        m.submodules.transfer = ResetInserter(reset)(transfer)
        m.submodules.exchange = ResetInserter(reset)(exchange)
        m.submodules.rows = ResetInserter(reset)(rows)
        banks = self._add_banks(m, reset, unit, transfer, rows)
        self._connect_commands(m, reset, fetch, unit, transfer, exchange, rows)
        channel = self._connect_memory(m, fetch, transfer, control.busy, was_busy)
        m.submodules.program = program = Settings(
            self.memory_map.window("program"), [len(fetch.first_line)]
        )
        wiring.connect(m, program.host, wiring.flipped(self.windows.program))

        moves, computes = Signal(), Signal()
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
                    transfer.busy & ~moves & ~computes,
                    moves,
                    computes & ~moves,
                    ~(transfer.busy | moves | computes),
                    unit.accepted,
                    channel,
                )
            ),
            watchdog.watch.eq(control.busy),
            watchdog.moves.eq(unit.accepted | channel.any() | exchange.busy),
            faults.faults.cause.eq(unit.fault),
            faults.faults.place.eq(unit.fault_place),
            faults.faults.stuck.eq(watchdog.stuck),
        ]
        amounts = (
            sum((bank.bits_moved for bank in banks[1:]), banks[0].bits_moved),
            exchange.bits_between_tiles,
            exchange.bits_between_banks,
        )
        self.add_totals(m, control, totals, amounts)
        return m

    def _add_banks(
        self,
        m: Module,
        reset: Signal,
        unit: CommandUnit,
        transfer: ArrayTransfer,
        rows: RowNetwork,
    ) -> list[Bank]:
        config, word = self._config, transfer.word
        array_bits = (config.arrays - 1).bit_length()
        fork = Fork(unit.bank.payload.shape(), config.banks)
        m.submodules.fork = ResetInserter(reset)(fork)
        wiring.connect(m, unit.bank, fork.i)
        banks, read = [], []
        for number in range(config.banks):
            bank = Bank(
                config.wordlines,
                config.bitlines,
                config.arrays,
                config.tiles,
                config.rom.words,
                config.skip,
            )
            m.submodules[f"bank_{number}"] = ResetInserter(reset)(bank)
            wiring.connect(m, getattr(fork, f"o{number}"), bank.command)
            wiring.connect(m, getattr(rows, f"rows{number}"), bank.rows)
            request = bank.request.payload
            m.d.comb += [
                bank.first_tile.eq(number * config.arrays),
                bank.request.valid.eq(transfer.accesses & (word.tile[array_bits:] == number)),
                request.array.eq(word.tile[:array_bits]),
                *(request[name].eq(word[name]) for name in ("row", "group", "write", "data")),
                bank.response.ready.eq(1),
            ]
            banks.append(bank)
            read.append(Mux(bank.response.valid, bank.response.payload, 0))
        m.d.comb += transfer.read.eq(reduce(or_, read))
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
        ]

    def _connect_memory(
        self,
        m: Module,
        fetch: CommandFetch,
        transfer: ArrayTransfer,
        busy: Signal,
        was_busy: Signal,
    ) -> Value:
        """Main memory belongs to the transfer while that is under way, else to the fetch. The
        result: a line of the program is asked for, of an array, one is written."""
        config = self._config
        main = LineMemory(
            self.memory_map.window("memory"), LINE_WORDS, config.latency, 1, config.line_cycles
        )
        m.submodules.main = ResetInserter(was_busy & ~busy)(main)
        wiring.connect(m, wiring.flipped(self.windows.memory), main.host)
        request, response = main.port.request, main.port.response
        m.d.comb += main.busy.eq(busy)
        for port, is_on in ((fetch.port, ~transfer.busy), (transfer.port, transfer.busy)):
            with m.If(is_on):
                m.d.comb += [
                    request.valid.eq(port.request.valid),
                    request.payload.eq(port.request.payload),
                    port.request.ready.eq(request.ready),
                    port.response.valid.eq(response.valid),
                    response.ready.eq(port.response.ready),
                ]
            m.d.comb += port.response.payload.eq(response.payload)
        accepted = Signal()
        writes = request.payload.write.any()
        m.d.comb += accepted.eq(request.valid & request.ready)
        return Cat(
            accepted & ~transfer.busy,
            accepted & transfer.busy & ~writes,
            accepted & transfer.busy & writes,
        )


def _ranked(faults: Any) -> list[Rank]:
    ranks: list[Rank] = [(cause, faults.cause == cause, faults.place) for cause in _RANKS]
    return [*ranks, (ErrorCause.DEADLOCK, faults.stuck, faults.place)]
