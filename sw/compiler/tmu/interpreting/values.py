"""Values as modules type them: NumPy's numbers, and vectors as arrays of one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType, VectorType, f32, i1, i32
from xdsl.ir import Attribute

DTYPES: dict[Attribute, Any] = {f32: np.float32, i32: np.int32, i1: np.bool_, IndexType(): int}


def typed(value: Any, type: Attribute) -> Any:
    """A number, or a vector, which a number is the first element of, as a ``type``."""
    if isinstance(type, VectorType):
        (lanes,) = type.get_shape()
        vector = np.zeros(lanes, DTYPES[type.element_type])
        given = np.atleast_1d(value)
        vector[: len(given)] = given
        return vector
    number = np.atleast_1d(value)[0]
    return int(number) if type == IndexType() else DTYPES[type](number)
