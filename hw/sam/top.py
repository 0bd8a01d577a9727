"""A SAM machine as one component behind the common host port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.lib.host import HostPort, HostSignature
from hw.sam.config import SamConfig
from hw.sam.core import Core
from hw.sam.fabric import check_fabric
from hw.sam.graph_datapath import check_graph
from hw.sam.memory_map import memory_map


class Sam(wiring.Component):
    """The machine of a graph, or a fabric. Source: SAM; FuseFlow, section 2.

    Members: ``host``: the common host port, with the registers and windows of
    ``hw.sam.memory_map``.
    """

    def __init__(self, config: SamConfig) -> None:
        self._config = config
        super().__init__({"host": Out(HostSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.core = core = Core(self._config)
        m.submodules.port = port = HostPort(
            memory_map(self._config), int(self._config.digest[:8], 16)
        )
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


def build(config: SamConfig) -> Sam:
    """The hardware of a configuration. Raises ``ConfigError`` where there can be none."""
    memory_map(config)
    if config.graph is not None:
        check_graph(config)
    else:
        check_fabric(config)
    return Sam(config)
