"""The verifier: whether the streams of a graph fit the blocks that read them."""

from __future__ import annotations

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.graph import Block, Graph
from gnarl.sw.compiler.sam.drops import drops_by, drops_of, with_inner
from gnarl.sw.compiler.sam.streams import (
    Loops,
    StreamTable,
    before_drops,
    is_complete,
    names,
    trace,
)


def verify(graph: Graph) -> StreamTable:
    """The loops of every stream, if all is right.

    Checked beyond what ``Graph`` checks: kinds of streams agree at both ends of every edge; the
    loops around the streams that a block reads together are the same, with the same coordinates
    and index; and the writers of each tensor are those of one tensor. ``WorkloadError`` names the
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
    table = trace(graph)
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
    values = [block for block in writers if block.type == "valwrite"]
    if len(values) != 1:
        raise WorkloadError(f"graph: tensor {tensor} has {len(values)} valwrite; must have one")
    levels = sorted((b for b in writers if b.type == "fiberwrite"), key=lambda b: b["level"])
    if [block["level"] for block in levels] != list(range(len(levels))):
        there = ", ".join(str(block["level"]) for block in levels)
        raise WorkloadError(
            f"graph: tensor {tensor} has writers for levels {there}; must have one for each "
            "level, from 0"
        )
    inner = _read_loops(graph, table, values[0], "val")
    if len(inner) != len(levels):
        raise WorkloadError(
            f"graph: valwrite {values[0].name}: val lies in {len(inner)} loops; must lie in "
            f"{len(levels)}, as many as tensor {tensor} has levels"
        )
    _check_drops(graph, table, levels, values[0])
    for block in levels:
        _check_level(block, _read_loops(graph, table, block, "crd"), inner)


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
