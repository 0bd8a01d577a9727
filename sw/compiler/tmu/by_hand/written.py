"""Programs by hand, by operation; and launches of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from hw.lib.errors import WorkloadError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_assembly import assemble
from sw.compiler.tmu.by_hand import bags, gathers, graphs, knowledge_graphs, messages
from sw.compiler.tmu.by_hand.layers import Layers
from sw.compiler.tmu.by_hand.site import Array, Site
from sw.compiler.tmu.execute.assemble import check_size
from sw.compiler.tmu.layout import layout
from sw.compiler.tmu.meaning import Meaning
from sw.compiler.tmu.sections import encode
from sw.program.program import Launch
from sw.workloads.loops.lane_sums import loops_of_sums, sum_by_lanes
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.sources import OPERATIONS

Writer = Callable[[Site, Layers], str]
"""Writes layers, and gives the text of the execute unit's program, whose labels are their tokens.
"""


@dataclass(frozen=True)
class ByHand:
    """``sums``: vectors of partial sums of what loops add up. ``adds``: to what the results are
    before; else they begin as zeros."""

    writer: Writer
    sums: int = 1
    adds: bool = False


PROGRAMS: Mapping[str, ByHand] = {
    "embedding_bag_sum": ByHand(bags.sums),
    "embedding_bag_weighted": ByHand(bags.weighted_sums),
    "embedding_bag_mean": ByHand(bags.means),
    "embedding_bag_weighted_mean": ByHand(bags.weighted_means),
    "embedding_bag_max": ByHand(bags.maxima),
    "embedding_bag_lengths": ByHand(bags.sums_of_lengths),
    "spmm_csr": ByHand(graphs.spmm_csr),
    "spmm_coo": ByHand(graphs.spmm_coo, adds=True),
    "fused_mm": ByHand(messages.fused_mm, sums=messages.SUMS),
    "knowledge_graph_l1": ByHand(knowledge_graphs.l1, sums=knowledge_graphs.SUMS),
    "knowledge_graph_l2": ByHand(knowledge_graphs.l2, sums=knowledge_graphs.SUMS),
    "block_gather": ByHand(gathers.block_gather),
    "token_gather": ByHand(gathers.token_gather),
}
"""By the name of the nest."""


def launch_by_hand(
    launch: str, meaning: Meaning, given: Collection[str], config: TmuConfig
) -> Launch:
    """A launch of the program by hand for the nest of ``meaning``.

    ``launch``: its name; ``given``: names of the program's inputs. Raises ``WorkloadError`` where
    there is none, and ``CapacityError``.
    """
    nest = meaning.nest
    program = _program(nest)
    results = [name for name in meaning.results if name in given]
    if results and not program.adds:
        raise WorkloadError(
            f"--ref: {nest.name} begins its results as zeros: {results[0]} must be left out"
        )
    bases = layout(meaning.specs.values(), config)
    arrays = {
        name: Array(bases[name], tuple(int(size) for size in spec.shape))
        for name, spec in meaning.specs.items()
    }
    layers = Layers(config)
    text = program.writer(Site(config, meaning.sizes, arrays), layers)
    assembly = assemble(text, f"{nest.name} by hand")
    instructions = [*assembly.instructions]
    check_size(instructions, config)
    in_order = sum_by_lanes(nest, meaning.sizes, loops_of_sums(nest), config.lanes * program.sums)
    found = replace(meaning, nest=in_order)
    return Launch(
        launch,
        found.inputs(given),
        found.outputs,
        {"by_hand": 1, "program_words": len(instructions)},
        encode(found, bases, layers.program(assembly.labels), instructions, config),
        config.to_dict(),
        config.digest,
    )


def _program(nest: Nest) -> ByHand:
    names = {name: each.nest for name, each in OPERATIONS.items() if each.nest.name in PROGRAMS}
    if nest not in names.values():
        raise WorkloadError(
            f"--ref: {nest.name} has no program by hand: must be one of {', '.join(names)}"
        )
    return PROGRAMS[nest.name]
