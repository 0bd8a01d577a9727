"""Amaranth's simulators, which often take longer to make than what they run, one for all components
that are equal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.lib import wiring
from amaranth.sim import Simulator

from gnarl.hw.lib.instanced import Instanced, Key

Testbench = Callable[[Any], Awaitable[None]]


class KeptSimulator:
    """Runs testbenches against ``component``, each from its reset on."""

    def __init__(self, component: Elaboratable) -> None:
        self.component: Any = component
        self._testbench: Testbench | None = None
        self._simulator = Simulator(component)
        self._simulator.add_clock(1e-6)

    def add_process(self, process: Testbench) -> None:
        """``process`` runs beside each testbench."""
        self._simulator.add_process(process)

    async def _run(self, context: Any) -> None:
        assert self._testbench is not None
        await self._testbench(context)

    def run(self, testbench: Testbench) -> None:
        is_first, self._testbench = self._testbench is None, testbench
        if is_first:
            self._simulator.add_testbench(self._run)
        else:
            self._simulator.reset()
        self._simulator.run()


_MOST_KEPT = 64
_KEPT: dict[Key, KeptSimulator] = {}
"""By what their components are made of, the oldest first."""


def _mark_used(component: Elaboratable) -> None:
    """Amaranth would warn of components that are not elaborated, and of their parts."""
    component._MustUse__used = True
    for held in vars(component).values():
        for part in held if isinstance(held, list) else [held]:
            if isinstance(part, Elaboratable):
                _mark_used(part)


def simulator_of(component: wiring.Component) -> KeptSimulator:
    """Simulator of ``component``, or of an equal one: testbenches drive the simulator's own."""
    if not isinstance(component, Instanced):
        return KeptSimulator(component)
    if component.key not in _KEPT:
        if len(_KEPT) == _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[component.key] = KeptSimulator(component)
    _mark_used(component)
    return _KEPT[component.key]
