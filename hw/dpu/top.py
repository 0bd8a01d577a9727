"""The DPU as one component behind the common host port."""

from __future__ import annotations

from hw.dpu.config import DpuConfig
from hw.dpu.core import Core
from hw.dpu.memory_map import memory_map
from hw.lib.machine import Machine


def build(config: DpuConfig) -> Machine:
    """The hardware of a configuration. Source: DPU-v2, section III."""
    return Machine(Core(config), memory_map(config), config.digest)
