"""Several copies of what lies inside a loop, each for every so many of its coordinates.

Source: FuseFlow, sections 6 and 7, parallelization by stream parallelizers and serializers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.drops import is_dropped, value_writers, writers_of
from gnarl.sw.compiler.sam.lane_graph import LaneGraph
from gnarl.sw.compiler.sam.lane_sums import lane_sums
from gnarl.sw.compiler.sam.passes import mark_empty_fibers
from gnarl.sw.compiler.sam.streams import Loops, Output, trace


def parallelize(
    graph: Graph,
    index: str,
    lanes: int,
    queue_depth: int = SamConfig().queue_depth,
    with_writers: bool = True,
    others: int = 1,
) -> Graph:
    """The coordinates of the loop over ``index`` are dealt to ``lanes`` copies of what is inside,
    and of the reductions of that.

    With ``with_writers`` each lane writes what it makes of results that have a level for the loop,
    and levels further in, unless coordinates of empty fibers are dropped: the host puts them
    together. What else leaves the copies must lie in exactly one loop more: it is put together
    fiber by fiber, in turn. So are values of reductions, of which each coordinate has one. Sums
    over the loop are those of what lanes sum, where all of them can be, see ``lane_sums``.

    A lane knows how a fiber ends by the next unit that it is dealt, so what waits outside for what
    the lanes give has queues with room for a turn of all lanes: ``queue_depth`` is that of queues
    without a depth of their own. ``others``: how many lanes other loops have together, as a turn
    inside a lane is as many turns of that one's.

    Raises ``WorkloadError`` where what is put together lies deeper, where nothing lies inside, or
    where a block gives streams inside and outside. O(blocks · lanes).
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
    reductions = {
        block.name: graph.drivers[block.name, "crd"]
        for block in graph.blocks
        if block.type == "reduce"
        and graph.drivers[block.name, "val"].source in inside
        and block.name not in inside
        and (block.name, "crd") in graph.drivers
    }
    sums = lane_sums(graph, loops, index, lanes, inside | {*reductions})
    if with_writers:
        inside |= set(_writers_inside(graph, loops, inside, place))
    inside |= {*reductions, *sums.accumulators}
    if not inside:
        raise WorkloadError(
            f"parallelize({index},{lanes}): no block lies inside the loop over {index}"
        )
    in_turn = inside - sums.blocks - sums.accumulators
    room = 2 * lanes * others + 2 if in_turn else 0  # each unit may have a stop
    lane_graph = LaneGraph(lanes, room if queue_depth < room else None)
    for block in graph.blocks:
        lane_graph.add_block(block, block.name in inside)
    for edge in graph.edges:
        is_around = 0 < len(loops[edge.source, edge.output]) <= place + 1
        if edge.target not in inside and is_around and (edge.depth or queue_depth) < room:
            edge = replace(edge, depth=room)
        if edge.source in inside and edge.target in inside:
            lane_graph.copy(edge)
        elif edge.target in sums.blocks | sums.accumulators:
            crd = sums.coordinates[loops[edge.source, edge.output]]
            lane_graph.deal_by_coordinate(edge, crd)
        elif edge.target in inside:
            _require_dealt(edge, len(loops[edge.source, edge.output]) - place - 1, index, lanes)
            lane_graph.deal(edge)
        elif edge.source in sums.accumulators:
            innermost = loops[edge.source, "out_crd0"][-1].index
            lane_graph.add_up(edge, graph[edge.source], innermost)
        elif edge.source in reductions:
            lane_graph.merge_values(edge, reductions[edge.source])
        elif edge.source in inside:
            around = len(loops[edge.source, edge.output]) - place - 1
            _require_one_loop(edge, around, index, lanes)
            lane_graph.merge(edge)
        else:
            lane_graph.edges.append(edge)
    blocks, edges = tuple(lane_graph.blocks), tuple(lane_graph.edges)
    return mark_empty_fibers(Graph(tuple(Graph(blocks, edges).topological()), edges))


def _writers_inside(
    graph: Graph, loops: Mapping[Output, Loops], inside: Set[str], place: int
) -> Iterator[str]:
    """The writers that each lane has of its own, where those outside say what it was dealt."""
    for tensor, levels in writers_of(graph).items():
        values = value_writers(graph, tensor)
        if len(levels) <= place + 1 or len(values) > 1:
            continue
        *outer, dealt = (graph.drivers[each.name, "crd"] for each in levels[: place + 1])
        writers = [*levels[place + 1 :], *values]
        drivers = [graph.drivers[each.name, next(iter(each.inputs))] for each in writers]
        whole = loops[dealt.source, dealt.output]
        if (
            all(edge.source in inside for edge in drivers)
            and not any(edge.source in inside for edge in (*outer, dealt))
            and all(loops[edge.source, edge.output][: place + 1] == whole for edge in drivers)
            and not any(is_dropped(graph, each) for each in levels)
        ):
            yield from (each.name for each in writers)


def _is_inside(block: Block, loops: Mapping[Output, Loops], index: str, place: int) -> bool:
    """Whether all streams of a block lie in more loops than that over ``index``, the one at a
    place; -1: there is none."""
    around = [loops[block.name, output] for output in block.outputs]
    return bool(around) and all(
        0 <= place < len(loop) - 1 and loop[place].index == index for loop in around
    )


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
