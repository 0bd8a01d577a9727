"""Several copies of what lies inside a loop, each for every so many of its coordinates.

Source: FuseFlow, sections 6 and 7, parallelization by stream parallelizers and serializers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.streams import Loops, Output, trace


def parallelize(graph: Graph, index: str, lanes: int) -> Graph:
    """The coordinates of the loop over ``index`` are dealt to ``lanes`` copies of what is inside.

    What leaves the copies must lie in exactly one loop more: it is put together fiber by fiber, in
    turn. Raises ``WorkloadError`` where it does not, where nothing lies inside, or where a block
    gives streams inside and outside. O(blocks · lanes).
    """
    loops = trace(graph).loops
    place = next(
        (
            number
            for around in loops.values()
            for number, fibers in enumerate(around)
            if fibers.index == index
        ),
        -1,
    )
    inside = {block.name for block in graph.blocks if _is_inside(block, loops, index, place)}
    if not inside:
        raise WorkloadError(
            f"parallelize({index},{lanes}): no block lies inside the loop over {index}"
        )
    lane_graph = _LaneGraph(lanes)
    for block in graph.blocks:
        lane_graph.add_block(block, block.name in inside)
    for edge in graph.edges:
        if edge.source in inside and edge.target in inside:
            lane_graph.copy(edge)
        elif edge.target in inside:
            _require_dealt(edge, len(loops[edge.source, edge.output]) - place - 1, index, lanes)
            lane_graph.deal(edge)
        elif edge.source in inside:
            around = len(loops[edge.source, edge.output]) - place - 1
            _require_one_loop(edge, around, index, lanes)
            lane_graph.merge(edge)
        else:
            lane_graph.edges.append(edge)
    blocks, edges = tuple(lane_graph.blocks), tuple(lane_graph.edges)
    return Graph(tuple(Graph(blocks, edges).topological()), edges)


class _LaneGraph:
    """Blocks and edges, those inside the loop once a lane."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self.blocks: list[Block] = []
        self.edges: list[Edge] = []
        self._dealt: dict[Output, str] = {}
        self._merged: dict[Output, str] = {}

    def add_block(self, block: Block, is_inside: bool) -> None:
        names = _lanes(block.name, self._lanes) if is_inside else [block.name]
        self.blocks.extend(Block(name, block.type, block.parameters) for name in names)

    def copy(self, edge: Edge) -> None:
        """An edge inside the loop."""
        sources, targets = (_lanes(end, self._lanes) for end in (edge.source, edge.target))
        for source, target in zip(sources, targets, strict=True):
            self.edges.append(replace(edge, source=source, target=target))

    def deal(self, edge: Edge) -> None:
        """An edge into the loop: from a parallelizer, one for each output that is dealt."""
        output = edge.source, edge.output
        if output not in self._dealt:
            self._dealt[output] = f"deal_{edge.source}_{edge.output}"
            self.blocks.append(Block(self._dealt[output], "parallelizer", {"lanes": self._lanes}))
            self.edges.append(Edge(*output, self._dealt[output], "i"))
        for lane, target in enumerate(_lanes(edge.target, self._lanes)):
            source = self._dealt[output]
            self.edges.append(replace(edge, source=source, output=f"o{lane}", target=target))

    def merge(self, edge: Edge) -> None:
        """An edge out of the loop: from a serializer, one for each output that is merged."""
        output = edge.source, edge.output
        if output not in self._merged:
            self._merged[output] = f"merge_{edge.source}_{edge.output}"
            self.blocks.append(Block(self._merged[output], "serializer", {"lanes": self._lanes}))
            for lane, source in enumerate(_lanes(edge.source, self._lanes)):
                self.edges.append(Edge(source, edge.output, self._merged[output], f"i{lane}"))
        self.edges.append(replace(edge, source=self._merged[output], output="o"))


def _is_inside(block: Block, loops: Mapping[Output, Loops], index: str, place: int) -> bool:
    """Whether all streams of a block lie in more loops than that over ``index``, the one at a
    place; -1: there is none."""
    around = [loops[block.name, output] for output in block.outputs]
    return bool(around) and all(
        0 <= place < len(loop) - 1 and loop[place].index == index for loop in around
    )


def _lanes(name: str, lanes: int) -> list[str]:
    return [f"{name}_lane{lane}" for lane in range(lanes)]


def _require_dealt(edge: Edge, depth: int, index: str, lanes: int) -> None:
    """Refuses a stream further inside than what is dealt, of a block that is outside as well."""
    if depth > 0:
        raise WorkloadError(
            f"parallelize({index},{lanes}): {edge} lies inside the loop over {index}, which other "
            f"streams of {edge.source} do not; take another index"
        )


def _require_one_loop(edge: Edge, depth: int, index: str, lanes: int) -> None:
    if depth != 1:
        raise WorkloadError(
            f"parallelize({index},{lanes}): {edge} lies {depth} loops inside the loop over "
            f"{index}; only streams one loop inside can be put together again, take an index "
            "further inside"
        )
