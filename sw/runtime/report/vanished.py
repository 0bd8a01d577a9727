"""Inputs that are not 0, but become 0 in the format that a machine computes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.formats import parse_format
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.runtime.report.verify import element_name


@dataclass(frozen=True)
class Given:
    """Numbers as they are given, [n] of any real type, and the format that they are taken in.

    ``name(at)`` is what to call one of them.
    """

    values: np.ndarray
    format: str
    name: Callable[[int], str]


@dataclass(frozen=True)
class Vanished:
    """How many numbers become 0, the first one's name and value, and the format it is 0 in."""

    count: int
    first: str
    format: str


def elements(spec: TensorSpec, array: Array) -> Given:
    """The elements of a tensor that are stored."""
    if isinstance(array, np.ndarray):
        shape = array.shape
        return Given(
            array.reshape(-1),
            spec.type,
            lambda at: element_name(spec, [int(place) for place in np.unravel_index(at, shape)]),
        )
    coordinates = array.coordinates
    return Given(array.values, spec.type, lambda at: element_name(spec, coordinates[at]))


def vanished(numbers: Iterable[Given]) -> Vanished | None:
    """The numbers that are rounded to 0, if there are any. O(numbers)."""
    count, first = 0, ("", "")
    for kind in numbers:
        values = kind.values
        half = np.float64(parse_format(kind.format).smallest / 2)
        places = np.flatnonzero((values != 0) & (np.abs(values) <= half))
        if len(places) and not count:
            at = int(places[0])
            first = f"{kind.name(at)} = {values[at]!s}", kind.format
        count += len(places)
    return Vanished(count, *first) if count else None
