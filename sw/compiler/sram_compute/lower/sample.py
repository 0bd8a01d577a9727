"""Tiles for loops in order of many iterations: what takes the fewest cycles in some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.sram_compute.tdfg.affine import named
from gnarl.sw.compiler.sram_compute.tdfg.plan import Repeat, Step
from gnarl.sw.compiler.sram_compute.tiles import Tile

_PLACES = 4
"""Places of a loop in order at which iterations are looked at: they take longer where tiles end."""

_SHARE = 4
"""Iterations for one that is looked at, at least."""

Estimate = Callable[[Mapping[str, int], Tile], int]
"""Cycles with the values of names, in a tile."""


@dataclass(frozen=True)
class Sample:
    """A plan whose outermost loops in order begin at, and have as many iterations as, names say.

    loops
        as the plan has them.
    """

    steps: tuple[Step, ...]
    loops: tuple[Repeat, ...]

    def tile(
        self, names: Mapping[str, int], tiles: Sequence[Tile], estimate: Estimate
    ) -> Tile | None:
        """The one of ``tiles`` in which all iterations seem to take the fewest cycles, by some of
        each loop; ``None`` where there are too few iterations to look at some, or
        none of the tiles has room."""
        trips = [self._trips(loop, names) for loop in self.loops]
        looked_at = 2 * _PLACES * len(tiles) * len(trips)
        if not trips or min(trips) < 2 * _PLACES or sum(trips) < _SHARE * looked_at:
            return None
        best: tuple[int, Tile] | None = None
        for tile in tiles:
            try:
                cycles = self._cycles(names, trips, estimate, tile)
            except CapacityError:
                continue
            if best is None or cycles < best[0]:
                best = cycles, tile
        return best[1] if best is not None else None

    def _trips(self, loop: Repeat, names: Mapping[str, int]) -> int:
        return max(0, -((loop.lower.value(names) - loop.upper.value(names)) // loop.step))

    def _cycles(
        self,
        names: Mapping[str, int],
        trips: Sequence[int],
        estimate: Estimate,
        tile: Tile,
    ) -> int:
        """Cycles of all iterations: of one of each loop, and as many as one more takes for each
        other."""
        begin = dict(names)
        for number, loop in enumerate(self.loops):
            begin[_first(number)], begin[_count(number)] = loop.lower.value(names), 1
        total = estimate(begin, tile)
        for number, (loop, count) in enumerate(zip(self.loops, trips, strict=True)):
            more = 0
            for place in range(_PLACES):
                at = (2 * place + 1) * (count - 1) // (2 * _PLACES)
                sampled = {**begin, _first(number): begin[_first(number)] + at * loop.step}
                more += estimate({**sampled, _count(number): 2}, tile) - estimate(sampled, tile)
            total += (count - 1) * more // _PLACES
        return total


def sampled(plan: tuple[Step, ...]) -> Sample:
    steps, loops = list[Step](), list[Repeat]()
    for step in plan:
        if isinstance(step, Repeat):
            lower = named(_first(len(loops)))
            upper = lower + named(_count(len(loops))) * step.step
            loops.append(step)
            step = replace(step, lower=lower, upper=upper)
        steps.append(step)
    return Sample(tuple(steps), tuple(loops))


def _first(loop: int) -> str:
    return f"loop {loop} first"


def _count(loop: int) -> str:
    return f"loop {loop} count"
