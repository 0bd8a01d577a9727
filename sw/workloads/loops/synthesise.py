"""Values for the parameters that a nest is not given."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from gnarl.sw.workloads.loops.ir.binding import dimension, open_sizes, sizes_of
from gnarl.sw.workloads.loops.ir.nest import Load, Nest, Scalar
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import ScalarType
from gnarl.sw.workloads.loops.ir.sequence import begun
from gnarl.sw.workloads.made_up import ZEROS, random_values

DEFAULT_SIZE = 16
"""The value of sizes that do not follow from the arrays that are given."""

_MOST = 3
"""The largest of integers."""


def synthesised(
    nest: Nest,
    given: Mapping[str, np.ndarray],
    seed: int,
    sizes: Mapping[str, int] | None = None,
    results: Collection[str] = (),
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """``given``, and random values for other scalars and arrays, of those that the nest writes for
    ``results`` alone: others begin as zeros, which are there if the nest reads them; and all sizes,
    some of which may be given as ``sizes``.

    Floats are normal, integers small, counts among them. The same ``seed`` gives the same values.
    Raises ``WorkloadError`` where arrays and sizes disagree.
    """
    found_sizes = sizes_of(nest, given, DEFAULT_SIZE, sizes)
    read = {each.array for each in nodes(nest.body) if isinstance(each, Load)}
    values = dict(given)
    random = np.random.default_rng(seed)
    for parameter in nest.parameters:
        if parameter.name in given or parameter.name in nest.temporaries:
            continue
        if isinstance(parameter, Scalar):
            values[parameter.name] = _values(random, parameter.type, ())
            continue
        shape = tuple(dimension(size, found_sizes) for size in parameter.shape)
        if parameter.name not in nest.results or parameter.name in results:
            values[parameter.name] = _values(random, parameter.type, shape)
        elif parameter.name in read:
            values[parameter.name] = np.zeros(shape, parameter.type.dtype)
    return values, found_sizes


def made_up(
    nest: Nest,
    given: Mapping[str, np.ndarray],
    seed: int,
    sizes: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """What is not ``given`` of ``synthesised`` with these arguments, zeros that the nest reads
    among it."""
    kept = {*given, *nest.temporaries}
    others = [each.name for each in nest.parameters if each.name not in kept]
    kinds = random_values((name for name in others if name not in nest.results), seed)
    kinds |= {name: ZEROS for name in begun(nest) if name in others}
    names = open_sizes(nest, given, DEFAULT_SIZE, sizes)
    return kinds | dict.fromkeys(names, str(DEFAULT_SIZE))


def _values(random: np.random.Generator, type: ScalarType, shape: tuple[int, ...]) -> np.ndarray:
    if type.is_integer:
        return np.asarray(random.integers(1, _MOST + 1, shape), type.dtype)
    return np.asarray(random.standard_normal(shape), type.dtype)
