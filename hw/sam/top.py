"""A SAM machine as one component behind the common host port."""

from __future__ import annotations

from gnarl.hw.lib.machine.machine import Machine
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.core import SamCore
from gnarl.hw.sam.fabric.fabric import check_fabric
from gnarl.hw.sam.graph_datapath import check_graph


def build(config: SamConfig) -> Machine:
    """The machine of a graph, or a fabric. Source: SAM; FuseFlow, section 2.

    Raises ``ConfigError`` where there can be none.
    """
    core = SamCore(config)
    if config.graph is not None:
        check_graph(config)
    else:
        check_fabric(config)
    return Machine(core, config.digest)
