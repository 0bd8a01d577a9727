"""The verifier: whether the streams of a graph fit the blocks that read them."""

from __future__ import annotations

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.graph import Block, Graph, shape_violations
from gnarl.sw.compiler.sam.drops import drops_by, drops_of, is_dropped, with_inner
from gnarl.sw.compiler.sam.lane_sums import summed_lanes
from gnarl.sw.compiler.sam.streams import (
    Loops,
    StreamTable,
    before_drops,
    is_complete,
    lane_of,
    names,
    trace,
    undivided,
)


def verify(graph: Graph) -> StreamTable:
    """The loops of every stream, if all is right.

    Checked beyond what ``Graph`` checks: kinds of streams agree at both ends of every edge; the
    loops around the streams that a block reads together are the same, with the same coordinates
    and index; values have as many words as a block takes; sums over an index have the same lanes,
    or none; and the writers of each tensor are those of one tensor. ``WorkloadError`` names the
    block and port.
    """
    order = graph.topological()
    for block in order:
        for port in block.inputs.values():
            edge = graph.drivers.get((block.name, port.name))
            if edge is None:
                continue
            kind = graph.kind_of_stream(edge.source, edge.output)
            if kind not in port.kinds:
                raise WorkloadError(
                    f"graph: {block.type} {block.name}: {port.name} is fed by {edge.source}."
                    f"{edge.output}, a stream of kind {kind}; must be {' or '.join(port.kinds)}"
                )
    for violation in shape_violations(graph):
        raise WorkloadError(f"graph: {violation}")
    table = trace(graph)
    summed_lanes(graph, table.loops)
    tensors: dict[str, list[Block]] = {}
    for block in graph.blocks:
        if block.type in ("fiberwrite", "valwrite"):
            tensors.setdefault(block["tensor"], []).append(block)
    if not tensors:
        raise WorkloadError("graph: nothing is written: must have a valwrite")
    for tensor, writers in tensors.items():
        _check_writers(graph, table, tensor, writers)
    return table


def _check_writers(graph: Graph, table: StreamTable, tensor: str, writers: list[Block]) -> None:
    """Checks the writers of a tensor: one of its values, or one of each lane; and of each level one
    for all, or one of each lane, in the loops inside of what is dealt."""
    values = sorted((b for b in writers if b.type == "valwrite"), key=lambda b: b["lane"])
    lanes = len(values) or 1
    if [block["lane"] for block in values] != list(range(lanes)):
        raise WorkloadError(
            f"graph: tensor {tensor} has {len(values)} valwrite; must have one"
            f"{', or one of each lane, from 0' if values else ''}"
        )
    levels = sorted((b for b in writers if b.type == "fiberwrite"), key=lambda b: b["level"])
    for writer in values:
        shared = _shared_levels(graph, table, writer, lanes) if lanes > 1 else 0
        of_lane = [
            block
            for block in levels
            if block["lane"] == (writer["lane"] if block["level"] >= shared else 0)
        ]
        if [block["level"] for block in of_lane] != list(range(len(of_lane))):
            there = ", ".join(str(block["level"]) for block in of_lane)
            raise WorkloadError(
                f"graph: tensor {tensor} has writers for levels {there}; must have one for each "
                "level, from 0"
            )
        _check_levels(graph, table, of_lane, writer, shared)
        if lanes > 1:
            _check_dealt(graph, table, of_lane, shared)
    for block in levels:
        if block["lane"] >= (lanes if block["level"] >= shared else 1):
            raise WorkloadError(
                f"graph: fiberwrite {block.name}: is of lane {block['lane']}: must be of one that "
                "the values have, in the loops inside of what is dealt"
            )


def _shared_levels(graph: Graph, table: StreamTable, writer: Block, lanes: int) -> int:
    """Levels that the lanes of a tensor share: those of the loop that is dealt and around."""
    dealt = [lane_of(fibers) for fibers in _read_loops(graph, table, writer, "val")]
    own = writer["lane"], lanes
    if [lane for lane in dealt if lane] != [own]:
        raise WorkloadError(
            f"graph: valwrite {writer.name}: val must lie in one loop that is dealt, in lane "
            f"{writer['lane']} of {lanes}"
        )
    return dealt.index(own) + 1


