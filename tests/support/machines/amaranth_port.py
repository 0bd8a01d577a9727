"""The host's side of an accelerator in Amaranth's own simulator: slow to run, nothing to build."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from amaranth.lib import wiring
from amaranth.sim import Simulator

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.machine.memory_map import STATUS, Register
from gnarl.sw.runtime.machine.host import Words

ConfigT = TypeVar("ConfigT", bound=TargetConfig)


class AmaranthPort:
    """A ``gnarl.sw.runtime.machine.host.Port`` of a component with a member ``host``.

    ``stalls`` is the share of cycles in which either stream pauses on the host's side. ``set``
    gives an input a value, ``log`` keeps the values of the signals ``watched`` in each cycle,
    ``taken`` the cycle of each response. What the hardware has to ignore isn't 0: the data of
    reads, and the payload between requests.
    """

    def __init__(
        self, component: wiring.Component, *, stalls: float = 0.0, watched: tuple[Any, ...] = ()
    ) -> None:
        self._host: Any = component.host
        self._watched = watched
        self._begin(stalls)
        self._simulator = Simulator(component)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._run)

    def _begin(self, stalls: float) -> None:
        self.cycles = 0
        self.log: list[tuple[int, ...]] = []
        self.taken: list[int] = []
        self._stalls = stalls
        self._random = random.Random(1)
        self._requests: deque[int] = deque()
        self._words: list[int] = []
        self._values: list[tuple[Any, int]] = []

    def restart(self, stalls: float = 0.0) -> None:
        """Everything is as it was when the port was made."""
        self._begin(stalls)
        self._simulator.reset()

    def write_words(self, address: int, words: Words) -> None:
        self._requests += [1 << 63 | (address + n) << 32 | int(w) for n, w in enumerate(words)]
        while self._requests:
            self.step()

    def read_words(self, address: int, count: int) -> Words:
        self._requests += [(address + n) << 32 | 2**32 - 1 for n in range(count)]
        while len(self._words) < count:
            self.step()
        words, self._words = self._words, []
        return np.array(words, np.uint32)

    def wait_idle(self, max_cycles: int) -> bool:
        end = self.cycles + max_cycles
        while True:
            status = STATUS.from_bits(int(self.read_words(Register.STATUS, 1)[0]))
            if not status.busy:
                return True
            if self.cycles >= end:
                return False

    def set(self, signal: Any, value: int) -> None:
        """Takes effect with the next cycle."""
        self._values.append((signal, value))

    def step(self, cycles: int = 1) -> None:
        """Lets clock cycles pass, with whatever requests and responses move in them."""
        end = self.cycles + cycles
        while self.cycles < end:
            self._simulator.advance()

    async def _run(self, context: Any) -> None:
        request, response = self._host.request, self._host.response
        offered = False
        while True:
            for signal, value in self._values:
                context.set(signal, value)
            self._values.clear()
            offered = bool(self._requests) and (offered or not self._stall())
            context.set(request.valid, offered)
            if offered:
                payload = request.payload.shape().from_bits(self._requests[0])
                context.set(request.payload, payload)
            ready = not self._stall()
            context.set(response.ready, ready)
            if offered and context.get(request.ready):
                self._requests.popleft()
                offered = False
            if ready and context.get(response.valid):
                self._words.append(context.get(response.payload))
                self.taken.append(self.cycles)
            self.log.append(tuple(context.get(signal) for signal in self._watched))
            await context.tick()
            self.cycles += 1

    def _stall(self) -> bool:
        return self._random.random() < self._stalls


_MOST_KEPT = 8
_KEPT: dict[tuple[type, str], AmaranthPort] = {}
"""By classes and digests of configurations, the oldest first."""


def port_of(config: ConfigT, build: Callable[[ConfigT], Any], stalls: float = 0.0) -> AmaranthPort:
    """A machine of ``config`` after its power-up, in a simulator that equal ones share, which is
    slow to make: a second call for the same configuration ends what the first gave."""
    key = type(config), config.digest
    if key in _KEPT:
        _KEPT[key].restart(stalls)
    else:
        if len(_KEPT) == _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = AmaranthPort(build(config), stalls=stalls)
    return _KEPT[key]
