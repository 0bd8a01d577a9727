"""What runs take of memory: models for their streams, golden models for their relations."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.program.free_memory import free_bytes
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.image import Operands
from gnarl.sw.runtime.sam.model import tokens
from gnarl.sw.runtime.target.configuration import load_configuration

SPARSE = "y(i)=A(i,j)*x(j) -f=y:s -f=A:ss -f=x:s"
DENSE = "y(i)=A(i,j)*x(j) -f=y:d -f=A:ds -f=x:d"


def job(text: str, rows: int, density: float = 0.03) -> Any:
    """A matrix and a vector of so many rows and columns, for a machine."""
    device = Device("sam_fp32", "model")
    program = device.compile(text)
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((rows, rows), density=density, rng=rng)
    inputs = {"A": matrix, "x": rng.integers(1, 9, rows) * 1.0}
    executor = device.target.executor
    return executor.job(program, program.launches[0], executor.bind(program, inputs))


def peak(work: Callable[[], Any]) -> tuple[Any, int]:
    """What work gives, and the bytes that it takes meanwhile."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [SPARSE, DENSE])
def test_streams_take_40_bytes_a_token_together(text: str) -> None:
    operands: Operands = job(text, 800).operands
    operands.image  # noqa: B018
    (_, run), taken = peak(lambda: operands.model)
    assert sum(run.tokens.values()) > 100_000
    assert taken < 40 * sum(run.tokens.values())


def test_streams_that_need_more_than_half_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = job(SPARSE, 800).operands
    monkeypatch.setattr(tokens, "free_bytes", lambda: 50_000_000)
    with pytest.raises(CapacityError) as caught:
        operands.model  # noqa: B018
    assert str(caught.value) == (
        "block lookup_x_j (fiberlookup): 640,800 tokens need 61,516,800 bytes: must be at most "
        "half of the 50,000,000 that are free"
    )


def test_memory_that_is_free() -> None:
    assert 1 << 20 < free_bytes() < 1 << 60


def test_rtl_is_given_what_no_model_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    given = job(SPARSE, 20)
    executor = load_configuration("sam_fp32").target.executor
    monkeypatch.delattr(Operands, "model")
    executor.check(given)
    assert executor.limited(given, None).max_cycles > 1 << 40


def test_verification_takes_no_more_than_the_matrix_thrice() -> None:
    device = Device("sam_fp32", "model")
    program, operands = device.compile(DENSE), job(DENSE, 2500).operands
    executor = device.target.executor
    _, taken = peak(lambda: executor.golden(program, operands.tensors))
    _, in_float64 = peak(lambda: executor.reference(program, operands.tensors))
    # Of each entry there are 24 bytes: two coordinates and a value.
    assert max(taken, in_float64) < 72 * operands.tensors["A"].nnz
