"""How far sums of products in float32 may be off what a statement means.

Source: Higham, "Accuracy and Stability of Numerical Algorithms" (2nd edition, 2002), chapters 3
and 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gnarl.sw.golden.float32_sums import UNDERFLOW, common_step, gamma
from gnarl.sw.golden.tensor import reference
from gnarl.sw.workloads.tensor.expression import Access, Call, Expression, Statement, terms
from gnarl.sw.workloads.tensor.tensor import Tensor


def sum_interval(
    statement: Statement, tensors: Mapping[str, Tensor]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of the result, as ``reference`` has them, and float64 [n] the least and the
    greatest that a float32 sum there may be before it is rounded to an output's type.

    The statement is a sum of products of tensors, whose values are exact in float32. It holds for
    sums in any order, products being rounded or fused with an addition, with gradual underflow. Of
    n terms of up to m factors each takes part in at most n - 1 additions and m - 1 products, so
    that the sum is within γ_k Σ|t| of the exact one, with k = n + m - 2 (Higham, section 4.2,
    equation 4.4). Both ends are the exact sum where every order gives it: where all terms are
    multiples of a number g and no magnitudes add up to more than 2^24 g.
    """
    products = [list(_factors(term)) for term in terms(statement.expression)]
    coordinates, sums = reference(statement, tensors)
    _, magnitudes = reference(statement, _mapped(tensors, np.abs))
    _, counts = reference(statement, _mapped(tensors, np.ones_like))
    step = min(_product(term, tensors, _step) for term in products)
    largest = max(_product(term, tensors, _largest) for term in products)
    limit = float(np.finfo(np.float32).max)
    most = magnitudes.max(initial=0.0)
    if most <= min(2.0**24 * step, limit) and largest <= limit and step >= 2.0**-149:
        return coordinates, sums, sums
    factors = max(map(len, products))
    # Besides, what the float64 sums here are off, generously.
    relative = gamma(counts + factors - 2) + counts * factors * 2.0**-52
    radii = relative * (1 + counts * 2.0**-50) * magnitudes + 2 * counts * UNDERFLOW * largest
    # Partial sums and products may overflow where the whole does not.
    radii[(magnitudes + radii >= limit) | (largest > limit)] = np.inf
    low, high = (np.nextafter(sums + s * radii, s * np.inf) for s in (-1.0, 1.0))
    return coordinates, low, high


def _step(values: np.ndarray) -> float:
    return common_step(values.astype(np.float32))


def _largest(values: np.ndarray) -> float:
    """Magnitude, at least 1: of a product's parts none is larger than the product of these."""
    return float(np.abs(values).max(initial=1.0))


def _product(
    term: Sequence[Access], tensors: Mapping[str, Tensor], of: Callable[[np.ndarray], float]
) -> float:
    return math.prod(of(tensors[factor.tensor].values) for factor in term)


def _mapped(
    tensors: Mapping[str, Tensor], function: Callable[..., np.ndarray]
) -> dict[str, Tensor]:
    return {name: replace(one, values=function(one.values)) for name, one in tensors.items()}


def _factors(expression: Expression) -> Iterator[Access]:
    match expression:
        case Access():
            yield expression
        case Call("mul", arguments):
            for part in arguments:
                yield from _factors(part)
        case _:
            raise ValueError(f"{expression}: must be a sum of products of tensors")
