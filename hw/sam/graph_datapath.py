"""The blocks of one graph, with a queue in front of every input."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from gnarl.hw.lib.errors import ConfigError
from gnarl.hw.lib.stream.fork import Fork
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.components import check_block, component, input_widths, skips
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.datapath import Datapath
from gnarl.hw.sam.graph import Block, Graph, shape_violations
from gnarl.hw.sam.memory_map import units_of
from gnarl.hw.sam.token import token_layout
from gnarl.hw.sam.unit import WRITERS


class GraphDatapath(Datapath):
    """The graph of a configuration, which ``check_graph`` has found right.

    Members: as ``Datapath``.
    """

    def __init__(self, config: SamConfig) -> None:
        super().__init__(config, units_of(config))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config, graph = self.config, self.config.graph
        assert graph is not None
        blocks = {}
        for block in graph.blocks:
            blocks[block.name] = component(
                block, input_widths(block, graph, config), config, graph.shapes_into(block)
            )
            m.submodules[f"block_{block.name}"] = blocks[block.name]
        self.connect_units(m, list(blocks.values()))
        for block in graph.blocks:
            for output in block.outputs:
                self._connect_output(m, graph, blocks, block.name, output)
            if skips(block, config):
                target, hint = hint_of(block, graph)
                m.d.comb += blocks[block.name].hint.eq(getattr(blocks[target], hint))
        return m

    def _connect_output(
        self, m: Module, graph: Graph, blocks: dict[str, Any], name: str, output: str
    ) -> None:
        """A queue for each reader of an output."""
        edges = graph.readers.get((name, output), ())
        if not edges:
            m.d.comb += getattr(blocks[name], output).ready.eq(1)
            return
        source = self.given_by(m, blocks[name], name, output)
        width = len(source.payload.payload)
        sources = [source]
        if len(edges) > 1:
            m.submodules[f"fork_{name}_{output}"] = fork = Fork(token_layout(width), len(edges))
            wiring.connect(m, source, fork.i)
            sources = [getattr(fork, f"o{reader}") for reader in range(len(edges))]
        for edge, branch in zip(edges, sources, strict=True):
            depth = self.config.queue_depth if edge.depth is None else edge.depth
            queue = Queue(token_layout(width), depth)
            m.submodules[f"queue_{edge.target}_{edge.input}"] = queue
            wiring.connect(m, branch, queue.i)
            wiring.connect(m, queue.o, getattr(blocks[edge.target], edge.input))


def hint_of(lookup: Block, graph: Graph) -> tuple[str, str]:
    """The intersection, and its hint, that says what a lookup may skip.

    Raises ``ConfigError`` unless the lookup's coordinates go to one lane of an intersection alone,
    and its references to the same lane, if anywhere.
    """
    edges = graph.readers.get((lookup.name, "out_crd"), ())
    to_lane = len(edges) == 1 and graph[edges[0].target].type == "intersect"
    lane = edges[0].input.removeprefix("crd") if to_lane else ""
    ref_edges = graph.readers.get((lookup.name, "out_ref"), ())
    if not to_lane or any(
        (edge.target, edge.input) != (edges[0].target, f"ref{lane}") for edge in ref_edges
    ):
        raise ConfigError(
            [
                f"block {lookup.name}: skip = True: its out_crd and out_ref must go to one lane of "
                "an intersect, and nowhere else"
            ]
        )
    return edges[0].target, f"hint{lane}"


def check_graph(config: SamConfig) -> None:
    """Raises ``ConfigError`` for a graph that could not start or end, has blocks that there are
    not in its configuration, or skips what it needs."""
    graph = config.graph
    assert graph is not None
    violations = []
    types = {block.type for block in graph.blocks}
    if "root" not in types:
        violations.append("graph: no root: nothing would start")
    if not types & set(WRITERS):
        violations.append("graph: no fiberwrite and no valwrite: nothing would end")
    if violations:
        raise ConfigError(violations)
    graph.topological()
    if violations := list(shape_violations(graph)):
        raise ConfigError(violations)
    for block in graph.blocks:
        check_block(block, config)
        if skips(block, config):
            hint_of(block, graph)
