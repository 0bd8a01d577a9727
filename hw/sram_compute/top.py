"""In-SRAM computing as one component behind the common host port."""

from __future__ import annotations

from gnarl.hw.lib.machine.machine import Machine
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.core.core import SramCore


def build(config: SramConfig) -> Machine:
    """The hardware of a configuration. Source: Infinity Stream, figure 10."""
    return Machine(SramCore(config), config.digest)
