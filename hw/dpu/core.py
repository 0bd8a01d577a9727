"""The DPU without its host port: memories, datapath and control."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import wiring
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.crossbar import Crossbar
from gnarl.hw.dpu.data_memory import DataMemory
from gnarl.hw.dpu.decoder import Decoder
from gnarl.hw.dpu.fault import fault_recorder
from gnarl.hw.dpu.instruction_fetch import InstructionFetch
from gnarl.hw.dpu.isa import ISSUED, Opcode, address_bits, loss_bits
from gnarl.hw.dpu.issue import Issue
from gnarl.hw.dpu.memory_map import cycle_bits, memory_map
from gnarl.hw.dpu.output_interconnect import OutputInterconnect
from gnarl.hw.dpu.pe_tree import PeTree
from gnarl.hw.dpu.register_bank import RegisterBank
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.machine import Core
from gnarl.hw.lib.machine.run_control import RunControl
from gnarl.hw.lib.memory.shared import SharedMemory


class DpuCore(Core):
    """Trees of PEs around banks of registers, one instruction a cycle. Source: DPU-v2, figure 5.

    Nothing waits for anything: the program must fit the latencies of ``DpuConfig``. A run takes
    ``config.start_cycles``, one cycle for each instruction before its ``HALT``, and
    ``config.drain_cycles``.

    Members: as ``Core``, with ``memory_map(config)``.
    """

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        super().__init__(memory_map(config))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self._config
        faults = fault_recorder(config)
        events = Counters(len(ISSUED), address_bits(config))
        lost = [Signal(loss_bits(config), name=f"{name}s") for name in LOSSES]
        control = self.add_run_control(m, faults, events, lost, cycle_bits(config))
        m.submodules.decoder = decoder = Decoder(config)
        m.submodules.fetch = fetch = InstructionFetch(config)
        # A HALT is seen in the decoder, ahead of its issue, so that nothing behind it issues.
        m.submodules.issue = issue = Issue(config.decoder_stages + config.drain_cycles)

        # All that a run leaves under way is forgotten before the next one starts.
        flush = Signal()
        issues = Signal()
        m.d.comb += [
            flush.eq(~control.busy),
            issue.busy.eq(control.busy),
            issue.halt.eq(decoder.control.halt),
            issues.eq(issue.issue & fetch.valid),
            fetch.run.eq(issue.issue),
            decoder.instruction.eq(fetch.instruction),
            decoder.valid.eq(issues & ~fetch.beyond),
            control.finished.eq(issue.finished),
            control.works.eq(1),
        ]
        self._connect_instruction_memory(m, fetch, control.busy)

        issued = _behind(
            m,
            config.decoder_stages,
            control=decoder.control,
            illegal=decoder.illegal,
            beyond=issues & fetch.beyond,
            opcode=fetch.instruction[: Opcode.as_shape().width],
            address=fetch.address,
        )
        m.d.comb += [
            events.happens.eq(Cat(issued.control[name] for name in ISSUED)),
            faults.faults.illegal.eq(issued.illegal),
            faults.faults.beyond.eq(issued.beyond),
            faults.faults.opcode.eq(issued.opcode),
            faults.faults.row.eq(issued.control.row),
            faults.faults.address.eq(issued.address),
        ]
        trees = self._connect_datapath(m, issued.control, faults.faults, control.busy, flush)
        self._count_losses(m, trees, issued.control.exec, flush, control, lost)
        return m

    def _count_losses(
        self,
        m: Module,
        trees: list[PeTree],
        execs: Value,
        flush: Value,
        control: RunControl,
        lost: list[Signal],
    ) -> None:
        """Counts the losses of all trees, a cycle after the results, including those of a run's
        last cycle."""
        config = self._config
        under_way = Signal(config.layer_end(config.depth))
        m.d.sync += under_way.eq(Mux(flush, 0, Cat(execs, under_way)))
        ends = [config.layer_end(layer) - 1 for layer in range(1, config.depth + 1)]
        for tree in trees:
            m.d.comb += tree.counts.eq(Cat(under_way[end] for end in ends))
        amounts = (sum(tree.losses[name] for tree in trees) for name in LOSSES)
        was_busy = Signal()
        m.d.sync += was_busy.eq(control.busy & ~self.clear)
        self.add_totals(m, control, was_busy, lost, amounts)

    def _connect_instruction_memory(self, m: Module, fetch: InstructionFetch, busy: Signal) -> None:
        memory = SharedMemory(self.memory_map.window("instructions"))
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
    ) -> list[PeTree]:
        """Connects banks through crossbar and trees, or the data memory, and back; returns the
        trees."""
        config = self._config
        m.submodules.crossbar = crossbar = Crossbar(config.width, config.banks)
        m.submodules.interconnect = interconnect = OutputInterconnect(config)
        m.submodules.data_memory = memory = DataMemory(self.memory_map.window("data"))
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
        pes, lanes, trees = config.pes_per_tree, config.tree_inputs, []
        for number in range(config.trees):
            tree = PeTree(config.number_format, config.depth, config.pe_stages, config.technology)
            m.submodules[f"tree_{number}"] = tree
            trees.append(tree)
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
        return trees


def _behind(m: Module, stages: int, **values: ValueLike) -> SimpleNamespace:
    """The values, by name, behind ``stages`` registers, which are 0 after a reset."""
    for stage in range(stages):
        after = {name: Signal.like(value, name=f"{name}_{stage}") for name, value in values.items()}
        m.d.sync += [after[name].eq(value) for name, value in values.items()]
        values = after
    return SimpleNamespace(**values)
