"""The DPU as one component behind the common host port."""

from __future__ import annotations

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.core import DpuCore
from gnarl.hw.lib.machine.machine import Machine


def build(config: DpuConfig) -> Machine:
    """The hardware of a configuration. Source: DPU-v2, section III."""
    return Machine(DpuCore(config), config.digest)
