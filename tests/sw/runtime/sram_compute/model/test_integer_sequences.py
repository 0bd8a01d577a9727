"""Shifts by a constant, and constants, on the model, against NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from tests.support.sram_compute.integer_sequences import Command, constant, shift_left, shift_right

A, D, ROWS = 40, 100, 200


def _run(commands: list[Command], values: np.ndarray, n: int, onto: int) -> np.ndarray:
    array = ComputeArray(ROWS, len(values), np.random.default_rng(0))
    array.write(A, values, n)
    before = array.planes.copy()
    used = sum(array.run(each.operation.program(each.n), each.rows, each.n) for each in commands)
    assert used == n
    kept = np.ones(ROWS, bool)
    kept[onto : onto + n] = False
    assert (array.planes == before)[kept].all()
    return array.read(onto, n)


@given(n=st.integers(1, 32), distance=st.integers(0, 40), onto=st.sampled_from([A, D]))
@settings(max_examples=20)
def test_shifts(n: int, distance: int, onto: int) -> None:
    least = -(1 << n - 1)
    values = np.random.default_rng(n).integers(least, -least, 100)
    mask = np.uint64((1 << n) - 1)
    unsigned = values.astype(np.uint64) & mask
    far = np.uint64(distance)
    left = _run(shift_left(A, onto, n, distance), values, n, onto)
    assert (left == unsigned << far & mask).all()
    right = _run(shift_right(A, onto, n, distance, signed=False), values, n, onto)
    assert (right == unsigned >> far).all()
    signed = _run(shift_right(A, onto, n, distance, signed=True), values, n, onto)
    assert (signed == (values >> distance).astype(np.uint64) & mask).all()


@given(n=st.integers(1, 32), value=st.integers(-(1 << 31), (1 << 32) - 1))
@settings(max_examples=10)
def test_constants(n: int, value: int) -> None:
    found = _run(constant(D, n, value), np.zeros(100, np.int64), n, D)
    assert (found == value % (1 << n)).all()
