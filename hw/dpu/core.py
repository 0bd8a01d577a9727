"""The DPU without its host port: memories, datapath and control."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from hw.dpu.config import DpuConfig
from hw.dpu.control import Control
from hw.dpu.crossbar import Crossbar
from hw.dpu.data_memory import DataMemory
from hw.dpu.decoder import Decoder
from hw.dpu.fault import FaultRecorder
from hw.dpu.instruction_fetch import InstructionFetch
from hw.dpu.isa import COUNTERS, ErrorCause, Opcode
from hw.dpu.memory_map import memory_map
from hw.dpu.output_interconnect import OutputInterconnect
from hw.dpu.pe_tree import PeTree
from hw.dpu.register_bank import RegisterBank
from hw.lib.machine import core_members
from hw.lib.memory import SharedMemory


class Core(wiring.Component):
    """Trees of PEs around banks of registers, one instruction a cycle. Source: DPU-v2, figure 5.

    Nothing waits for anything: the program must fit the latencies of ``DpuConfig``. A run takes
    ``InstructionFetch.latency`` cycles, one for each instruction before its ``HALT``, and
    ``config.drain_cycles``.

    Members: ``core_members(memory_map(config))``.
    """

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        self._map = memory_map(config)
        super().__init__(core_members(self._map))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        m.submodules.control = control = Control(config.drain_cycles)
        m.submodules.faults = faults = FaultRecorder(config)
        m.submodules.decoder = decoder = Decoder(config)
        m.submodules.fetch = fetch = InstructionFetch(config)

        # All that a run leaves under way is forgotten when the next one starts.
        flush = Signal()
        issue = Signal()
        m.d.comb += [
            flush.eq(control.begin | self.clear),
            issue.eq(control.issue & fetch.valid),
            fetch.run.eq(control.issue),
            decoder.instruction.eq(fetch.instruction),
            decoder.valid.eq(issue & ~fetch.beyond),
        ]
        self._connect_instruction_memory(m, fetch, control.busy)
        self._connect_datapath(m, decoder.control, faults.faults, control.busy, flush)

        m.d.comb += [
            faults.watch.eq(control.busy),
            faults.clear.eq(self.clear),
            faults.faults.illegal.eq(decoder.illegal),
            faults.faults.beyond.eq(issue & fetch.beyond),
            faults.faults.opcode.eq(fetch.instruction[: Opcode.as_shape().width]),
            faults.faults.row.eq(decoder.control.row),
            faults.faults.address.eq(fetch.address),
            control.start.eq(self.start),
            control.stop.eq(self.stop),
            control.clear.eq(self.clear),
            control.fault.eq(faults.fault),
            control.error.eq(faults.cause != ErrorCause.NONE),
            control.halt.eq(decoder.control.halt),
            *(control.issued[name].eq(decoder.control[name]) for name in COUNTERS),
            self.busy.eq(control.busy),
            self.done.eq(control.done),
            self.cause.eq(faults.cause),
            self.detail.eq(faults.detail),
            self.cycles.eq(control.cycles),
            self.counters.eq(control.counters),
        ]
        return m

    def _connect_instruction_memory(self, m: Module, fetch: InstructionFetch, busy: Signal) -> None:
        memory = SharedMemory(self._map.window("instructions"))
        m.submodules.instruction_memory = memory
        wiring.connect(m, memory.host, wiring.flipped(self.windows.instructions))
        m.d.comb += [
            memory.busy.eq(busy),
            memory.core.row.eq(fetch.row),
            memory.core.read_enable.eq(fetch.read_enable),
            fetch.read_data.eq(memory.core.read_data.as_value()),
        ]

    def _connect_datapath(
        self, m: Module, control: Any, faults: Any, busy: Signal, flush: Signal
    ) -> None:
        """From banks through crossbar and trees, or the data memory, and back."""
        config = self._config
        m.submodules.crossbar = crossbar = Crossbar(config.width, config.banks)
        m.submodules.interconnect = interconnect = OutputInterconnect(config)
        m.submodules.data_memory = memory = DataMemory(self._map.window("data"))
        wiring.connect(m, memory.host, wiring.flipped(self.windows.data))

        for number in range(config.banks):
            bank = RegisterBank(config.width, config.registers)
            m.submodules[f"bank_{number}"] = bank
            m.d.comb += [
                bank.clear.eq(flush),
                bank.read_enable.eq(control.read_enable[number]),
                bank.read_address.eq(control.read_address[number]),
                bank.valid_reset.eq(control.valid_reset[number]),
                bank.write_enable.eq(interconnect.write_enable[number]),
                bank.word.eq(interconnect.words[number]),
                crossbar.words[number].eq(bank.o),
                memory.words[number].eq(bank.o),
                faults.empty[number].eq(bank.empty),
                faults.full[number].eq(bank.full),
            ]

        operation = Signal(control.operation.shape(), reset_less=True)
        m.d.sync += operation.eq(control.operation)
        pes, lanes = config.pes_per_tree, config.tree_inputs
        for number in range(config.trees):
            tree = PeTree(config.number_format, config.depth, config.pe_stages)
            m.submodules[f"tree_{number}"] = tree
            for lane in range(lanes):
                m.d.comb += tree.words[lane].eq(crossbar.o[number * lanes + lane])
            for pe in range(pes):
                m.d.comb += [
                    tree.operation[pe].eq(operation[number * pes + pe]),
                    interconnect.results[number * pes + pe].eq(tree.results[pe]),
                ]

        m.d.comb += [
            crossbar.source.eq(control.source),
            memory.busy.eq(busy),
            memory.clear.eq(flush),
            memory.row.eq(control.row),
            memory.load_enable.eq(control.load_enable),
            memory.store_enable.eq(control.store_enable),
            interconnect.clear.eq(flush),
            interconnect.issue.eq(control.exec | control.copy),
            interconnect.write_source.eq(control.write_source),
            interconnect.copies.eq(crossbar.o),
            interconnect.load_enable.eq(memory.loaded),
            interconnect.loads.eq(memory.loads),
            faults.conflict.eq(interconnect.conflict),
        ]
