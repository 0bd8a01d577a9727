"""Finds regions, orders of their loops, blocks of values and lanes that take the fewest cycles, as
estimates have it.

What a region takes does not depend on how what it takes was computed, so the best cut of a program
into regions of neighbours is found by their sums, without trying all cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from gnarl.sw.compiler.sam.fuse.orders import valid_orders
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.runtime.sam.search.candidate import (
    Candidate,
    Candidates,
    statements_of,
    with_region,
)

LONGEST = 24
"""Statements of a region, at most, that is tried."""

ORDERS = 12
"""Orders of loops of a region, at most, that are tried."""


def best_regions(
    candidates: Candidates, unfused: Candidate, advance: Callable[[float], None]
) -> Candidate | None:
    """The best cut of a program into regions of neighbours.

    unfused
        the candidate with each statement by itself.
    """
    names = statements_of(unfused.schedule.regions)
    best: list[tuple[int, tuple[Region, ...]]] = [(0, ())]
    spans = sum(min(end, LONGEST) for end in range(1, len(names) + 1))
    done = 0
    for end in range(1, len(names) + 1):
        found = []
        for begin in range(max(0, end - LONGEST), end):
            region = Region(tuple(names[begin:end]))
            before, others = best[begin]
            for fixed in (False, True):
                taken = candidates.of_region(unfused, region, fixed=fixed)
                if taken is not None:
                    own = replace(region, order=taken.order)
                    found.append((before + taken.cycles, (*others, own)))
            done += 1
            advance(done / spans)
        if not found:
            return None
        best.append(min(found, key=lambda each: each[0]))
    schedule = _with_free_inputs(unfused.schedule)
    return candidates.made(schedule=replace(schedule, regions=best[-1][1]))


def _with_free_inputs(schedule: Schedule) -> Schedule:
    """The schedule with inputs stored to suit whatever it becomes; what regions leave to others is
    stored as before."""
    made = statements_of(schedule.regions)
    formats = {name: each for name, each in schedule.formats.items() if name in made}
    return replace(schedule, formats=formats)


def best_orders(candidates: Candidates, fused: Candidate) -> Candidate:
    """The candidate with the best order of each region's loops of the first that there are."""
    found = fused
    for number, lowered in enumerate(fused.compiled.regions):
        schedule = _with_free_inputs(found.schedule)
        cycles = found.estimate.launches[number].cycles
        best = None
        for order in islice(valid_orders(lowered.partial_order), ORDERS):
            if order == lowered.order:
                continue
            region = replace(schedule.regions[number], order=order)
            taken = candidates.of_region(found, region, fixed=False)
            if taken is not None and taken.cycles < cycles:
                cycles, best = taken.cycles, with_region(schedule, number, region)
        made = candidates.made(schedule=best) if best is not None else None
        if made is not None and made.cycles < found.cycles:
            found = made
    return found


def with_lanes(candidates: Candidates, serial: Candidate, lanes: int) -> Candidate | None:
    """The candidate with lanes for the outermost loop of each region that gains by them; ``None``:
    none does."""
    schedule = serial.schedule
    whole = schedule
    for number, lowered in enumerate(serial.compiled.regions):
        if not lowered.order:  # of numbers alone
            continue
        region = replace(schedule.regions[number], lanes=((lowered.order[0], lanes),))
        taken = candidates.of_region(serial, region)
        if taken is not None and taken.cycles < serial.estimate.launches[number].cycles:
            whole = with_region(whole, number, region)
    return candidates.made(schedule=whole) if whole is not schedule else None


def with_blocks(candidates: Candidates, serial: Candidate, words: int) -> Candidate | None:
    """The candidate with blocks of values of so many words in each region that gains by them;
    ``None``: none does."""
    schedule = serial.schedule
    whole = schedule
    for number, lowered in enumerate(serial.compiled.regions):
        cycles = serial.estimate.launches[number].cycles
        region = _in_blocks(
            candidates, serial, schedule.regions[number], lowered.order, words, cycles
        )
        whole = with_region(whole, number, region)
    return candidates.made(schedule=whole) if whole != schedule else None


def _in_blocks(
    candidates: Candidates,
    serial: Candidate,
    region: Region,
    order: Sequence[str],
    words: int,
    cycles: int,
) -> Region:
    """The region with blocks along the index by which it gains most, then along the next one, as
    long as no value has more than ``words``."""
    left = list(order)
    while left:
        best = None
        for index in left:
            more = replace(region, blocks=(*region.blocks, (index, words)))
            taken = candidates.of_region(serial, more)
            if taken is not None and taken.words <= words and taken.cycles < cycles:
                cycles, best = taken.cycles, (index, more)
        if best is None:
            break
        index, region = best
        left.remove(index)
    return region
