"""Types of elements: NumPy's of the same names."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gnarl.sw.workloads.loops.ir.scalar_type import (
    BOOL,
    BY_NAME,
    ELEMENT_TYPES,
    FLOAT32,
    INT32,
    ScalarType,
    common,
)

INTEGERS = [each for each in ELEMENT_TYPES if each.is_integer]


@pytest.mark.parametrize("type", ELEMENT_TYPES, ids=str)
def test_sizes_and_ranges(type: ScalarType) -> None:
    assert (type.kind, type.bits) == (type.dtype.kind, 8 * type.dtype.itemsize)
    assert type.is_number
    if type.is_integer:
        limits = np.iinfo(type.dtype)
        assert (type.least, type.most) == (limits.min, limits.max)


def test_names() -> None:
    assert [*BY_NAME] == "float32 int8 int16 int32 uint8 uint16 uint32 bool".split()
    assert all(str(type) == name == type.dtype.name for name, type in BY_NAME.items())
    assert (BY_NAME["float32"], BY_NAME["int32"], BY_NAME["bool"]) == (FLOAT32, INT32, BOOL)
    assert not (BOOL.is_number or BOOL.is_integer or FLOAT32.is_integer)


def test_what_holds_every_value_of_another() -> None:
    for one, other in product(INTEGERS, INTEGERS):
        assert one.holds(other) == np.can_cast(other.dtype, one.dtype)
    for one, other in product(BY_NAME.values(), (FLOAT32, BOOL)):
        assert one.holds(other) == other.holds(one) == (one == other)


def test_common_types() -> None:
    for types in (*product(INTEGERS, INTEGERS), *product(INTEGERS, INTEGERS, INTEGERS)):
        wanted = np.result_type(*(each.dtype for each in types)).name
        assert common(*types) == BY_NAME.get(wanted)  # int64 is none
    for one, other in product(BY_NAME.values(), (FLOAT32, BOOL)):
        assert common(one, other) == common(other, one) == (one if one == other else None)
