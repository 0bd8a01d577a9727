"""A TMU core without its host port: units, queues, memory and control."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES, Fault
from gnarl.hw.lib.execute.execute_unit import ExecuteUnit
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder, Rank
from gnarl.hw.lib.machine.machine import Core
from gnarl.hw.lib.machine.watchdog import Watchdog
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.hw.tmu import access_isa
from gnarl.hw.tmu.access.access_unit import AccessUnit
from gnarl.hw.tmu.access_isa import Mode
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory.hierarchy import Hierarchy
from gnarl.hw.tmu.memory_map import (
    ACCESS_EVENTS,
    EXECUTE_EVENTS,
    MEMORY_EVENTS,
    QUEUE_EVENTS,
    TOTALS,
    WATCHDOG_CYCLES,
    ErrorCause,
    memory_map,
)
from gnarl.hw.tmu.program_rows import ProgramRows
from gnarl.hw.tmu.queues.data_queue import DataQueue
from gnarl.hw.tmu.queues.token_queue import TokenQueue

COUNTER_BITS = 40
TOTAL_BITS = 48

_FAULTS = data.StructLayout(
    {
        "index": 1,
        "stream": 16,
        "bounds": 1,
        "fiber": 16,
        "execute": Fault.as_shape(),
        "pc": 17,
        "stuck": 1,
        "left": 1,
    }
)


class TmuCore(Core):
    """An access unit ahead of an execute unit, on one memory. Source: Ember, figures 3 and 6.

    A run begins with both units at the beginning of their programs, empty queues and caches. It
    ends when the access unit has put all into the queues, and the execute unit has halted, which
    has taken all of it.

    Members: as ``Core``, with ``memory_map(config)``.
    """

    def __init__(self, config: TmuConfig) -> None:
        self._config = config
        super().__init__(memory_map(config))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        faults = FaultRecorder(_FAULTS, ErrorCause, _ranked)
        happenings = (*EXECUTE_EVENTS, *ACCESS_EVENTS, *QUEUE_EVENTS, *MEMORY_EVENTS)
        events = Counters(len(happenings), COUNTER_BITS)
        totals = [Signal(TOTAL_BITS, name=name) for name in TOTALS]
        control = self.add_run_control(m, faults, events, totals)
        m.submodules.watchdog = watchdog = Watchdog(WATCHDOG_CYCLES + config.latency)

        # Units are reset before a run. Caches become empty behind one, so that the cycles that this
        # takes are none of the next run's.
        reset, was_busy = Signal(), Signal()
        m.d.sync += was_busy.eq(control.busy)
        m.d.comb += reset.eq(~control.busy)
        access, execute = self._units()
        queue = DataQueue(config.data_words, config.lanes)
        tokens = TokenQueue(config.control_tokens, config.pc_bits)
        hierarchy = Hierarchy(config, self.memory_map.window("memory"))
        m.submodules.access = ResetInserter(reset)(access)
        m.submodules.execute = ResetInserter(reset)(execute)
        m.submodules.queue = ResetInserter(reset)(queue)
        m.submodules.tokens = ResetInserter(reset)(tokens)
        m.submodules.hierarchy = ResetInserter(was_busy & ~control.busy)(hierarchy)

        self._connect_program(m, access, execute, control.busy)
        self._connect_queues(m, access, execute, queue, tokens)
        self._connect_memory(m, access, execute, hierarchy, control.busy)

        finished = Signal()
        is_traversing = self._is_in_use(access) & ~access.done
        has_left = (queue.room != config.data_words) | (tokens.room != config.control_tokens)
        m.d.comb += [
            control.works.eq(1),
            finished.eq(execute.halted & ~is_traversing & hierarchy.idle),
            control.finished.eq(finished),
            events.happens.eq(self._happening(access, execute, hierarchy)),
            watchdog.watch.eq(control.busy),
            watchdog.moves.eq(
                Cat(
                    execute.issued,
                    access.put,
                    access.token.valid,
                    access.request.valid,
                    access.moves,
                    hierarchy.happens,
                ).any()
            ),
        ]
        self._connect_faults(m, access, execute, faults)
        m.d.comb += faults.faults.stuck.eq(watchdog.stuck)
        m.d.comb += faults.faults.left.eq(finished & has_left)
        self._name_streams(m, access, faults)
        sums = (access.under_way, Const(config.data_words) - queue.room)
        self.add_totals(m, control, control.busy, totals, sums)
        return m

    def _units(self) -> tuple[AccessUnit, ExecuteUnit]:
        config = self._config
        access = AccessUnit(
            config.layers,
            config.lanes,
            config.streams,
            config.stream_words,
            config.requests,
            config.address_bits,
            config.pc_bits,
        )
        execute = ExecuteUnit(
            lanes=config.lanes,
            program_words=config.program_words,
            memory_words=config.memory_words,
            loads=config.loads,
            stages=FLOAT_STAGES,
        )
        return access, execute

    def _happening(self, access: AccessUnit, execute: ExecuteUnit, hierarchy: Hierarchy) -> Value:
        """What happens in a cycle, in the order of counters."""
        return Cat(
            execute.issued,
            execute.issued_vector,
            execute.waits_data,
            execute.waits_token,
            execute.waits_memory,
            execute.waits_registers,
            execute.joined,
            access.waits,
            access.put & access.put_vector,
            access.put & ~access.put_vector,
            access.token.valid & access.token.ready,
            hierarchy.happens,
        )

    def _connect_faults(
        self, m: Module, access: AccessUnit, execute: ExecuteUnit, faults: FaultRecorder
    ) -> None:
        """Faults of both units."""
        m.d.comb += [
            faults.faults.index.eq(access.faults.any()),
            faults.faults.bounds.eq(access.disorders.any()),
            faults.faults.execute.eq(execute.fault),
            faults.faults.pc.eq(execute.fault_pc),
        ]

    def _name_streams(self, m: Module, access: AccessUnit, faults: FaultRecorder) -> None:
        """The first stream and the first fiber that are at fault."""
        config = self._config
        for layer in reversed(range(config.layers)):
            with m.If(access.faults[layer]):
                stream = layer * config.streams + access.faulty[layer]
                m.d.comb += faults.faults.stream.eq(stream)
            with m.If(access.disorders[layer]):
                m.d.comb += faults.faults.fiber.eq(layer * config.streams)

    def _is_in_use(self, access: AccessUnit) -> Any:
        return access.layers[0].mode != Mode.OFF

    def _connect_program(
        self, m: Module, access: AccessUnit, execute: ExecuteUnit, busy: Signal
    ) -> None:
        config = self._config
        instructions = SharedMemory(self.memory_map.window("instructions"))
        m.submodules.instructions = instructions
        wiring.connect(m, instructions.host, wiring.flipped(self.windows.instructions))
        m.d.comb += [
            instructions.busy.eq(busy),
            instructions.core.row.eq(execute.program_row),
            instructions.core.read_enable.eq(execute.program_enable),
            execute.program_data.eq(instructions.core.read_data.as_value()),
        ]
        lanes, streams = config.lanes, config.streams
        first_units = [layer * lanes for layer in range(config.layers)]
        rows = {
            "layers": (access_isa.LAYER, range(config.layers), access.layers),
            "units": (access_isa.UNIT, first_units, access.units),
            "streams": (
                access_isa.STREAM,
                [unit * streams + number for unit in first_units for number in range(streams)],
                access.descriptors,
            ),
            "events": (access_isa.EVENT, range(access_isa.EVENT_STEPS), access.events),
        }
        for name, (layout, kept, member) in rows.items():
            window = self.memory_map.window(name)
            m.submodules[name] = registers = ProgramRows(window, layout, list(kept))
            wiring.connect(m, registers.host, wiring.flipped(getattr(self.windows, name)))
            m.d.comb += member.as_value().eq(registers.values.as_value())
        # Rows of all units, which layers that merge read one after the other.
        for host, words in (
            (self.windows.units, access.unit_words),
            (self.windows.streams, access.stream_words),
        ):
            m.d.comb += [
                words.enable.eq(host.write_enable),
                words.row.eq(host.row),
                words.word.eq(host.lane),
                words.data.eq(host.write_data),
            ]

    def _connect_queues(
        self,
        m: Module,
        access: AccessUnit,
        execute: ExecuteUnit,
        queue: DataQueue,
        tokens: TokenQueue,
    ) -> None:
        m.d.comb += [
            queue.put.eq(access.put),
            queue.put_vector.eq(access.put_vector),
            queue.put_data.eq(access.put_data),
            access.room.eq(queue.room),
            queue.take.eq(execute.take),
            queue.take_vector.eq(execute.take_vector),
            execute.valid.eq(queue.valid),
            execute.words.eq(queue.words),
            access.token_room.eq(tokens.room),
        ]
        wiring.connect(m, access.token, tokens.i)
        wiring.connect(m, tokens.o, execute.token)

    def _connect_memory(
        self,
        m: Module,
        access: AccessUnit,
        execute: ExecuteUnit,
        hierarchy: Hierarchy,
        busy: Signal,
    ) -> None:
        wiring.connect(m, execute.port, hierarchy.execute)
        wiring.connect(m, hierarchy.host, wiring.flipped(self.windows.memory))
        request, store = hierarchy.access.request, hierarchy.store.request
        for name, _ in access.request.payload.shape():
            m.d.comb += request.payload[name].eq(access.request.payload[name])
        m.d.comb += [
            hierarchy.busy.eq(busy),
            hierarchy.drain.eq(execute.ended),
            hierarchy.drain_stores.eq(access.done),
            request.valid.eq(access.request.valid),
            access.request.ready.eq(request.ready),
            access.answer.valid.eq(hierarchy.access.response.valid),
            access.answer.payload.tag.eq(hierarchy.access.response.payload.tag),
            access.answer.payload.data.eq(hierarchy.access.response.payload.data),
            hierarchy.access.response.ready.eq(access.answer.ready),
            store.valid.eq(access.store.valid),
            store.payload.address.eq(access.store.payload.address),
            store.payload.lanes.eq(access.store.payload.lanes),
            store.payload.data.eq(access.store.payload.data),
            store.payload.write.eq(1),
            access.store.ready.eq(store.ready),
            hierarchy.store.response.ready.eq(1),
        ]


def _ranked(faults: Any) -> list[Rank]:
    return [
        (ErrorCause.INDEX, faults.index, faults.stream),
        (ErrorCause.BOUNDS, faults.bounds, faults.fiber),
        (ErrorCause.ENCODING, faults.execute == Fault.ENCODING, faults.pc),
        (ErrorCause.CONTROL, faults.execute == Fault.CONTROL, faults.pc),
        (ErrorCause.ADDRESS, faults.execute == Fault.ADDRESS, faults.pc),
        (ErrorCause.DEADLOCK, faults.stuck, 0),
        (ErrorCause.LEFT, faults.left, 0),
    ]
