"""A port to a machine that the model executes on what its memories hold, and nothing else."""

from __future__ import annotations

import random

import numpy as np

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.machine.memory_map import CONTROL, MAGIC, STATUS, VERSION, Register
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory_map import memory_map
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.machine.host import Words
from gnarl.sw.runtime.sam.model.interpreter import interpret
from gnarl.sw.runtime.sam.places import places_in

_START = CONTROL.const({"start": 1}).as_value().value


class RememberingPort:
    """Runs what its windows hold; memories are garbage where nothing was written.

    A run that breaks a rule of the hardware leaves the machine undone. ``loaded``: words that the
    host has written, by window.
    """

    def __init__(self, config: SamConfig, seed: int) -> None:
        self._config, self._map = config, memory_map(config)
        self._noise = random.Random(seed)
        self._memory = {
            window.name: self._garbage(window.rows, window.words) for window in self._map.windows
        }
        self._counters = dict.fromkeys(self._map.counters, 0)
        self._done = False
        self.loaded = dict.fromkeys(self._memory, 0)

    def _garbage(self, rows: int, words: int) -> Words:
        rng = np.random.default_rng(self._noise.getrandbits(64))
        return rng.integers(0, 1 << 16, (rows, words)).astype(np.uint32)

    def write_words(self, address: int, words: Words) -> None:
        if address == Register.CONTROL and int(words[0]) == _START:
            self._run()
        for window in self._map.windows:
            if window.base <= address < window.base + window.size:
                row, lane = divmod(address - window.base, window.stride)
                assert lane == 0 and len(words) % window.words == 0
                rows = words.reshape(-1, window.words)
                self._memory[window.name][row : row + len(rows)] = rows
                self.loaded[window.name] += words.size

    def read_words(self, address: int, count: int) -> Words:
        for window in self._map.windows:
            if window.base <= address < window.base + window.size:
                row = (address - window.base) // window.stride
                return self._memory[window.name][row : row + count // window.words].reshape(-1)
        registers = np.zeros(self._map.windows[0].base, np.uint32)
        digest = int(self._config.digest[:8], 16)
        registers[Register.MAGIC : Register.DIGEST + 1] = MAGIC, VERSION, digest
        registers[Register.STATUS] = STATUS.const({"done": self._done}).as_value().value
        for place, value in enumerate(self._counters.values()):
            registers[self._map.counter_address(place)] = value
        return registers[address : address + count]

    def wait_idle(self, max_cycles: int) -> bool:
        return True

    def _run(self) -> None:
        image = {name: Rows.first(rows) for name, rows in self._memory.items()}
        try:
            _, run = interpret(self._config, image)
        except GnarlError:
            self._done = False
            return
        self._done = True
        self._counters |= run.counts
        written = {name: Rows.first(rows) for name, rows in run.written.items()}
        places = places_in(self._config, image)
        assert places is not None
        # What a writer does not reach of its place may be anything.
        for name in written:
            rows = {name: np.arange(places.of[name][1])}
            for window, numbers in places.rows(rows).items():
                words = self._memory[window].shape[1]
                self._memory[window][numbers] = self._garbage(len(numbers), words)
        for window, rows in places.to_memory(written).items():
            self._memory[window][rows.numbers] = rows.words
