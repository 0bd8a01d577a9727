"""A SAM machine as one component behind the common host port."""

from __future__ import annotations

from hw.lib.machine import Machine
from hw.sam.config import SamConfig
from hw.sam.core import Core
from hw.sam.fabric.fabric import check_fabric
from hw.sam.graph_datapath import check_graph
from hw.sam.memory_map import memory_map


def build(config: SamConfig) -> Machine:
    """The machine of a graph, or a fabric. Source: SAM; FuseFlow, section 2.

    Raises ``ConfigError`` where there can be none.
    """
    addresses = memory_map(config)
    if config.graph is not None:
        check_graph(config)
    else:
        check_fabric(config)
    return Machine(Core(config), addresses, config.digest)
