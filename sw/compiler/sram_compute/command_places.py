"""Which statement of the source each command of a program is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import AugmentedStore, Statement, Store
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.place import Location


@dataclass(frozen=True, eq=False)
class CommandPlaces:
    """places
        of stores in the source, each once.
    numbers
        int64 [commands]: the place that each command is for; what several stores need is for the
        first of them.
    """

    places: Sequence[Location]
    numbers: np.ndarray


def joined_places(parts: Iterable[CommandPlaces]) -> CommandPlaces:
    """The commands of ``parts``, one behind the other. O(commands)."""
    found: dict[Location, int] = {}
    numbers = [np.empty(0, np.int64)]
    for part in parts:
        own = [found.setdefault(each, len(found)) for each in part.places]
        numbers.append(np.array(own, np.int64)[part.numbers])
    return CommandPlaces(tuple(found), np.concatenate(numbers))


def with_end(places: CommandPlaces, nest: Location) -> CommandPlaces:
    """The same and an ``END`` behind them, which waits for what the last command began; alone, it
    is the nest's."""
    if not len(places.numbers):
        return all_for(nest, 1)
    return CommandPlaces(places.places, np.append(places.numbers, places.numbers[-1:]))


def all_for(place: Location, commands: int) -> CommandPlaces:
    """So many commands, all for one place."""
    return CommandPlaces((place,), np.zeros(commands, np.int64))


def first_store(body: Sequence[Statement]) -> Location:
    """The place of the first store of statements."""
    stores = (each.place for each in nodes(body) if isinstance(each, Store | AugmentedStore))
    return next(stores, body[0].place)
