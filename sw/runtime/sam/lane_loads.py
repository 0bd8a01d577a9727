"""What each lane of a loop had to do in a run: what its lanes gain at most, and where they end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gnarl.hw.sam.block_types import DEALERS
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.streams import Fibers, lane_of, residue_of, trace, undivided


@dataclass(frozen=True)
class LaneLoads:
    """Tokens of the longest stream of each lane of a loop over ``index``."""

    index: str
    tokens: tuple[int, ...]

    @property
    def imbalance(self) -> float:
        """Those of the fullest lane over the mean; 1 where there are none."""
        total = sum(self.tokens)
        return max(self.tokens) * len(self.tokens) / total if total else 1.0


@dataclass(frozen=True)
class RunLanes:
    """The loads of each loop that is dealt, where a loop inside another's lanes is as many loops,
    and the longest stream outside of all lanes with its tokens."""

    loads: Sequence[LaneLoads]
    outside: tuple[str, int]

    def remarks(self) -> Iterator[str]:
        """For each index whose loop is dealt a line on how even its lanes were, and on what the
        stream outside of them allows."""
        name, passed = self.outside
        for index in dict.fromkeys(each.index for each in self.loads):
            own = (each for each in self.loads if each.index == index)
            worst = max(own, key=lambda each: each.imbalance)
            line = (
                f"lanes over {index}: the fullest of {len(worst.tokens)} has "
                f"{worst.imbalance:.2f} times the tokens of the mean"
            )
            if passed > max(worst.tokens):
                line += (
                    f"; {name}, outside of them, has {passed:,}, more than the "
                    f"{max(worst.tokens):,} of a lane: they end before it"
                )
            yield line


def run_lanes(graph: Graph, counters: Mapping[str, int]) -> RunLanes | None:
    """What the lanes of a graph had to do in a run that left these counters; ``None``: it has
    none."""
    if not any(block.type in DEALERS for block in graph.blocks):
        return None
    loops = trace(graph).loops
    found: dict[tuple[Fibers, int], list[int]] = {}
    outside: dict[str, int] = {}
    for block, output in graph.readers:
        passed = counters[f"tokens_{block}_{output}"]
        dealt = [place for fibers in loops[block, output] if (place := _dealt(fibers))]
        if not dealt:
            outside[f"{block}.{output}"] = passed
        for lane, lanes, loop in dealt:
            tokens = found.setdefault((loop, lanes), [0] * lanes)
            tokens[lane] = max(tokens[lane], passed)
    most = {loop: max(n for each, n in found if each == loop) for loop, _ in found}
    loads = [
        LaneLoads(loop.index, tuple(tokens))
        for (loop, lanes), tokens in found.items()
        if lanes == most[loop]  # of a tree of blocks the last level
    ]
    return RunLanes(loads, max(outside.items(), key=lambda each: each[1]))


def _dealt(fibers: Fibers) -> tuple[int, int, Fibers] | None:
    """The lane that a loop's coordinates were dealt to, in turn or by their residues, and of how
    many, and the loop before; ``None``: to none."""
    lane = lane_of(fibers)
    return (*lane, undivided(fibers)) if lane else residue_of(fibers)
