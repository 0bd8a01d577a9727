"""Lowers statements to graphs: a statement is a region of one, see ``table.lower``.

Source: Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, section 5.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Pass, Trace, run_passes, text_of
from gnarl.sw.compiler.sam.blocks import with_blocks
from gnarl.sw.compiler.sam.check import check_order
from gnarl.sw.compiler.sam.depths import size_all_queues
from gnarl.sw.compiler.sam.fuse.partial_order import dot
from gnarl.sw.compiler.sam.fuse.regions import Fusion, lower_regions
from gnarl.sw.compiler.sam.graph_pass import (
    SamLaunch,
    SamOptions,
    SamState,
    is_compiled,
    state_texts,
)
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.passes import CLEANING
from gnarl.sw.workloads.einsum.text import program_text
from gnarl.sw.workloads.tensor.expression import Statement


def lower(statement: Statement, skip: bool = True) -> Graph:
    """The graph of a statement; with ``skip``, lookups learn what intersections do not need.

    Raises ``WorkloadError`` for loop orders that a tensor cannot be walked in, for sums that need
    an accumulator of more than two indices, and for results that no writer can store.
    """
    return run_passes(LOWERING, SamState(), SamOptions(statement, skip=skip), Trace()).graph


def _lowered(state: SamState, options: SamOptions) -> SamState:
    statement, fusion = options.statement, options.fusion
    if statement is not None:
        check_order(statement)
        fusion = Fusion.of_statement(statement)
    assert fusion is not None
    regions = lower_regions(fusion)
    launches = [SamLaunch(each.name, each.table.emit(), each) for each in regions]
    return replace(state, launches=tuple(launches))


def _lowered_texts(state: SamState, options: SamOptions) -> dict[str, str]:
    """The dump of graphs, and of what they were lowered by: statements at the region's indices, the
    order of loops, and the fusion table."""
    texts = state_texts(state, options)
    for launch in state.launches:
        region = launch.region
        if region is not None:
            place = f"{launch.name}." if len(state.launches) > 1 else ""
            texts[f"{place}einsum"] = program_text(region.kernel.program) + "\n"
            texts[f"{place}order.dot"] = text_of(dot(region.partial_order))
            texts[f"{place}table"] = text_of(region.table.text())
    return texts


def _with_blocks(state: SamState, options: SamOptions) -> SamState:
    launches = []
    for launch in state.launches:
        if launch.region is not None and (blocks := dict(launch.region.region.blocks)):
            region = launch.region
            try:
                graph = with_blocks(launch.graph, blocks, region.kernel)
            except WorkloadError as error:
                raise WorkloadError(f"{region.region.place}{error}") from error
            launch = replace(launch, graph=graph)
        launches.append(launch)
    return replace(state, launches=tuple(launches))


def _has_blocks(state: SamState, options: SamOptions) -> bool:
    return any(each.region is not None and each.region.region.blocks for each in state.launches)


def _with_sized_queues(state: SamState, options: SamOptions) -> SamState:
    graphs = [
        (launch.graph, launch.region.longest(options.shapes))
        for launch in state.launches
        if launch.region is not None
    ]
    sized = iter(size_all_queues(graphs, options.config))
    launches = tuple(
        launch if launch.region is None else replace(launch, graph=next(sized))
        for launch in state.launches
    )
    return replace(state, launches=launches)


def _with_lanes(state: SamState, options: SamOptions) -> SamState:
    has_writers = options.config.fabric is None and options.config.memory == "local"
    launches = []
    for launch in state.launches:
        if launch.region is not None:
            region, graph = launch.region.region, launch.graph
            try:
                together = prod(number for _, number in region.lanes)
                for index, number in region.lanes:
                    depth, others = options.config.queue_depth, together // number
                    graph = parallelize(graph, index, number, depth, has_writers, others)
            except WorkloadError as error:
                raise WorkloadError(f"{region.place}{error}") from error
            launch = replace(launch, graph=graph)
        launches.append(launch)
    return replace(state, launches=tuple(launches))


def _has_lanes(state: SamState, options: SamOptions) -> bool:
    return any(each.region is not None and each.region.region.lanes for each in state.launches)


LOWERING = (
    Pass(
        "lower",
        "from statements to loops, joins and sums over streams",
        _lowered_texts,
        run=_lowered,
        is_needed=is_compiled,
    ),
    *CLEANING,
    Pass(
        "block",
        "makes neighbours along an index one value, where a statement or a schedule says so",
        state_texts,
        run=_with_blocks,
        is_needed=_has_blocks,
        optional=True,
    ),
    Pass(
        "size_queues",
        "deepens queues in which rows wait for what is made of all of them",
        state_texts,
        run=_with_sized_queues,
        is_needed=lambda state, options: options.fusion is not None,
    ),
    Pass(
        "parallelize",
        "deals loops to lanes, where a statement or a schedule says so",
        state_texts,
        run=_with_lanes,
        is_needed=_has_lanes,
        optional=True,
    ),
)
