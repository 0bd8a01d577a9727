"""Several copies of what lies inside a loop, each for every so many of its coordinates.

Source: FuseFlow, sections 6 and 7, parallelization by stream parallelizers and serializers.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.streams import Loops, Output, trace


def parallelize(graph: Graph, index: str, lanes: int) -> Graph:
    """The coordinates of the loop over ``index`` are dealt to ``lanes`` copies of what is inside.

    What leaves the copies must lie in exactly one loop more: it is put together fiber by fiber, in
    turn. Raises ``WorkloadError`` where it does not, or where nothing lies inside. O(blocks ·
    lanes).
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
    blocks: list[Block] = []
    for block in graph.blocks:
        names = _lanes(block.name, lanes) if block.name in inside else [block.name]
        blocks.extend(Block(name, block.type, block.parameters) for name in names)
    edges: list[Edge] = []
    dealt: dict[Output, str] = {}
    merged: dict[Output, str] = {}
    for edge in graph.edges:
        output = edge.source, edge.output
        if edge.source in inside and edge.target in inside:
            for source, target in zip(
                _lanes(edge.source, lanes), _lanes(edge.target, lanes), strict=True
            ):
                edges.append(Edge(source, edge.output, target, edge.input))
        elif edge.target in inside:
            if output not in dealt:
                dealt[output] = f"deal_{edge.source}_{edge.output}"
                blocks.append(Block(dealt[output], "parallelizer", {"lanes": lanes}))
                edges.append(Edge(*output, dealt[output], "i"))
            for lane, target in enumerate(_lanes(edge.target, lanes)):
                edges.append(Edge(dealt[output], f"o{lane}", target, edge.input))
        elif edge.source in inside:
            if output not in merged:
                _require_one_loop(edge, len(loops[output]) - place - 1, index, lanes)
                merged[output] = f"merge_{edge.source}_{edge.output}"
                blocks.append(Block(merged[output], "serializer", {"lanes": lanes}))
                for lane, source in enumerate(_lanes(edge.source, lanes)):
                    edges.append(Edge(source, edge.output, merged[output], f"i{lane}"))
            edges.append(Edge(merged[output], "o", edge.target, edge.input))
        else:
            edges.append(edge)
    return Graph(tuple(Graph(tuple(blocks), tuple(edges)).topological()), tuple(edges))


def _is_inside(block: Block, loops: Mapping[Output, Loops], index: str, place: int) -> bool:
    """Whether all streams of a block lie in more loops than that over ``index``, the one at a
    place; -1: there is none."""
    around = [loops[block.name, output] for output in block.outputs]
    return bool(around) and all(
        0 <= place < len(loop) - 1 and loop[place].index == index for loop in around
    )


def _lanes(name: str, lanes: int) -> list[str]:
    return [f"{name}_lane{lane}" for lane in range(lanes)]


def _require_one_loop(edge: Edge, depth: int, index: str, lanes: int) -> None:
    if depth != 1:
        raise WorkloadError(
            f"parallelize({index},{lanes}): {edge} lies {depth} loops inside the loop over "
            f"{index}; only streams one loop inside can be put together again, take an index "
            "further inside"
        )
