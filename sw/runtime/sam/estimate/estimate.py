"""Estimates what a program does on its inputs: cycles, operations, bytes.

Of each launch some rows are simulated, chosen so that they are as different as all are, and what
was counted is multiplied by what the rows' products, counted exactly, have to all. Rows of results
that were not run are taken to be as that which has the nearest number of products. Source:
FuseFlow, section 7, "fusion heuristic".
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.sam.memory_map import memory_map
from gnarl.sw.compiler.sam.sections import kernel_of
from gnarl.sw.golden.words import typed
from gnarl.sw.program.host_step import with_made
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.sam.balanced import balanced, in_turns, renumbered_lanes
from gnarl.sw.runtime.sam.estimate.growth import grown
from gnarl.sw.runtime.sam.estimate.sample import SampledOperands, sampled_index, spread
from gnarl.sw.runtime.sam.estimate.scale import LaunchWork
from gnarl.sw.runtime.sam.figures import longest_stream, operations
from gnarl.sw.runtime.sam.image import Operands, bind, operands, result
from gnarl.sw.runtime.sam.places import places_in
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.runtime.sam.traffic import traffic
from gnarl.sw.workloads.tensor.program_tensors import result_array
from gnarl.sw.workloads.tensor.tensor import Tensor

ROWS = 256

MOST_CYCLES = 1 << 24
"""Of the rows of a launch: if they take more, an eighth of them is enough."""

ROWS_OF_A_LANE = 16
"""That each lane of the loop over them has at least: with fewer, it hardly does more than begin and
end."""

MOST_CYCLES_OF_ALL = 1 << 27
"""Of a launch without such rows, or with one alone, unless more are asked for."""

_LEAST_SHARE = 0.05
"""Of the longest stream, that what is less does not matter for cycles."""


@dataclass(frozen=True)
class LaunchEstimate:
    """What a launch is taken to do.

    line_bytes
        of lines that move in a memory of lines; 0 in others.
    index
        of which some coordinates were run; empty: all were, and nothing is guessed but what other
        launches leave.
    share
        of the launch's products that were run.
    """

    name: str
    cycles: int
    operations: int
    bytes: int
    longest_stream: int
    line_bytes: int
    index: str
    share: float


@dataclass(frozen=True)
class Estimate:
    """``launches`` in their order, and all ``tensors`` that they were given or left, by name."""

    launches: tuple[LaunchEstimate, ...]
    tensors: Mapping[str, Array]

    @property
    def cycles(self) -> int:
        return sum(each.cycles for each in self.launches)

    @property
    def operations(self) -> int:
        return sum(each.operations for each in self.launches)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.launches)

    @property
    def line_bytes(self) -> int:
        return sum(each.line_bytes for each in self.launches)


def estimate(
    program: Program, inputs: Any, rows: int = ROWS, most_cycles: int = MOST_CYCLES_OF_ALL
) -> Estimate:
    """What ``program`` does on ``inputs``, from at most ``rows`` rows of each launch.

    ``most_cycles`` as in ``estimate_launch``. Raises as a run on the model does, for what the rows
    show, and as ``estimate_launch`` does.
    """
    known = with_made(program.steps, bind(program, inputs), moved)
    found = []
    for launch in program.launches:
        estimated, results = estimate_launch(launch, known, rows, most_cycles)
        found.append(estimated)
        known = with_made(program.steps, {**known, **results}, moved)
    return Estimate(tuple(found), known)


def estimate_launch(
    launch: Launch,
    tensors: Mapping[str, Array],
    rows: int = ROWS,
    most_cycles: int = MOST_CYCLES_OF_ALL,
) -> tuple[LaunchEstimate, dict[str, Array]]:
    """What a launch is taken to do with ``tensors``, its inputs and maybe others, and to leave.

    ``most_cycles``: of a launch all of which must be simulated. Raises ``CycleLimitError`` for one
    of which the least part takes longer than anybody waits.
    """
    whole = operands(launch, {spec.name: tensors[spec.name] for spec in launch.inputs})
    index = sampled_index(whole, rows)
    if index is None:
        return _of_whole(whole, most_cycles)
    made = LaunchWork(whole, index)
    lanes = renumbered_lanes(whole, index)
    rows = min(max(rows, ROWS_OF_A_LANE * lanes), whole.sizes[index])
    while True:
        chosen, donors = choose(made.of_all, rows)
        if lanes:
            turns = in_turns(made.of_all[chosen], lanes)
            chosen, donors = chosen[turns], np.argsort(turns)[donors]
        part = SampledOperands.of(whole, index, chosen)
        try:
            run = part.simulated(MOST_CYCLES if rows > 1 else most_cycles)
            break
        except CycleLimitError:
            if rows == 1:
                raise
            rows = max(1, rows // 8)
    own = _counters(whole, run)
    counters = own | grown(made, part, own)
    if _takes_turns(made, counters):
        with suppress(CycleLimitError):
            return _of_whole(whole, most_cycles)
    results = {}
    for access in kernel_of(launch.sections).results:
        found = _result(part, run, access.tensor)
        results[access.tensor] = spread(found, access.indices.index(index), donors)
    total = made.of_all.sum()
    share = float(made.of_all[chosen].sum() / total) if total else len(chosen) / len(donors)
    return _estimated(whole, run, counters, index, share), _arrays(whole, results)


def _of_whole(whole: Operands, most_cycles: int) -> tuple[LaunchEstimate, dict[str, Array]]:
    """What a launch does, all of which is simulated."""
    whole = balanced(whole)
    run = whole.simulated(most_cycles)
    results = {spec.name: _result(whole, run, spec.name) for spec in whole.launch.outputs}
    return _estimated(whole, run, _counters(whole, run), "", 1.0), _arrays(whole, results)


def _takes_turns(made: LaunchWork, counters: Mapping[str, int]) -> bool:
    """Whether much is done in loops that neither have the index nor lie around such that have it:
    the one may wait for the other, and cycles then grow as neither does."""
    tokens: dict[tuple[str, ...], int] = {}
    for (block, output), loops in made.loops.items():
        own = tuple(fibers.index for fibers in loops)
        tokens[own] = max(tokens.get(own, 0), counters.get(f"tokens_{block}_{output}", 0))
    around = {own[:depth] for own in tokens if made.index in own for depth in range(len(own))}
    inside = max((count for own, count in tokens.items() if made.index in own), default=0)
    apart = max(
        (n for own, n in tokens.items() if made.index not in own and own not in around), default=0
    )
    return min(inside, apart) > _LEAST_SHARE * max(inside, apart)


def choose(work: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates to run, ascending, and for each coordinate the one of these, by its number among
    them, that it is taken to be like.

    All are sorted by their work and cut into ``rows`` groups of one size; the middle one of each
    stands for its group.
    """
    order = np.argsort(work, kind="stable")
    bounds = np.linspace(0, len(order), rows + 1).round().astype(np.int64)
    middles = order[(bounds[:-1] + bounds[1:]) // 2]
    chosen = np.sort(middles)
    donors = np.empty(len(order), np.int64)
    donors[order] = np.searchsorted(chosen, middles).repeat(np.diff(bounds))
    return chosen, donors


def _counters(own: Operands, run: SimulatedRun) -> dict[str, int]:
    """Those of units that a fabric does not use, too."""
    return dict.fromkeys(memory_map(own.config).counters, 0) | run.counters | run.counts


def _estimated(
    whole: Operands, run: SimulatedRun, counters: Mapping[str, int], index: str, share: float
) -> LaunchEstimate:
    """Cycles grow as what bounds them does, a stream or the memory."""
    launch = whole.launch
    moved = traffic(whole.config, counters)
    before, after = _bound(whole, _counters(whole, run)), _bound(whole, counters)
    return LaunchEstimate(
        launch.name,
        round(run.cycles * after / max(1, before)),
        operations(launch, counters),
        moved.bytes,
        longest_stream(launch, counters),
        moved.line_bytes or 0,
        index,
        share,
    )


def _bound(whole: Operands, counters: Mapping[str, int]) -> int:
    return max(longest_stream(whole.launch, counters), traffic(whole.config, counters).cycles)


def _result(own: Operands, run: SimulatedRun, name: str) -> Tensor:
    """A result as it was written."""
    (access,) = (each for each in kernel_of(own.launch.sections).results if each.tensor == name)
    memory = {window: Rows.first(words) for window, words in run.written.items()}
    if (places := places_in(own.config, own.image)) is not None:
        memory = places.to_memory(memory)
    coordinates, words = result(own.launch, own, memory, name)
    values = typed(words, own.launch.config["format"]).astype(np.float64)
    return Tensor(tuple(own.sizes[index] for index in access.indices), coordinates, values)


def _arrays(whole: Operands, results: Mapping[str, Tensor]) -> dict[str, Array]:
    return {
        spec.name: result_array(
            spec, whole.sizes, results[spec.name].coordinates, results[spec.name].values
        )
        for spec in whole.launch.outputs
    }
