"""What each statement of a nest costs in each place, and where it runs therefore.

Costs are of lowered programs: that of the commands, which tells about when each is over, and that
of the core's instructions, one by one. Equation 2 of Infinity Stream (section 4.3), which compares
operations at peak throughput with latencies, would spare lowering; it leaves out what most cycles
go to here, main memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from hw.lib.errors import CapacityError, WorkloadError
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.cost.cheapest import Run, cheapest
from sw.compiler.sram_compute.cost.core import part_cycles
from sw.compiler.sram_compute.fat_program import FatProgram
from sw.compiler.sram_compute.in_memory import Made
from sw.compiler.sram_compute.lower.lattice import padded, stored
from sw.compiler.sram_compute.on_core import CoreCodes
from sw.compiler.sram_compute.placement import Part, on_core, share_locals
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest

MOST_CYCLES = 1 << 24
"""Of a part on the core that memory does not compute, those that are looked at."""


@dataclass(frozen=True)
class Seen:
    """A part in a place, of ``cycles``; ``is_more``: of some more, where it does not matter."""

    run: Run
    is_more: bool = False


@dataclass(frozen=True)
class Chosen:
    """parts
        with their commands, which one on the core does not have.
    runs
        where they run, and about how many cycles each takes.
    seen
        all that was looked at.
    refusals
        why memory does not take parts, by (first, end).
    """

    parts: tuple[Made, ...]
    runs: tuple[Run, ...]
    seen: tuple[Seen, ...]
    refusals: Mapping[tuple[int, int], str]

    def listing(self, nest: Nest) -> Iterator[str]:
        """A line for each part that was looked at, with cycles in each place, and one for each that
        was chosen."""
        looked = {each: [f"not in memory: {text}"] for each, text in self.refusals.items()}
        for seen in self.seen:
            run = seen.run
            over = "over " if seen.is_more else ""
            texts = looked.setdefault((run.first, run.end), [])
            texts.append(f"{run.place} {over}{run.cycles} cycles")
        for (first, end), texts in sorted(looked.items()):
            yield f"{_named(nest, first, end)}: {', '.join(texts)}"
        for run in self.runs:
            yield f"chosen: {_named(nest, run.first, run.end)}: {run.place}"


@dataclass(frozen=True)
class PlacementJob:
    """A nest on a configuration at some sizes; ``given``: the arrays that it writes and that do not
    begin as 0."""

    fat: FatProgram
    config: SramConfig
    binding: Binding
    given: Collection[str]


def chosen_places(
    job: PlacementJob,
    parts: Sequence[Part],
    placed: Callable[[int, int], tuple[Part, ...]],
    in_memory: Callable[[Part], Made],
    codes: CoreCodes,
) -> Chosen | None:
    """The places of a nest's statements of the fewest cycles; ``None`` where there is no choice,
    since memory takes no statement, or since some statement runs nowhere.

    ``placed``: parts of statements from one up to another, without; ``parts``: of all;
    ``in_memory``: a part's commands, if it has some; ``codes``: parts on the core. Looks at each
    statement for itself, at each of ``parts``, and at the nest as a whole.
    """
    if all(part.refusal is not None for part in parts):
        return None
    nest = job.fat.nest
    costs = _Costs(job, placed, in_memory, codes)
    runs = cheapest(
        len(nest.body),
        list(_segments(nest, parts)),
        {"memory": costs.memory, "core": costs.core},
    )
    if runs is None:
        return None
    runs = _joined(runs)
    found = tuple(
        costs.made(run.first, run.end) if run.place == "memory" else costs.on_core(run)
        for run in runs
    )
    return Chosen(found, runs, tuple(costs.seen), costs.refusals)


def _joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Neighbours on the core as one, which finds its cache filled."""
    found: list[Run] = []
    for run in runs:
        if found and found[-1].place == run.place == "core":
            last = found.pop()
            run = Run("core", last.first, run.end, last.cycles + run.cycles)
        found.append(run)
    return tuple(found)


def _named(nest: Nest, first: int, end: int) -> str:
    """Statements, by their numbers and the place of the first."""
    numbers = f"statement {first}" if end == first + 1 else f"statements {first} to {end - 1}"
    return f"{nest.body[first].place}: {numbers}"


def _segments(nest: Nest, parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    count = len(nest.body)
    yield 0, count
    singles = [replace(nest, body=(each,)) for each in nest.body]
    if share_locals(singles):
        return
    first = 0
    for part in parts:
        end = first + len(part.nest.body)
        yield first, end
        yield from ((each, each + 1) for each in range(first, end))
        first = end


class _Costs:
    def __init__(
        self,
        job: PlacementJob,
        placed: Callable[[int, int], tuple[Part, ...]],
        in_memory: Callable[[Part], Made],
        codes: CoreCodes,
    ) -> None:
        self._job = job
        self._placed = placed
        self._in_memory = in_memory
        self._codes = codes
        self.made = cache(self._made)
        self.seen: list[Seen] = []
        self.refusals: dict[tuple[int, int], str] = {}

    def memory(self, first: int, end: int) -> int | None:
        part, lowered = self.made(first, end)
        if lowered is None:
            self.refusals[first, end] = part.refusal or ""
            return None
        self.seen.append(Seen(Run("memory", first, end, lowered.estimate)))
        return lowered.estimate

    def core(self, first: int, end: int) -> int | None:
        """As far as ``memory`` takes no fewer cycles."""
        fat, config, binding = self._job.fat, self._job.config, self._job.binding
        nest, arrays = self._nest(first, end), binding.arrays
        types = [fat.nest.arrays[name].type for name in arrays]
        shapes = [padded(array.shape[::-1]) for array in arrays.values()]
        lines = {
            name: each.first_line
            for name, each in zip(arrays, stored(types, shapes, 1), strict=True)
        }
        zeros = {*fat.nest.results} - {*self._job.given}
        zeros -= {*self._nest(0, first).results}
        try:
            made = self._codes.made(nest, zeros=zeros, lines=lines, before=0)
        except (WorkloadError, CapacityError):
            return None
        _, lowered = self.made(first, end)
        limit = MOST_CYCLES if lowered is None else lowered.estimate
        cycles = part_cycles(made.instructions, config, limit)
        is_more = cycles > limit
        self.seen.append(Seen(Run("core", first, end, limit if is_more else cycles), is_more))
        return cycles

    def on_core(self, run: Run) -> Made:
        return on_core(self._nest(run.first, run.end), ""), None

    def _nest(self, first: int, end: int) -> Nest:
        nest = self._job.fat.nest
        return replace(nest, body=nest.body[first:end])

    def _made(self, first: int, end: int) -> Made:
        """In memory; without commands, and with the reason, where it does not run there."""
        parts = self._placed(first, end)
        refusal = next((part.refusal for part in parts if part.refusal is not None), None)
        if refusal is not None:
            return on_core(self._nest(first, end), refusal), None
        return self._in_memory(parts[0])
