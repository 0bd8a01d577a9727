"""A TMU core as one component behind the common host port."""

from __future__ import annotations

from gnarl.hw.lib.machine.machine import Machine
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.core import TmuCore


def build(config: TmuConfig) -> Machine:
    """The hardware of a configuration. Source: Ember, figures 3 and 6."""
    return Machine(TmuCore(config), config.digest)
