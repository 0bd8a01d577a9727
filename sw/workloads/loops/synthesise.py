"""Values for the parameters that a nest is not given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sw.workloads.loops.binding import dimension, sizes_of
from sw.workloads.loops.nest import Load, Nest, Scalar
from sw.workloads.loops.scalar_type import ScalarType
from sw.workloads.loops.sequence import nodes

DEFAULT_SIZE = 16
"""Of sizes that do not follow from the arrays that are given."""

_MOST = 3
"""Of integers."""


def synthesised(
    nest: Nest,
    given: Mapping[str, np.ndarray],
    seed: int,
    sizes: Mapping[str, int] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """``given``, and random values for the other scalars and arrays that are read; and all sizes,
    some of which may be given as ``sizes``.

    Floats are normal, integers small, counts among them. The same ``seed`` gives the same values.
    Raises ``WorkloadError`` where arrays and sizes disagree.
    """
    found_sizes = sizes_of(nest, given, DEFAULT_SIZE, sizes)
    read = {each.array for each in nodes(nest.body) if isinstance(each, Load)}
    found = dict(given)
    random = np.random.default_rng(seed)
    for parameter in nest.parameters:
        if parameter.name in given:
            continue
        if isinstance(parameter, Scalar):
            found[parameter.name] = _values(random, parameter.type, ())
        elif parameter.name in read or parameter.name not in nest.results:
            shape = tuple(dimension(size, found_sizes) for size in parameter.shape)
            found[parameter.name] = _values(random, parameter.type, shape)
    return found, found_sizes


def _values(random: np.random.Generator, type: ScalarType, shape: tuple[int, ...]) -> np.ndarray:
    if type.is_integer:
        return np.asarray(random.integers(1, _MOST + 1, shape), type.dtype)
    return np.asarray(random.standard_normal(shape), type.dtype)
