"""Ports between a machine and its simulator, which count or do what a test asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gnarl.hw.lib.machine.memory_map import MemoryMap
from gnarl.sw.runtime.machine.host import Port, Words
from gnarl.sw.runtime.machine.host_machine import HostMachine
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.verilog import module_name, verilog

PortT = TypeVar("PortT", bound=Port)


class CountingPort:
    """Counts the words written to each window of a memory map.

    ``interrupted``: the next wait ends as by a key.
    """

    def __init__(self, port: Port, memory_map: MemoryMap) -> None:
        self._port = port
        self._map = memory_map
        self.interrupted = False
        self.reset()

    def reset(self) -> None:
        self.written = {window.name: 0 for window in self._map.windows}

    def write_words(self, address: int, words: Words) -> None:
        for window in self._map.windows:
            if window.base <= address < window.base + window.size:
                self.written[window.name] += len(words)
        self._port.write_words(address, words)

    def read_words(self, address: int, count: int) -> Words:
        return self._port.read_words(address, count)

    def wait_idle(self, max_cycles: int) -> bool:
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt
        return self._port.wait_idle(max_cycles)


class FaultyPort:
    """Inverts the lowest bit of every word that is read from a window."""

    def __init__(self, port: Port, memory_map: MemoryMap) -> None:
        self._port = port
        self._base = min(window.base for window in memory_map.windows)
        self.write_words, self.wait_idle = port.write_words, port.wait_idle

    def read_words(self, address: int, count: int) -> Words:
        words = self._port.read_words(address, count)
        return words ^ np.uint32(1) if address >= self._base else words


def put_port(device: Device, kind: Callable[[Port, MemoryMap], PortT]) -> PortT:
    """Puts a port between a device of the RTL, before its first run, and its simulator."""
    hardware = device.configuration
    executor: Any = device.target.executor
    simulator = Simulator(verilog(hardware), module_name(hardware))
    port = kind(simulator, executor.memory_map(hardware.config))
    machine = HostMachine(executor, hardware.config, port, simulator.close)
    device._machines[hardware.config.digest] = machine
    return port
