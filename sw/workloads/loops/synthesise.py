"""Values for the parameters that a nest is not given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sw.workloads.loops.binding import dimension, sizes_of
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.scalar_type import ScalarType

DEFAULT_SIZE = 16
"""Of sizes that do not follow from the arrays that are given."""

_MOST = 3
"""Of integers."""


def synthesised(nest: Nest, given: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """``given``, and random values for arrays that are only read and for scalars: floats normal,
    integers small, counts among them. The same ``seed`` gives the same values. Raises
    ``WorkloadError`` where arrays disagree about a size."""
    sizes = sizes_of(nest, given, DEFAULT_SIZE)
    found = dict(given)
    random = np.random.default_rng(seed)
    for parameter in nest.parameters:
        if parameter.name in given:
            continue
        if parameter.name in nest.scalars:
            found[parameter.name] = _values(random, parameter.type, ())
        elif parameter.name not in nest.results:
            shape = nest.arrays[parameter.name].shape
            found[parameter.name] = _values(
                random, parameter.type, tuple(dimension(size, sizes) for size in shape)
            )
    return found


def _values(random: np.random.Generator, type: ScalarType, shape: tuple[int, ...]) -> np.ndarray:
    if type.is_integer:
        return np.asarray(random.integers(1, _MOST + 1, shape), type.dtype)
    return np.asarray(random.standard_normal(shape), type.dtype)
