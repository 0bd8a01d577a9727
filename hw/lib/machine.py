"""A target's machine behind the common host port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.lib.host import HostPort, HostSignature, WindowSignature
from hw.lib.memory_map import MemoryMap


def core_members(memory_map: MemoryMap) -> dict[str, Any]:
    """Members of a machine without its host port, for ``Machine``.

    ``start``, ``stop``, ``clear``, ``busy``, ``done``, ``cause``, ``detail``, ``cycles``,
    ``counters`` and ``windows``: as ``HostPort`` has them, seen from the other side.
    """
    counters = data.StructLayout(dict.fromkeys(memory_map.counters, 64))
    windows = {window.name: In(WindowSignature(window)) for window in memory_map.windows}
    return {
        "start": In(1),
        "stop": In(1),
        "clear": In(1),
        "busy": Out(1),
        "done": Out(1),
        "cause": Out(memory_map.causes),
        "detail": Out(32),
        "cycles": Out(64),
        "counters": Out(counters),
        "windows": Out(wiring.Signature(windows)),
    }


class Machine(wiring.Component):
    """A machine as one component.

    Parameters: ``core``, a component with ``core_members(memory_map)``; ``memory_map``, with
    counters and windows; ``digest`` of the configuration, hexadecimal.

    Members: ``host``: the common host port, with the registers and windows of ``memory_map``.
    """

    def __init__(self, core: wiring.Component, memory_map: MemoryMap, digest: str) -> None:
        self._core = core
        self._port = HostPort(memory_map, int(digest[:8], 16))
        super().__init__({"host": Out(HostSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        m.submodules.port = port = self._port
        wiring.connect(m, port.host, wiring.flipped(self.host))
        for name in ("start", "stop", "clear"):
            m.d.comb += getattr(core, name).eq(getattr(port, name))
        for name in ("busy", "done", "cause", "detail", "cycles", "counters"):
            m.d.comb += getattr(port, name).eq(getattr(core, name))
        for window in port.memory_map.windows:
            wiring.connect(
                m, getattr(port.windows, window.name), getattr(core.windows, window.name)
            )
        return m
