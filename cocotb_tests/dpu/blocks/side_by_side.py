"""All blocks of a configuration as one design, so that one build serves all their tests."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.crossbar import Crossbar
from gnarl.hw.dpu.data_memory import DataMemory
from gnarl.hw.dpu.decoder import Decoder
from gnarl.hw.dpu.fault import fault_recorder
from gnarl.hw.dpu.instruction_fetch import InstructionFetch
from gnarl.hw.dpu.issue import Issue
from gnarl.hw.dpu.memory_map import memory_map
from gnarl.hw.dpu.output_interconnect import OutputInterconnect
from gnarl.hw.dpu.pe_tree import PeTree
from gnarl.hw.dpu.register_bank import RegisterBank
from gnarl.hw.lib.machine.run_control import RunControl


class Blocks(wiring.Component):
    """Port ``words`` of the block called ``crossbar`` is the port ``crossbar__words``."""

    def __init__(self, config: DpuConfig) -> None:
        self._blocks: dict[str, wiring.Component] = {
            "crossbar": Crossbar(config.width, config.banks),
            "data_memory": DataMemory(memory_map(config).window("data")),
            "decoder": Decoder(config),
            "fault": fault_recorder(config),
            "instruction_fetch": InstructionFetch(config),
            "issue": Issue(config.drain_cycles),
            "output_interconnect": OutputInterconnect(config),
            "pe_tree": PeTree(
                config.number_format, config.depth, config.pe_stages, config.technology
            ),
            "register_bank": RegisterBank(config.width, config.registers),
            "run_control": RunControl(),
        }
        super().__init__({name: Out(block.signature) for name, block in self._blocks.items()})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, block in self._blocks.items():
            m.submodules[f"{name}_block"] = block
            wiring.connect(m, block, wiring.flipped(getattr(self, name)))
        return m