def _check_dealt(graph: Graph, table: StreamTable, levels: list[Block], shared: int) -> None:
    """Checks that what all lanes write together has all coordinates that they were dealt."""
    if shared == len(levels):
        raise WorkloadError(
            f"graph: fiberwrite {levels[-1].name}: its loop is dealt to lanes; must be around "
            "another level, where each lane has writers"
        )
    dealt = levels[shared - 1]
    whole, lane = (_read_loops(graph, table, block, "crd") for block in (dealt, levels[-1]))
    if whole[-1] != undivided(lane[shared - 1]) or any(is_dropped(graph, one) for one in levels):
        raise WorkloadError(
            f"graph: fiberwrite {dealt.name}: crd lacks coordinates that are dealt to lanes; must "
            "have them all where each lane has writers"
        )


def _check_levels(
    graph: Graph, table: StreamTable, levels: list[Block], values: Block, shared: int
) -> None:
    """Checks the levels of a tensor, or of a lane of it, of which the outermost are shared."""
    inner = _read_loops(graph, table, values, "val")
    if len(inner) != len(levels):
        raise WorkloadError(
            f"graph: valwrite {values.name}: val lies in {len(inner)} loops; must lie in "
            f"{len(levels)}, as many as tensor {values['tensor']} has levels"
        )
    _check_drops(graph, table, levels, values)
    outer = tuple(map(undivided, inner))
    for block in levels:
        around = outer if block["level"] < shared else inner
        _check_level(block, _read_loops(graph, table, block, "crd"), around)


def _check_level(block: Block, loops: Loops, inner: Loops) -> None:
    """Checks the loops of a level's coordinates, with those of the values."""
    depth = block["level"] + 1
    if before_drops(loops) != before_drops(inner)[:depth]:
        raise WorkloadError(
            f"graph: fiberwrite {block.name}: crd lies in loops ({names(loops)}); must lie in "
            f"the first {depth} loops of the values, ({names(inner[:depth])}), with the same "
            "coordinates"
        )
    if block["format"] == DENSE and not is_complete(loops[-1]):
        raise WorkloadError(
            f"graph: fiberwrite {block.name}: crd may lack coordinates of {block['index']}; a "
            "dense level needs them all"
        )
    if block["index"] and loops[-1].index and block["index"] != loops[-1].index:
        raise WorkloadError(
            f"graph: fiberwrite {block.name}: crd has index {loops[-1].index}; must have "
            f"index {block['index']}, as the block"
        )


def _check_drops(graph: Graph, table: StreamTable, levels: list[Block], values: Block) -> None:
    """Raises ``WorkloadError`` unless coordinates are missing only where fibers are empty in what
    is written."""
    for outer, within in with_inner(levels):
        for drop in drops_of(graph, outer):
            if not drops_by(graph, table, drop, within):
                what = f"what {within.name} writes" if within else "nothing, as no level is within"
                raise WorkloadError(
                    f"graph: fiberwrite {outer.name}: crddrop {drop.name} has removed coordinates "
                    f"from crd by another stream; must be by {what}"
                )
    for block, port in (*((level, "crd") for level in levels), (values, "val")):
        for fibers in _read_loops(graph, table, block, port)[:-1]:
            if fibers.origin != fibers.base:
                raise WorkloadError(
                    f"graph: {block.type} {block.name}: {port} lies in a loop over {fibers.index} "
                    "from which coordinates were dropped; drops must come after all that is "
                    "computed in a loop"
                )
    if levels:
        written, read = (
            _read_loops(graph, table, block, port)[-1]
            for block, port in ((levels[-1], "crd"), (values, "val"))
        )
        if written.origin != read.origin:
            raise WorkloadError(
                f"graph: valwrite {values.name}: val has other coordinates than the crd of "
                f"{levels[-1].name}; both must come from one valdrop, or none"
            )


def _read_loops(graph: Graph, table: StreamTable, block: Block, port: str) -> Loops:
    edge = graph.drivers[block.name, port]
    return table.loops[edge.source, edge.output]
