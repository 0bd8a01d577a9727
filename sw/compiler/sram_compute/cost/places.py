"""What each statement of a nest costs on each engine, and where it runs therefore.

Costs are of lowered programs: of the commands, which tell about when each is over, of the stream
engines' steps, and of the core's instructions, one by one. Equation 2 of Infinity Stream (section
4.3) compares operations at peak throughput with latencies and with a constant for each node that is
lowered. The constant is ``SramConfig.lowering_cycles`` here; the rest of it would leave out what
most cycles go to, main memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.cost.alike import cost_form
from gnarl.sw.compiler.sram_compute.cost.cheapest import Cost, Run, cheapest
from gnarl.sw.compiler.sram_compute.cost.core import part_cycles
from gnarl.sw.compiler.sram_compute.cost.near import near_cycles
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram
from gnarl.sw.compiler.sram_compute.in_memory import Made
from gnarl.sw.compiler.sram_compute.lower.lattice import padded, stored
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from gnarl.sw.compiler.sram_compute.near.lower import NearCode, near_code
from gnarl.sw.compiler.sram_compute.on_core import CoreCodes
from gnarl.sw.compiler.sram_compute.placement import Part, elsewhere, several, share_locals
from gnarl.sw.compiler.sram_compute.slabs import Slabs
from gnarl.sw.compiler.sram_compute.tdfg.plan import regions
from gnarl.sw.execute.scalars.core_memory import core_memory
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest

MOST_CYCLES = 1 << 24
"""Near memory and on the core, those of a part that are looked at. A part of more is not compared
with others: its statements are, each for itself."""

_MOST_LOOPS = 512
"""``NEAR`` commands of a part: those of more take the host too long to find out."""


_MOST_WHOLE = 16
"""Statements that are looked at as a whole where each may be a part: the core's compiler takes long
for more. On the core neighbours become one part in any case."""


@dataclass(frozen=True)
class Seen:
    """What was found out about statements ``first`` to ``end``, without, on an engine: cycles, or,
    if it ``is_refusal``, why it does not run them."""

    first: int
    end: int
    text: str
    is_refusal: bool = False


@dataclass(frozen=True)
class EngineChoice:
    """The engines chosen for a nest's statements.

    parts
        with their commands, which one on the core does not have.
    runs
        where they run, and about how many cycles each takes.
    seen
        all that was looked at.
    by_data
        whether it depends on the arrays' elements.
    """

    parts: tuple[Made, ...]
    runs: tuple[Run, ...]
    seen: tuple[Seen, ...]
    by_data: bool

    def listing(self, nest: Nest) -> Iterator[str]:
        """A line for each part that was looked at, with cycles on each engine, and one for each
        that was chosen."""
        for (first, end), found in sorted(self._looked().items()):
            yield f"{_named(nest, first, end)}: {', '.join(each.text for each in found)}"
        for run in self.runs:
            yield f"chosen: {_named(nest, run.first, run.end)}: {run.engine}"

    def remarks(self, nest: Nest) -> Iterator[str]:
        """For each run, what was found out about its statements together, or about each."""
        looked = self._looked()
        for run in self.runs:
            alone = [(each, each + 1) for each in range(run.first, run.end)]
            whole = (run.first, run.end)
            for first, end in [whole] if whole in looked else alone:
                found = looked.get((first, end), ())
                cycles = ", ".join(each.text for each in found if not each.is_refusal)
                texts = [f"estimated {cycles}"] if cycles else []
                texts += [each.text for each in found if each.is_refusal]
                if texts:
                    yield f"{nest.body[first].place}: {'; '.join(texts)}"

    def _looked(self) -> Mapping[tuple[int, int], Sequence[Seen]]:
        """By first statement and the one behind the last."""
        looked: dict[tuple[int, int], list[Seen]] = {}
        for seen in self.seen:
            looked.setdefault((seen.first, seen.end), []).append(seen)
        return looked


@dataclass(frozen=True)
class EngineJob:
    """A nest on a configuration at some sizes; ``given``: the arrays that it writes and that do not
    begin as 0."""

    fat: FatProgram
    config: SramConfig
    binding: Binding
    given: Collection[str]


def choose_engines(
    job: EngineJob,
    parts: Sequence[Part],
    placed: Callable[[int, int], tuple[Part, ...]],
    in_memory: Callable[[Part], tuple[Part, MemoryCode | Slabs | None]],
    codes: CoreCodes,
) -> EngineChoice | None:
    """The engines of a nest's statements of the fewest cycles; ``None`` where there is no choice,
    since memory takes no statement and there is but the core, or since some statement runs nowhere.

    ``placed``: parts of statements from one up to another, without; ``parts``: of all;
    ``in_memory``: a part's commands, if it has some; ``codes``: parts on the core. Looks at each
    statement for itself, at each of ``parts``, and, if it is not too long, at the nest as a whole.
    """
    nest, config = job.fat.nest, job.config
    if not config.near_lanes and all(part.refusal is not None for part in parts):
        return None
    segments = list(_segments(nest, parts))
    costs = _Costs(job, placed, in_memory, codes, is_divisible=(0, 1) in segments)
    engines: dict[str, Cost] = {"memory": costs.memory}
    if config.near_lanes:
        engines["near"] = costs.near
    if config.core_lanes:
        engines["core"] = costs.core
    runs = cheapest(len(nest.body), segments, engines)
    if runs is None:
        return None
    runs = _joined(runs)
    made_parts = tuple(costs.part(run) for run in runs)
    return EngineChoice(made_parts, runs, tuple(costs.seen), costs.by_data)


def _joined(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Neighbours on the core as one, which finds its cache filled."""
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1].engine == run.engine == "core":
            last = joined.pop()
            run = Run("core", last.first, run.end, last.cycles + run.cycles)
        joined.append(run)
    return tuple(joined)


