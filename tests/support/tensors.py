"""Tensors at random, and their comparison."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gnarl.sw.workloads.tensor.tensor import Tensor


def same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same entries."""
    return (
        one.shape == other.shape
        and np.array_equal(one.coordinates, other.coordinates)
        and np.array_equal(one.values, other.values)
    )


def random_tensors(**dims: int) -> st.SearchStrategy[Tensor]:
    """Tensors with any finite values, explicit zeros among them; dimensions may have size 0."""
    return hnp.array_shapes(min_side=0, max_side=4, **dims).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(bool, shape),
            hnp.arrays(
                np.float64, shape, elements=st.floats(allow_nan=False, allow_infinity=False)
            ),
        ).map(lambda pair: Tensor(shape, np.argwhere(pair[0]), pair[1][pair[0]]))
    )
