"""Programs by hand, by operation; and launches of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from hw.lib.errors import WorkloadError
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from hw.tmu.execute_assembly import assemble
from sw.compiler.tmu.by_hand import bags, gathers, graphs, knowledge_graphs, merging, messages
from sw.compiler.tmu.by_hand.coupled import coordinates, look_ups
from sw.compiler.tmu.by_hand.coupled import gathers as coupled_gathers
from sw.compiler.tmu.by_hand.coupled import knowledge_graphs as coupled_knowledge_graphs
from sw.compiler.tmu.by_hand.coupled import merging as coupled_merging
from sw.compiler.tmu.by_hand.coupled import messages as coupled_messages
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

CoupledWriter = Callable[[Site], str]
"""Gives the text of a program for the execute unit alone."""


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
    "vector_product": ByHand(merging.products, adds=True),
    "vector_sum": ByHand(merging.sums, adds=True),
    "compressed_vector_product": ByHand(merging.compressed_products, adds=True),
    "compressed_vector_sum": ByHand(merging.compressed_sums, adds=True),
    "matrix_elementwise_product": ByHand(merging.products, adds=True),
    "matrix_sum": ByHand(merging.sums, adds=True),
    "matrix_product": ByHand(merging.matrix_product, adds=True),
    "compressed_matrix_elementwise_product": ByHand(merging.compressed_products, adds=True),
    "compressed_matrix_sum": ByHand(merging.compressed_sums, adds=True),
}
"""By the name of the nest."""

COUPLED: Mapping[str, CoupledWriter] = {
    "embedding_bag_sum": partial(look_ups.program, bags=look_ups.SUMS),
    "embedding_bag_weighted": partial(look_ups.program, bags=look_ups.WEIGHTED_SUMS),
    "embedding_bag_mean": partial(look_ups.program, bags=look_ups.MEANS),
    "embedding_bag_weighted_mean": partial(look_ups.program, bags=look_ups.WEIGHTED_MEANS),
    "embedding_bag_max": partial(look_ups.program, bags=look_ups.MAXIMA),
    "embedding_bag_lengths": partial(look_ups.program, bags=look_ups.LENGTHS),
    "spmm_csr": partial(look_ups.program, bags=look_ups.CSR),
    "spmm_coo": coordinates.spmm_coo,
    "fused_mm": coupled_messages.fused_mm,
    "block_gather": coupled_gathers.block_gather,
    "token_gather": coupled_gathers.token_gather,
    "knowledge_graph_l1": coupled_knowledge_graphs.l1,
    "knowledge_graph_l2": coupled_knowledge_graphs.l2,
    "vector_product": coupled_merging.products,
    "vector_sum": coupled_merging.sums,
    "compressed_vector_product": coupled_merging.products,
    "compressed_vector_sum": coupled_merging.sums,
    "matrix_elementwise_product": coupled_merging.products,
    "matrix_sum": coupled_merging.sums,
    "matrix_product": coupled_merging.matrix_product,
    "compressed_matrix_elementwise_product": coupled_merging.products,
    "compressed_matrix_sum": coupled_merging.sums,
}
"""Those for the execute unit alone, by the name of the nest, which all have others, too."""


def launch_by_hand(
    launch: str, meaning: Meaning, given: Collection[str], config: TmuConfig, coupled: bool
) -> Launch:
    """A launch of the program by hand for the nest of ``meaning``.

    ``launch``: its name; ``given``: names of the program's inputs; ``coupled``: for the execute
    unit alone. Raises ``WorkloadError`` where there is none, and ``CapacityError``.
    """
    nest = meaning.nest
    program = _program(nest, coupled)
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
    site = Site(config, meaning.sizes, arrays)
    text = COUPLED[nest.name](site) if coupled else program.writer(site, layers)
    assembly = assemble(text, f"{nest.name} by hand")
    instructions = [*assembly.instructions]
    check_size(instructions, config)
    in_order = sum_by_lanes(nest, meaning.sizes, loops_of_sums(nest), config.lanes * program.sums)
    found = replace(meaning, nest=in_order)
    access = AccessProgram(()) if coupled else layers.program(assembly.labels)
    return Launch(
        launch,
        found.inputs(given),
        found.outputs,
        {"by_hand": 1, **({"coupled": 1} if coupled else {}), "program_words": len(instructions)},
        encode(found, bases, access, instructions, config),
        config.to_dict(),
        config.digest,
    )


def _program(nest: Nest, coupled: bool) -> ByHand:
    written = COUPLED if coupled else PROGRAMS
    names = {name: each.nest for name, each in OPERATIONS.items() if each.nest.name in written}
    if nest not in names.values():
        options = "--ref --coupled" if coupled else "--ref"
        raise WorkloadError(
            f"{options}: {nest.name} has no program by hand: must be one of {', '.join(names)}"
        )
    return PROGRAMS[nest.name]