def _named(nest: Nest, first: int, end: int) -> str:
    """Statements, by their numbers and the place of the first."""
    numbers = f"statement {first}" if end == first + 1 else f"statements {first} to {end - 1}"
    return f"{nest.body[first].place}: {numbers}"


def _segments(nest: Nest, parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    count = len(nest.body)
    singles = [replace(nest, body=(each,)) for each in nest.body]
    must_be_whole = share_locals(singles)
    if must_be_whole or count <= _MOST_WHOLE:
        yield 0, count
    if must_be_whole:
        return
    first = 0
    for part in parts:
        end = first + len(part.nest.body)
        yield first, end
        yield from ((each, each + 1) for each in range(first, end))
        first = end


class _Costs:
    """Costs of statements on each engine.

    is_divisible
        each statement may be a part.
    seen
        what was found out.
    by_data
        whether some of it depends on the arrays' elements.
    """

    def __init__(
        self,
        job: EngineJob,
        placed: Callable[[int, int], tuple[Part, ...]],
        in_memory: Callable[[Part], tuple[Part, MemoryCode | Slabs | None]],
        codes: CoreCodes,
        *,
        is_divisible: bool,
    ) -> None:
        self._job = job
        self._is_divisible = is_divisible
        self._placed = placed
        self._in_memory = in_memory
        self._codes = codes
        self._made = cache(self._new_made)
        self._near = cache(self._new_near)
        # Of statements that are alike, up to which limit cycles were counted, and how many.
        self._alike: dict[tuple[str, Hashable], tuple[int, int]] = {}
        self._least: dict[tuple[int, int], int] = {}
        self._refused: dict[tuple[int, int], str] = {}
        self.seen: list[Seen] = []
        self.by_data = False

    def memory(self, first: int, end: int) -> int | None:
        part, code = self._made(first, end)
        if code is None:
            self._refused[first, end] = str(part.refusal)
            self.seen.append(Seen(first, end, f"not in memory: {part.refusal}", True))
            return None
        nodes = sum(len(region.graph.nodes) for region in regions(part.steps))
        lowering = self._job.config.lowering_cycles * nodes
        return self._found("memory", first, end, None, code.estimate + lowering)

    def near(self, first: int, end: int) -> int | None:
        """Cycles near memory, as far as the engines before take no fewer."""
        limit, form = self._limit(first, end), self._form(first, end)
        cycles = self._of_alike("near", form, limit)
        if cycles is None:
            try:
                code = self._near(first, end)
            except (WorkloadError, CapacityError) as refusal:
                self.seen.append(Seen(first, end, f"not near memory: {refusal}", True))
                return None
            lines = dict.fromkeys(self._job.fat.nest.arrays, 0)
            cycles = near_cycles(code.commands(lines), self._job.config, limit)
            self._alike["near", form] = limit, cycles
        return self._found("near", first, end, limit, cycles)

    def _new_near(self, first: int, end: int) -> NearCode:
        job = self._job
        return near_code(
            self._nest(first, end),
            job.binding,
            job.config,
            reassociate=job.fat.reassociate,
            zeros=self._zeros(first),
            most_loops=_MOST_LOOPS,
        )

    def core(self, first: int, end: int) -> int | None:
        """Cycles on the core, as far as the engines before take no fewer, of not too many
        statements at once, if they may be parts."""
        if self._is_divisible and end - first > _MOST_WHOLE:
            return None
        limit, form = self._limit(first, end), self._form(first, end)
        cycles = self._of_alike("core", form, limit)
        if cycles is None:
            cycles = self._core(first, end, limit)
            if cycles is None:
                return None
            self._alike["core", form] = limit, cycles
        return self._found("core", first, end, limit, cycles)

    def _core(self, first: int, end: int, limit: int) -> int | None:
        fat, config, binding = self._job.fat, self._job.config, self._job.binding
        nest, arrays = self._nest(first, end), binding.arrays
        types = [fat.nest.arrays[name].type for name in arrays]
        shapes = [padded(array.shape[::-1]) for array in arrays.values()]
        lines = {
            name: each.first_line
            for name, each in zip(
                arrays, stored(types, shapes, 1, config.memory_channels), strict=True
            )
        }
        try:
            code = self._codes.made(nest, zeros=self._zeros(first), lines=lines, before=0)
        except (WorkloadError, CapacityError) as refusal:
            self.seen.append(Seen(first, end, f"not on the core: {refusal}", True))
            return None
        memory = core_memory(arrays, lines, self._nest(0, first).results)
        cycles = part_cycles(code.instructions, config, limit, memory)
        self.by_data |= memory.decides
        return cycles

    def _form(self, first: int, end: int) -> Hashable:
        form = cost_form(self._nest(first, end), self._job.binding, self._zeros(first))
        return (first, end) if form is None else form

    def _of_alike(self, engine: str, form: Hashable, limit: int) -> int | None:
        """Cycles of statements alike that are known, or some number above ``limit``."""
        if (engine, form) not in self._alike:
            return None
        counted, cycles = self._alike[engine, form]
        return cycles if cycles <= counted or limit <= counted else None

    def _limit(self, first: int, end: int) -> int:
        return min(MOST_CYCLES, self._least.get((first, end), MOST_CYCLES))

    def _found(
        self, engine: str, first: int, end: int, limit: int | None, cycles: int
    ) -> int | None:
        """``None`` for more than ``limit``, unless nothing else is known of a single statement."""
        is_more = limit is not None and cycles > limit
        text = f"{engine} over {limit} cycles" if is_more else f"{engine} {cycles} cycles"
        self.seen.append(Seen(first, end, text))
        is_whole = self._is_divisible and end > first + 1
        if is_more and (is_whole or (first, end) in self._least):
            return None
        self._least[first, end] = min(cycles, self._least.get((first, end), cycles))
        return cycles

    def part(self, run: Run) -> Made:
        """The part of a run, with its commands."""
        if run.engine == "memory":
            return self._made(run.first, run.end)
        code = self._near(run.first, run.end) if run.engine == "near" else None
        return elsewhere(self._nest(run.first, run.end), self._refusal(run.first, run.end)), code

    def _refusal(self, first: int, end: int) -> str:
        """Why memory does not compute some of these statements."""
        within = (
            refusal
            for (start, stop), refusal in sorted(self._refused.items())
            if first <= start and stop <= end
        )
        return several(within)

    def _nest(self, first: int, end: int) -> Nest:
        nest = self._job.fat.nest
        return replace(nest, body=nest.body[first:end])

    def _zeros(self, first: int) -> frozenset[str]:
        """Arrays that are 0 before a statement."""
        nest = self._job.fat.nest
        return frozenset({*nest.results} - {*self._job.given} - {*self._nest(0, first).results})

    def _new_made(self, first: int, end: int) -> tuple[Part, MemoryCode | Slabs | None]:
        """The part in memory; without commands, and with the reason, where it does not run
        there."""
        parts = self._placed(first, end)
        refusal = next((part.refusal for part in parts if part.refusal is not None), None)
        if refusal is not None:
            return elsewhere(self._nest(first, end), refusal), None
        return self._in_memory(parts[0])
