"""A simulator's host port alone."""

from __future__ import annotations

from gnarl.sw.runtime.machine.host import Words
from gnarl.sw.runtime.machine.simulator import Simulator


class FrontDoor:
    """A ``gnarl.sw.runtime.machine.host.Port`` onto ``simulator``, without its back door."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def write_words(self, address: int, words: Words) -> None:
        self._simulator.write_words(address, words)

    def read_words(self, address: int, count: int) -> Words:
        return self._simulator.read_words(address, count)

    def wait_idle(self, max_cycles: int) -> bool:
        return self._simulator.wait_idle(max_cycles)
