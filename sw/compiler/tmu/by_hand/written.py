"""Programs by hand, by operation; and launches of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.execute.assemble import check_size
from gnarl.sw.compiler.tmu.by_hand import bags, gathers, graphs, knowledge_graphs, merging, messages
from gnarl.sw.compiler.tmu.by_hand.coupled import coordinates, look_ups
from gnarl.sw.compiler.tmu.by_hand.coupled import gathers as coupled_gathers
from gnarl.sw.compiler.tmu.by_hand.coupled import knowledge_graphs as coupled_knowledge_graphs
from gnarl.sw.compiler.tmu.by_hand.coupled import merging as coupled_merging
from gnarl.sw.compiler.tmu.by_hand.coupled import messages as coupled_messages
from gnarl.sw.compiler.tmu.by_hand.layers import Layers
from gnarl.sw.compiler.tmu.by_hand.site import Array, Site
from gnarl.sw.compiler.tmu.layout import layout
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.sections import encode
from gnarl.sw.program.program import Launch
from gnarl.sw.workloads.loops.ir.lane_sums import loops_of_sums, sum_by_lanes
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.sources import OPERATIONS

Writer = Callable[[Site, Layers], str]
"""Writes layers, and gives the text of the execute unit's program, whose labels are their tokens.
"""

CoupledWriter = Callable[[Site], str]
"""Gives the text of a program for the execute unit alone."""


@dataclass(frozen=True)
class ByHand:
    """Programs by hand for a nest.

    writer
        writes the program for both units.
    coupled
        writes the program for the execute unit alone.
    sums
        vectors of partial sums of what loops add up.
    keeps
        what results are before is added to, or stays where nothing is stored; else they begin as
        zeros.
    """

    writer: Writer
    coupled: CoupledWriter
    sums: int = 1
    keeps: bool = False


def _bags(writer: Writer, bags: look_ups.Bags) -> ByHand:
    return ByHand(writer, partial(look_ups.program, bags=bags))


_PRODUCTS = ByHand(merging.products, coupled_merging.products, keeps=True)
_SUMS = ByHand(merging.sums, coupled_merging.sums, keeps=True)
_COMPRESSED_PRODUCTS = replace(_PRODUCTS, writer=merging.compressed_products)
_COMPRESSED_SUMS = replace(_SUMS, writer=merging.compressed_sums)

PROGRAMS: Mapping[str, ByHand] = {
    "embedding_bag_sum": _bags(bags.sums, look_ups.SUMS),
    "embedding_bag_weighted": _bags(bags.weighted_sums, look_ups.WEIGHTED_SUMS),
    "embedding_bag_mean": _bags(bags.means, look_ups.MEANS),
    "embedding_bag_weighted_mean": _bags(bags.weighted_means, look_ups.WEIGHTED_MEANS),
    "embedding_bag_max": _bags(bags.maxima, look_ups.MAXIMA),
    "embedding_bag_lengths": _bags(bags.sums_of_lengths, look_ups.LENGTHS),
    "spmm_csr": _bags(graphs.spmm_csr, look_ups.CSR),
    "spmm_coo": ByHand(graphs.spmm_coo, coordinates.spmm_coo, keeps=True),
    "fused_mm": ByHand(messages.fused_mm, coupled_messages.fused_mm, sums=messages.SUMS),
    "knowledge_graph_l1": ByHand(
        knowledge_graphs.l1, coupled_knowledge_graphs.l1, sums=knowledge_graphs.SUMS
    ),
    "knowledge_graph_l2": ByHand(
        knowledge_graphs.l2, coupled_knowledge_graphs.l2, sums=knowledge_graphs.SUMS
    ),
    "block_gather": ByHand(gathers.block_gather, coupled_gathers.block_gather),
    "token_gather": ByHand(gathers.token_gather, coupled_gathers.token_gather),
    "vector_product": _PRODUCTS,
    "vector_sum": _SUMS,
    "compressed_vector_product": _COMPRESSED_PRODUCTS,
    "compressed_vector_sum": _COMPRESSED_SUMS,
    "matrix_elementwise_product": _PRODUCTS,
    "matrix_sum": _SUMS,
    "matrix_product": ByHand(merging.matrix_product, coupled_merging.matrix_product, keeps=True),
    "compressed_matrix_product": ByHand(
        merging.compressed_matrix_product, coupled_merging.compressed_matrix_product, keeps=True
    ),
    "compressed_matrix_elementwise_product": _COMPRESSED_PRODUCTS,
    "compressed_matrix_sum": _COMPRESSED_SUMS,
}
"""Programs by the name of the nest."""


def launch_by_hand(
    launch: str, meaning: Meaning, given: Collection[str], config: TmuConfig, coupled: bool
) -> Launch:
    """A launch of the program by hand for the nest of ``meaning``.

    ``launch``: its name; ``given``: names of the program's inputs; ``coupled``: for the execute
    unit alone. Raises ``WorkloadError`` where there is none, and ``CapacityError``.
    """
    nest = meaning.nest
    program = _program(nest)
    results = [name for name in meaning.results if name in given]
    if results and not program.keeps:
        raise WorkloadError(
            f"--ref: {nest.name} begins its results as zeros: {results[0]} must be left out"
        )
    if meaning.sizes.get("dim") == 0:
        raise CapacityError("dim = 0: must be at least 1 for a program by hand")
    bases = layout(meaning.specs.values(), config)
    arrays = {
        name: Array(bases[name], tuple(int(size) for size in spec.shape))
        for name, spec in meaning.specs.items()
    }
    layers = Layers(config)
    site = Site(config, meaning.sizes, arrays)
    text = program.coupled(site) if coupled else program.writer(site, layers)
    assembly = assemble(text, f"{nest.name} by hand")
    instructions = [*assembly.instructions]
    check_size(instructions, config)
    in_order = sum_by_lanes(nest, meaning.sizes, loops_of_sums(nest), config.lanes * program.sums)
    by_hand = replace(meaning, nest=in_order)
    access = AccessProgram(()) if coupled else layers.program(assembly.labels)
    return Launch(
        launch,
        by_hand.inputs(given),
        by_hand.outputs,
        {"by_hand": 1, **({"coupled": 1} if coupled else {}), "program_words": len(instructions)},
        encode(by_hand, bases, access, instructions, config),
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
