"""The whole system, command by command: what memory and arrays hold, and in which cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.sram_compute.commands.command_unit import END_CYCLES
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import LINE_UNITS, NEAR_COMMANDS, UNITS, Opcode
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.microcode.program import Microinstruction
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.network.row_network import SEND_CYCLES
from gnarl.hw.sram_compute.program import Command, decode, opcode_of
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.machine.cycle_limit import require_cycles
from gnarl.sw.runtime.sram_compute.model import exchange as exchanges
from gnarl.sw.runtime.sram_compute.model import transfer
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from gnarl.sw.runtime.sram_compute.model.bank import Bank, Move
from gnarl.sw.runtime.sram_compute.model.check import StoppedError, layout_is_bad, operand_is_bad
from gnarl.sw.runtime.sram_compute.model.copy_times import CopyTimes
from gnarl.sw.runtime.sram_compute.model.copy_waits import CopyWaits
from gnarl.sw.runtime.sram_compute.model.core import CoreRuns, no_program
from gnarl.sw.runtime.sram_compute.model.cycle_counts import Interval, Kinds, cycle_counts
from gnarl.sw.runtime.sram_compute.model.engines import Engines
from gnarl.sw.runtime.sram_compute.model.fetch_times import FetchTimes
from gnarl.sw.runtime.sram_compute.model.layout_faults import first_fault
from gnarl.sw.runtime.sram_compute.model.lockstep import run_banks
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel
from gnarl.sw.runtime.sram_compute.model.microprograms import microprograms
from gnarl.sw.runtime.sram_compute.model.streams import Streaming
from gnarl.sw.runtime.sram_compute.model.tiles import pattern

_SYNCED = (
    Opcode.COMPUTE,
    Opcode.MOVE,
    Opcode.FILL,
    Opcode.LOAD,
    Opcode.STORE,
    Opcode.CORE,
    Opcode.COPY,
    Opcode.NEAR,
    Opcode.END,
)
"""What needs a ``SYNC`` before it."""


class System:
    """Banks, which each run finds cleared unless the one before keeps what is in them, and main
    memory, which stays from run to run.

    memory
        uint32 [lines, words of a line].
    instructions
        of the core: uint32 [instructions, words of one].
    keeps
        whether the next run finds rows, carries and predicates as they are.
    """

    def __init__(self, config: SramConfig) -> None:
        self.config = config
        self.keeps = False
        self.memory = np.zeros((config.memory_lines, LINE_WORDS), np.uint32)
        self.instructions = no_program(config)
        self.arrays = ComputeArray(config.wordlines, config.tiles * config.bitlines)
        self.banks = [
            Bank(
                config.wordlines,
                config.bitlines,
                config.arrays,
                number * config.arrays,
                tiles=config.tiles,
                skips=config.skip,
                rows=self.arrays.view(number, config.banks),
            )
            for number in range(config.banks)
        ]
        self.engines = Engines(config, self.arrays)
        self._programs = microprograms(config)

    def load(self, image: Mapping[str, Rows]) -> None:
        """Writes the rows of ``image`` to main memory and to the core's instructions."""
        self.memory[image["memory"].numbers] = image["memory"].words
        if (instructions := image.get("instructions")) is not None:
            self.instructions[instructions.numbers] = instructions.words

    def run(self, first_line: int, max_cycles: int = NO_LIMIT) -> Run:
        """Runs the program that begins in a line. Raises ``StoppedError`` where the hardware stops,
        ``CycleLimitError`` where it is not over after so many cycles, and ``ProgramError`` for what
        it has no meaning for."""
        run = Run(self, first_line, max_cycles)
        while not run.is_over:
            run.step()
        return run

    def program(self, entry: int) -> tuple[Microinstruction, ...]:
        """The microprogram that begins there; ``KeyError`` if none does."""
        return self._programs[entry]


