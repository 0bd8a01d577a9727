"""Programs by hand, by operation; and launches of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from hw.lib.errors import CapacityError, WorkloadError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_assembly import assemble
from sw.compiler.tmu.by_hand import bags, gathers, graphs, knowledge_graphs, messages
from sw.compiler.tmu.by_hand.layers import Layers
from sw.compiler.tmu.by_hand.site import Array, Site
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
    """``decoupled``: for both units; ``coupled``: for the execute unit alone. ``sums``: vectors of
    partial sums of what loops add up, in the program for both units; alone, it has one."""

    decoupled: Writer
    coupled: Writer | None = None
    sums: int = 1


PROGRAMS: Mapping[str, ByHand] = {
    "embedding_bag_sum": ByHand(bags.sums),
    "embedding_bag_weighted": ByHand(bags.weighted_sums),
    "embedding_bag_mean": ByHand(bags.means),
    "embedding_bag_weighted_mean": ByHand(bags.weighted_means),
    "embedding_bag_max": ByHand(bags.maxima),
    "embedding_bag_lengths": ByHand(bags.sums_of_lengths),
    "spmm_csr": ByHand(graphs.spmm_csr),
    "spmm_coo": ByHand(graphs.spmm_coo),
    "fused_mm": ByHand(messages.fused_mm, sums=messages.SUMS),
    "knowledge_graph_l1": ByHand(knowledge_graphs.l1, sums=knowledge_graphs.SUMS),
    "knowledge_graph_l2": ByHand(knowledge_graphs.l2, sums=knowledge_graphs.SUMS),
    "block_gather": ByHand(gathers.block_gather),
    "token_gather": ByHand(gathers.token_gather),
}
"""By the name of the nest."""

_FROM_MEMORY = ("spmm_coo",)
"""Nests whose programs add to what the results are before."""


def launch_by_hand(
    launch: str, meaning: Meaning, given: Collection[str], config: TmuConfig, *, coupled: bool
) -> Launch:
    """A launch of the program by hand for the nest of ``meaning``.

    ``launch``: its name; ``given``: names of the program's inputs; ``coupled``: for the execute
    unit alone. Raises ``WorkloadError`` where there is none, and ``CapacityError``.
    """
    nest = meaning.nest
    writer = _writer(nest, coupled)
    results = [name for name in meaning.results if name in given and nest.name not in _FROM_MEMORY]
    if results:
        raise WorkloadError(
            f"--ref: {nest.name} begins its results as zeros: {results[0]} must be left out"
        )
    bases = layout(meaning.specs.values(), config)
    arrays = {
        name: Array(bases[name], tuple(int(size) for size in spec.shape))
        for name, spec in meaning.specs.items()
    }
    layers = Layers(config)
    text = writer(Site(config, meaning.sizes, arrays), layers)
    assembly = assemble(text, f"{nest.name} by hand")
    if len(assembly.instructions) > config.program_words:
        raise CapacityError(
            f"program_words = {config.program_words}: must be at least {len(assembly.instructions)}"
        )
    instructions = [*assembly.instructions]
    partial = config.lanes * (1 if coupled else PROGRAMS[nest.name].sums)
    in_order = sum_by_lanes(nest, meaning.sizes, loops_of_sums(nest), partial)
    found = replace(meaning, nest=in_order)
    return Launch(
        launch,
        found.inputs(given),
        found.outputs,
        {"by_hand": 1, **({"coupled": 1} if coupled else {}), "program_words": len(instructions)},
        encode(found, bases, layers.program(assembly.labels), instructions, config),
        config.to_dict(),
        config.digest,
    )


def _writer(nest: Nest, coupled: bool) -> Writer:
    known = {each.nest.name: each.nest for each in OPERATIONS.values()}
    programs = PROGRAMS.get(nest.name) if nest == known.get(nest.name) else None
    found = programs and (programs.coupled if coupled else programs.decoupled)
    if not found:
        names = ", ".join(
            name
            for name, each in OPERATIONS.items()
            if each.nest.name in PROGRAMS
            and (not coupled or PROGRAMS[each.nest.name].coupled is not None)
        )
        raise WorkloadError(f"--ref: {nest.name} has no program by hand: must be one of {names}")
    return found
