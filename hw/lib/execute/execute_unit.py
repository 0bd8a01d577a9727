"""The execute unit."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION, Fault, Opcode
from gnarl.hw.lib.execute.addresses import AddressUnit
from gnarl.hw.lib.execute.divider import Divider
from gnarl.hw.lib.execute.instruction_buffer import InstructionBuffer
from gnarl.hw.lib.execute.issue import Issue
from gnarl.hw.lib.execute.lanes import Lanes
from gnarl.hw.lib.execute.load_store import LoadStore
from gnarl.hw.lib.execute.masks import MaskFile
from gnarl.hw.lib.execute.operands import Operands
from gnarl.hw.lib.execute.result_bus import ResultBus
from gnarl.hw.lib.execute.scalar_stage import ScalarStage
from gnarl.hw.lib.execute.sequencer import Sequencer, issued_layout
from gnarl.hw.lib.lines.lane_port import LanePort


class ExecuteUnit(wiring.Component):
    """Runs a program once after each reset, from instruction 0 to ``HALT`` or a fault.

    In order, at most one instruction a cycle, interlocked. An instruction is fetched and decoded,
    which is where jumps, tokens and ends of loops are dealt with; issues, with what it takes from
    registers and the data queue; is in the scalar stage; and in the lanes. With F ``stages``, an
    instruction that needs a result may issue so many cycles after the one that has it:

    ======================================  ====================================
    integers, comparison, choice: scalars   1
    the same of vectors, ``EXTRACT``        2 (a scalar result: 3)
    masks                                   1; 2 where vectors are compared
    floating point, ``MUL``, ``TO_FLOAT``   F + 1 (a scalar: F + 2)
    ``FMUL_ADD``                            2 F + 1 (a scalar: 2 F + 2)
    the same of vectors, for c of another   F + 1
    sums of vectors, for a of another sum   F
    ``REDUCE_*``                            log2(lanes) F + 2
    ``FDIV``, ``FSQRT``                     20, also until the next; 18 lanes + 4
    ``LOAD``                                4 and the port's, from request to response
    post-increment                          1
    ======================================  ====================================

    A jump, a waiting token, and the end of a loop's body take no cycles beside their own; a jump by
    token not even that, if it has been done before: see ``Sequencer``. A branch
    that is taken takes two more, as a ``LOOP`` that does not run; behind a branch or ``LOOP``,
    jumps, ``LOOP`` and ends of bodies wait for up to two cycles. Source: Ember, section VII.C.

    Parameters: ``lanes``; ``program_words``; ``memory_words``, a power of two; ``loads`` under way;
    ``stages`` >= 1 of float units. All registers are 0 at the start.

    Members
    -------
    program_row, program_enable, program_data
        the program's memory, whose data come a cycle after.
    take, take_vector, valid, words
        a ``DataQueue``'s.
    token
        in: a stream of addresses of instructions.
    port
        out: a ``LanePort``.
    ended, halted
        out: ``HALT`` or a fault is reached: no more requests come; ``HALT``, and all is done.
    fault, fault_pc
        out: why, and where, a run ended otherwise.
    issued, issued_vector
        out: an instruction issues; it works on vectors.
    waits_data, waits_token, waits_memory, waits_registers
        out: none issues, for want of words in the data queue; of a token; of loads' results, or
        of room for requests; of other results and units.
    joined
        out: a jump by token is done as one with the instruction before it.
    """

    def __init__(
        self, *, lanes: int, program_words: int, memory_words: int, loads: int, stages: int
    ) -> None:
        self._lanes = lanes
        self._program_words = program_words
        self._memory_words = memory_words
        self._loads = loads
        self._stages = stages
        self._address_bits = (memory_words - 1).bit_length()
        pc_bits = (program_words - 1).bit_length()
        tag_bits = max(1, (loads - 1).bit_length())
        words = data.ArrayLayout(unsigned(32), lanes)
        super().__init__(
            {
                "program_row": Out(pc_bits),
                "program_enable": Out(1),
                "program_data": In(INSTRUCTION.size),
                "take": Out(1),
                "take_vector": Out(1),
                "valid": In(1),
                "words": In(words),
                "token": In(stream.Signature(unsigned(pc_bits))),
                "port": Out(LanePort(self._address_bits, lanes, tag_bits)),
                "ended": Out(1),
                "halted": Out(1),
                "fault": Out(Fault),
                "fault_pc": Out(range(program_words + 1)),
                "issued": Out(1),
                "issued_vector": Out(1),
                "waits_data": Out(1),
                "waits_token": Out(1),
                "waits_memory": Out(1),
                "waits_registers": Out(1),
                "joined": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, stages = self._lanes, self._stages
        m.submodules.sequencer = self._sequencer = Sequencer(self._program_words)
        m.submodules.buffer = self._buffer = InstructionBuffer(self._program_words)
        m.submodules.issue = self._issue = Issue(stages)
        m.submodules.operands = self._operands = Operands(lanes, stages)
        m.submodules.scalar_stage = self._scalar_stage = ScalarStage()
        m.submodules.addresses = self._addresses = AddressUnit(self._memory_words, lanes)
        m.submodules.masks = self._masks = MaskFile(lanes)
        m.submodules.bus = self._bus = ResultBus(lanes, stages)
        m.submodules.lanes = self._lane_array = Lanes(lanes, stages)
        m.submodules.divider = self._divider = Divider(lanes)
        m.submodules.memory = self._memory = LoadStore(self._address_bits, lanes, self._loads)

        # The instruction in the scalar stage, and that in the lanes.
        issued = issued_layout(self._program_words)
        second, third = Signal(issued), Signal(issued)
        has_second, has_third = Signal(), Signal()
        self._ended = ended = self.ended
        works = Signal()
        self._is_outside = is_outside = Signal()
        needs_all = second.decoded.memory & (second.decoded.opcode != Opcode.PREFETCH)
        m.d.comb += [
            works.eq(has_second & ~ended),
            is_outside.eq(needs_all & self._addresses.is_outside),
        ]
        m.d.sync += [
            second.eq(self._buffer.o.payload),
            has_second.eq(self._issue.issues),
            third.eq(second),
            has_third.eq(works & ~is_outside),
        ]
        self._connect_fetch(m, second, works)
        self._connect_issue(m, second.decoded, works)
        self._connect_scalar_stage(m, second, works)
        self._connect_memory(m, third.decoded, has_third)
        self._connect_lanes(m, third.decoded, has_third)
        self._connect_late_results(m, third.decoded, has_third)
        m.d.comb += self.halted.eq(
            ended & (self.fault == Fault.NONE) & self._memory.idle & self.port.idle
        )
        return m

    def _connect_fetch(self, m: Module, second: Any, works: Value) -> None:
        sequencer, buffer, stage = self._sequencer, self._buffer, self._scalar_stage
        wiring.connect(m, sequencer.instruction, buffer.i)
        wiring.connect(m, wiring.flipped(self.token), sequencer.token)
        m.d.comb += [
            self.program_row.eq(sequencer.program_row),
            self.program_enable.eq(sequencer.program_enable),
            sequencer.program_data.eq(self.program_data),
            sequencer.unresolved.eq(buffer.steers | (works & second.decoded.steers) | self._ended),
            sequencer.redirects.eq(stage.redirects),
            sequencer.target.eq(second.decoded.immediate),
            sequencer.counts.eq(stage.counts),
            sequencer.count.eq(self._operands.a),
            self.joined.eq(sequencer.joins),
            buffer.clear.eq(stage.redirects),
            buffer.o.ready.eq(self._issue.issues),
        ]

    def _connect_issue(self, m: Module, second: Any, works: Value) -> None:
        issue, bus, buffer = self._issue, self._bus, self._buffer
        first = buffer.o.payload.decoded
        m.d.comb += [
            issue.valid.eq(buffer.o.valid),
            issue.instruction.eq(first),
            issue.advances.eq(buffer.advances),
            issue.coming.eq(buffer.coming.decoded),
            issue.stops.eq(self._scalar_stage.stops | self._ended),
            issue.has_data.eq(self.valid),
            issue.slot_free.eq(bus.free),
            issue.addend_comes.eq(bus.comes),
            issue.sum_comes.eq(bus.sums),
            issue.has_room.eq(self._memory.has_room),
            issue.has_tag.eq(self._memory.has_tag),
            issue.divided.eq(self._divider.result.valid & self._divider.result.ready),
            issue.compares.eq(works & second.compares),
            issue.compared.eq(second.dst),
            issue.scalar_ends.eq(bus.scalar_ends),
            issue.vector_ends.eq(bus.vector_ends),
            bus.asks.eq(first.path),
            bus.asked.eq(first.c.index),
            bus.asked_sum.eq(first.a.index),
            bus.reserves.eq(issue.issues),
            bus.vector.eq(first.writes_vector),
            bus.dst.eq(first.dst),
            bus.operation.eq(first.operation),
            self.take.eq(issue.issues & first.takes),
            self.take_vector.eq(first.take_vector),
            self.issued.eq(issue.issues),
            self.issued_vector.eq(issue.issues & first.vector),
            self.waits_data.eq(issue.waits_data),
            self.waits_memory.eq(issue.waits_memory),
            self.waits_registers.eq(issue.waits_registers),
            self.waits_token.eq(~buffer.o.valid & self._sequencer.waits_token),
        ]

    def _connect_scalar_stage(self, m: Module, second: Any, works: Signal) -> None:
        stage, operands, masks = self._scalar_stage, self._operands, self._masks
        decoded = second.decoded
        m.d.comb += [
            operands.instruction.eq(self._buffer.o.payload.decoded),
            operands.words.eq(self.words),
            operands.second.eq(decoded),
            operands.mask.eq(masks.mask),
            operands.addend.eq(self._issue.addend),
            operands.at_once.eq(stage.write),
            stage.works.eq(works),
            stage.instruction.eq(decoded),
            stage.a.eq(operands.a),
            stage.b.eq(operands.b),
            stage.c.eq(operands.c),
            masks.index.eq(decoded.mask),
            masks.sets.eq(works & decoded.sets_mask),
            masks.set_index.eq(decoded.dst),
            masks.value.eq(operands.a),
            masks.is_count.eq(decoded.opcode == Opcode.FIRST_LANES),
        ]
        is_single = ~decoded.vector | (decoded.opcode == Opcode.PREFETCH)
        m.d.comb += [
            self._addresses.base.eq(operands.a),
            self._addresses.offset.eq(decoded.immediate),
            self._addresses.wanted.eq(Mux(is_single, 1, masks.mask)),
        ]
        fault = Signal(Fault)
        m.d.comb += fault.eq(decoded.fault)
        with m.If(self._is_outside):
            m.d.comb += fault.eq(Fault.ADDRESS)
        with m.If(works & (fault != Fault.NONE)):
            m.d.sync += [self._ended.eq(1), self.fault.eq(fault), self.fault_pc.eq(second.pc)]
        with m.Elif(works & (decoded.opcode == Opcode.HALT)):
            m.d.sync += self._ended.eq(1)

    def _connect_memory(self, m: Module, third: Any, has_third: Value) -> None:
        memory, addresses, issue = self._memory, self._addresses, self._issue
        first = self._buffer.o.payload.decoded
        request = memory.request
        tag = Signal.like(memory.tag)
        m.d.sync += [
            tag.eq(memory.tag),
            request.tag.eq(tag),
            request.address.eq(addresses.address),
            request.lanes.eq(addresses.lanes),
        ]
        m.d.comb += [
            memory.begins.eq(issue.issues & first.memory),
            memory.begins_load.eq(issue.issues & first.load),
            memory.comes.eq(has_third & third.memory),
            request.write.eq(third.opcode == Opcode.STORE),
            request.prefetch.eq(third.opcode == Opcode.PREFETCH),
            request.data.eq(self._operands.right),
            memory.dst.eq(third.dst),
            memory.vector.eq(third.vector),
        ]
        wiring.connect(m, memory.port, wiring.flipped(self.port))

    def _connect_lanes(self, m: Module, third: Any, has_third: Value) -> None:
        lanes, operands, masks, bus = self._lane_array, self._operands, self._masks, self._bus
        takes_sum = Signal()
        m.d.sync += [
            lanes.mask.eq(masks.mask),
            takes_sum.eq(self._issue.takes_sum),
            lanes.sums.eq(takes_sum),
        ]
        m.d.comb += [
            lanes.opcode.eq(third.opcode),
            lanes.place.eq(third.immediate),
            lanes.left.eq(operands.left),
            lanes.right.eq(operands.right),
            lanes.adds.eq(bus.adds),
            lanes.addends.eq(operands.addends),
            lanes.writes.eq(bus.writes),
            lanes.held.eq(bus.held),
            masks.compares.eq(has_third & third.compares),
            masks.compared_index.eq(third.dst),
            masks.compared.eq(lanes.is_true),
            operands.writes.eq(bus.writes.writes),
            operands.vector.eq(bus.writes.vector),
            operands.dst.eq(bus.writes.dst),
            operands.value.eq(lanes.value),
        ]

    def _connect_late_results(self, m: Module, third: Any, has_third: Value) -> None:
        """The divider's go before those of loads."""
        divider, memory, late = self._divider, self._memory, self._bus.late
        m.d.comb += [
            divider.begins.eq(has_third & third.divides),
            divider.is_root.eq(third.opcode == Opcode.FSQRT),
            divider.vector.eq(third.vector),
            divider.dst.eq(third.dst),
            divider.a.eq(self._operands.left),
            divider.b.eq(self._operands.right),
            divider.result.ready.eq(late.ready),
            memory.result.ready.eq(late.ready & ~divider.result.valid),
            late.valid.eq(divider.result.valid | memory.result.valid),
            late.payload.eq(memory.result.payload),
        ]
        with m.If(divider.result.valid):
            m.d.comb += late.payload.eq(divider.result.payload)