class Run:
    """A run of a program.

    cycles, counters
        once it ``is_over``: as the hardware counts.
    """

    def __init__(self, system: System, first_line: int, max_cycles: int = NO_LIMIT) -> None:
        self._max_cycles = max_cycles
        self._system = system
        self._config = system.config
        self._channel = Channel(system.config)
        self._copies = CopyTimes(self._channel, system.config.banks)
        self._fetch = FetchTimes(
            system.config, self._channel, self._copies, system.memory, first_line
        )
        self._waits = CopyWaits(self._fetch, self._copies)
        self._place = first_line * LINE_UNITS
        self._layouts: dict[int, Mapping[str, Any]] = {}
        self._is_unsynced = False
        self._cycle = 0  # in which the next command may be decoded
        self._exchange_end = -1  # the last cycle in which rows are on the network
        self._exchanges: list[tuple[int, int]] = []
        self._transfers: list[tuple[int, int]] = []
        self._near: tuple[list[tuple[int, int]], ...] = ([], [])  # others, and those of sums
        self._streaming = Streaming(system.config, system.engines)
        self._core = CoreRuns(
            system.config, system.instructions, system.memory, self._channel, max_cycles
        )
        self._counts = dict.fromkeys(
            (
                "commands",
                "lines_loaded",
                "lines_stored",
                "bits_between_tiles",
                "bits_between_banks",
            ),
            0,
        )
        if not system.keeps:
            system.arrays.clear()
        system.keeps = False
        system.engines.clear()
        for bank in system.banks:
            bank.begin()
        self.is_over = False
        self.cycles = 0
        self.counters: dict[str, int] = {}

    @property
    def cycle(self) -> int:
        """The first one in which the next command may be taken."""
        return self._cycle

    @property
    def lines_moved(self) -> int:
        """Lines to and from main memory until now, without those of commands."""
        counted = self._counts["lines_loaded"] + self._counts["lines_stored"]
        return counted + self._core.lines_read + self._core.lines_written

    def kinds(self) -> Kinds:
        """What the cycles until now are spent on, by counters, as ``cycle_counts`` takes it."""
        banks = self._system.banks
        moves = [each for bank in banks for each in bank.times.shifts]
        programs = [each for bank in banks for each in bank.times.programs]
        return (
            ("cycles_move", self._exchanges + moves),
            ("cycles_compute", programs),
            ("cycles_transfer", self._waits.waits),
            ("cycles_near", self._near[0]),
            ("cycles_final", self._near[1]),
            ("cycles_transfer", self._transfers + self._copies.busy),
            ("cycles_core", self._core.busy),
            ("cycles_command", []),
        )

    def own_intervals(self) -> Sequence[tuple[str, list[Interval]]]:
        """Lists to which each command adds cycles that it takes, by their counters; they stay the
        same until the run is over. Copies take cycles when others run."""
        times = [bank.times for bank in self._system.banks]
        return (
            ("cycles_move", self._exchanges),
            *(("cycles_move", each.shifts) for each in times),
            *(("cycles_compute", each.programs) for each in times),
            ("cycles_near", self._near[0]),
            ("cycles_final", self._near[1]),
            ("cycles_transfer", self._transfers),
            ("cycles_core", self._core.busy),
        )

    def step(self) -> None:
        """Does the next command."""
        require_cycles(self._cycle, self._max_cycles)
        end = self._config.memory_lines * LINE_UNITS
        if self._place >= end:
            raise StoppedError(ErrorCause.ADDRESS, self._place)
        cycle = self._fetch.wait(1, self._cycle)
        assert cycle is not None
        opcode = opcode_of(self._fetch.units(self._place, 1)[0])
        if opcode == Opcode.CORE and not self._config.core_lanes:
            opcode = None
        if opcode in NEAR_COMMANDS and not self._config.near_lanes:
            opcode = None
        count = 1 if opcode is None else UNITS[opcode]
        if self._place + count > end:
            raise StoppedError(ErrorCause.ADDRESS, self._place)
        cycle = self._fetch.wait(count, cycle)
        assert cycle is not None
        if opcode is None:
            self._stop(ErrorCause.COMMAND, cycle + 1)
        command = decode(self._fetch.units(self._place, count))
        self._fetch.take(count, cycle)
        self._counts["commands"] += 1
        self._check(command, cycle + 1)
        self._do(command, cycle + 1)
        self._place += count

    def _stop(self, cause: ErrorCause, cycle: int) -> NoReturn:
        """Stops because of this command, in a cycle."""
        require_cycles(cycle, self._max_cycles)
        raise StoppedError(cause, self._place)

    def _check(self, command: Command, cycle: int) -> None:
        config, fields = self._config, command.fields
        cause = None
        if operand_is_bad(config, command):
            cause = ErrorCause.OPERAND
        elif self._is_unsynced and command.opcode in _SYNCED:
            cause = ErrorCause.UNSYNCED
        elif command.opcode == Opcode.LAYOUT and layout_is_bad(config, fields):
            cause = ErrorCause.LAYOUT
        elif command.opcode in (Opcode.LOAD, Opcode.STORE):
            entry = self._layouts.get(fields["layout"])
            if entry is None:
                cause = ErrorCause.LAYOUT
            elif fields["n"] > 8 << entry["element"]:
                cause = ErrorCause.OPERAND
        elif command.opcode == Opcode.COPY:
            if fields["line"] + fields["lines"] > config.memory_lines:
                cause = ErrorCause.ADDRESS
        elif command.opcode == Opcode.NEAR and not self._streaming.is_complete(fields):
            cause = ErrorCause.OPERAND
        if cause is not None:
            self._stop(cause, cycle)

    def _do(self, command: Command, cycle: int) -> None:
        """A command that is ready to go from ``cycle`` on."""
        opcode, fields = command.opcode, dict(command.fields)
        if opcode == Opcode.COMPUTE:
            bases = dict(zip(Base, fields["bases"], strict=True))
            try:
                program = self._system.program(fields["entry"])
            except KeyError:
                raise ProgramError(
                    f"unit {self._place}: entry = {fields['entry']}: no operation begins there"
                ) from None
            self._compute(program, fields["n"], bases, cycle)
        elif opcode in (Opcode.MOVE, Opcode.FILL):
            self._move(
                Move(
                    fields.get("a", 0),
                    fields["d"],
                    fields["n"],
                    fields.get("distance", 0),
                    pattern(fields, "bitlines"),
                    pattern(fields, "tiles"),
                    fields.get("value"),
                ),
                cycle,
            )
        elif opcode in (Opcode.SHIFT, Opcode.BROADCAST):
            self._exchange(opcode, fields, max(self._quiet(cycle), self._copied()))
            self._is_unsynced = True
        elif opcode == Opcode.LAYOUT:
            self._layouts[fields["layout"]] = fields
            self._cycle = cycle + 1
        elif opcode in (Opcode.LOAD, Opcode.STORE):
            idle = self._hold(cycle)
            self._transfer(opcode, fields, max(self._quiet(cycle), idle))
            self._fetch.release(self._cycle)
        elif opcode == Opcode.CORE:
            idle = self._hold(cycle)
            end = self._core.run(fields["first"], max(cycle, idle), self._place)
            self._cycle = end + 2
            self._fetch.release(self._cycle)
        elif opcode in NEAR_COMMANDS:
            self._do_near(opcode, fields, cycle)
        elif opcode == Opcode.SYNC:
            self._is_unsynced = False
            self._cycle = self._quiet(cycle) + 1
        else:
            self._end(max(self._quiet(cycle), self._copied()) + END_CYCLES)
            self._system.keeps = bool(fields["keeps"])

    def _hold(self, cycle: int) -> int:
        """Nothing is fetched from a cycle on; the first in which nothing is fetched or copied."""
        idle = self._fetch.hold(cycle)
        return max(idle, self._copied(asks=False))

    def _copied(self, *, asks: bool = True) -> int:
        """The first cycle in which nothing is copied; no command is taken before it."""
        while (end := self._copies.end) is None:
            self._fetch.pass_line(asks=asks)
        return end

    def _quiet(self, cycle: int) -> int:
        """The first cycle from ``cycle`` on in which nothing is under way."""
        ends = [bank.times.end for bank in self._system.banks]
        return max(cycle, self._exchange_end + 1, max(ends) + 1)

    def _compute(
        self,
        program: Sequence[Microinstruction],
        n: int,
        bases: Mapping[Base, int],
        cycle: int,
    ) -> None:
        banks, skips = self._system.banks, self._config.skip
        cycle = max(cycle, self._copied())
        spent = run_banks(self._system.arrays, len(banks), program, bases, n, skips=skips)
        self._cycle = 1 + max(
            bank.compute_elsewhere(cycle, each) for bank, each in zip(banks, spent, strict=True)
        )

    def _move(self, move: Move, cycle: int) -> None:
        cycle = max(cycle, self._copied())
        self._cycle = 1 + max(bank.execute(move, cycle) for bank in self._system.banks)

    def _exchange(self, opcode: Opcode, fields: dict[str, Any], start: int) -> None:
        config = self._config
        if opcode == Opcode.SHIFT:
            patterns = [pattern(fields, "tiles")]
            steps = exchanges.shift_steps(config, patterns[0], fields["between"])
        else:
            patterns = [pattern(fields, "sources"), pattern(fields, "copies")]
            steps = exchanges.broadcast_steps(config, *patterns)
        rows_exchanged = exchanges.Exchange(
            fields["a"],
            fields["d"],
            fields["n"],
            fields["distance"],
            pattern(fields, "bitlines"),
            patterns,
            steps,
            packed=bool(fields.get("packed", 0)),
        )
        exchanges.exchange(config, self._system.banks, rows_exchanged)
        cost = exchanges.cost(config, rows_exchanged)
        sent = start + cost.cycles
        self._exchange_end = sent + SEND_CYCLES - 1
        self._exchanges.append((start + 1, self._exchange_end))
        self._counts["bits_between_tiles"] += cost.bits_between_tiles
        self._counts["bits_between_banks"] += cost.bits_between_banks
        self._cycle = sent + 1

    def _transfer(self, opcode: Opcode, fields: dict[str, Any], start: int) -> None:
        config, system = self._config, self._system
        entry = self._layouts[fields["layout"]]
        given = transfer.layout(entry, config.memory_channels)
        fault = first_fault(config, given.entry, given.channels)
        # A line takes a cycle at least; and at least half of those before a place are there.
        least = prod(given.entry["sizes"]) if fault is None else fault.place // 2
        require_cycles(start + least, self._max_cycles)
        where = transfer.line_mapping(given, None if fault is None else fault.place)
        row, n = fields["row"], fields["n"]
        cycles = n * transfer.pieces(given)
        lines = transfer.Transposers(where, config.arrays, config.banks)
        words = transfer.inner_words(given, where, fields)
        memory = system.memory.reshape(-1, given.line_words)
        if opcode == Opcode.LOAD:
            is_loaded = np.logical_or(~words.all(axis=1), not fields["hollow"])
            last, end = transfer.load_times(
                self._channel, start, lines, is_loaded.tolist(), cycles, wide=given.is_wide
            )
        else:
            is_stored: list[bool] = np.any(words, axis=1).tolist()
            cycles += (8 << entry["element"]) - n + 2
            last, end = transfer.store_times(
                self._channel, start, lines, is_stored, cycles, wide=given.is_wide
            )
        if fault is not None:
            self._stop(fault.cause, last + 1)
        if opcode == Opcode.LOAD:
            transfer.load(system.banks, config.bitlines, memory, where, row, n, is_loaded)
            self._counts["lines_loaded"] += given.channels * int(np.count_nonzero(is_loaded))
        else:
            is_signed = bool(fields["is_signed"])
            transfer.store(system.banks, config.bitlines, memory, where, row, n, is_signed, words)
            self._counts["lines_stored"] += given.channels * sum(is_stored)
        self._transfers.append((start + 1, end))
        self._cycle = end + 2

    def _do_near(self, opcode: Opcode, fields: dict[str, Any], cycle: int) -> None:
        if opcode == Opcode.STREAM:
            self._streaming.streams[fields["stream"]] = fields
            self._cycle = cycle + 1
        elif opcode == Opcode.OPERATION:
            self._streaming.operations[fields["slot"]] = fields
            self._cycle = cycle + 1
        elif opcode == Opcode.COPY:
            self._copy(fields, self._quiet(cycle))
        else:
            start = self._quiet(cycle)
            through = self._streaming.run(fields, start, self._waits, self._max_cycles)
            self._near[fields["is_final"]].append((start + 1, through - 1))
            self._cycle = through + 1

    def _copy(self, fields: dict[str, Any], cycle: int) -> None:
        """Queues one, from a cycle on."""
        while (room := self._copies.room) is None:
            self._fetch.pass_line()
        start = max(cycle, room)
        self._fetch.pass_until(start)
        self._copies.add(fields, start)
        self._system.engines.copy(fields, self._system.memory)
        self._counts["lines_stored" if fields["is_store"] else "lines_loaded"] += fields["lines"]
        self._cycle = start + 1

    def _end(self, cycles: int) -> None:
        require_cycles(cycles, self._max_cycles)
        banks = self._system.banks
        counters = {
            **cycle_counts(cycles, self.kinds()),
            **self._counts,
            "core_instructions": self._core.instructions,
            "core_lines_read": self._core.lines_read,
            "core_lines_written": self._core.lines_written,
            "near_strips": self._streaming.strips,
            "command_lines": self._fetch.lines(cycles - 1),
            "bits_within_tiles": sum(bank.bits_moved for bank in banks),
        }
        counters["bits_between_banks"] += 32 * self._streaming.words_between_banks
        self.cycles, self.counters = cycles, counters
        self.is_over = True
