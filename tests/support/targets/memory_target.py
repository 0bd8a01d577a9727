"""A target whose machine is a small memory of the host's, for tests of what is around machines."""

from __future__ import annotations

import enum
from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring

from gnarl.hw.lib.machine.counters import Counters
from gnarl.hw.lib.machine.fault_recorder import FaultRecorder
from gnarl.hw.lib.machine.machine import Core, Machine
from gnarl.hw.lib.machine.memory_map import MemoryMap, Window
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.target.presenter import Presenter
from tests.support.targets.adder_target import (
    AdderCompiler,
    AdderConfig,
    AdderExecutor,
    AdderReader,
)

ROWS = 512


class Cause(enum.IntEnum):
    NONE = 0


def memory_map() -> MemoryMap:
    return MemoryMap([Window("memory", ROWS, 1).in_shared_memory("core.memory")], [], Cause)


class MemoryCore(Core):
    """Runs of one cycle, which do nothing."""

    def __init__(self) -> None:
        super().__init__(memory_map())

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        layout = data.StructLayout({"never": unsigned(1)})
        faults = FaultRecorder(layout, Cause, lambda flags: [(Cause.NONE, flags.never, 0)])
        control = self.add_run_control(m, faults, Counters(0, 1))
        m.submodules.memory = memory = SharedMemory(self.memory_map.window("memory"))
        wiring.connect(m, memory.host, wiring.flipped(self.windows.memory))
        m.d.comb += [memory.busy.eq(self.busy), control.finished.eq(1), control.works.eq(1)]
        return m


class MemoryConfig(AdderConfig):
    target = "memory"


class MemoryGenerator(Generator[AdderConfig]):
    def build(self, config: AdderConfig) -> Machine:
        return Machine(MemoryCore(), config.digest)


class MemoryExecutor(AdderExecutor):
    generator = MemoryGenerator()

    def memory_map(self, config: AdderConfig) -> MemoryMap:
        return memory_map()


TARGET = Target(
    configuration=MemoryConfig,
    reader=AdderReader(),
    compiler=AdderCompiler(),
    executor=MemoryExecutor(),
    presenter=Presenter(),
)
"""Compiles as the adder does; for hardware alone."""


def configuration() -> NamedConfiguration:
    return NamedConfiguration("memory", "a memory", TARGET, MemoryConfig(), {})
