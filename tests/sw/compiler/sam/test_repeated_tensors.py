"""One tensor several times in a statement: sizes that follow from it, storages, and NumPy's
results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.sam_parts.suite import dense
from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.errors import refused
from tests.support.sam.repeated import Repeated, make

SQUARE = np.array([[0, 2, 0], [0, 0, 5], [4, 0, 1.0]])

_LIMITS = (
    "; a sparse accumulator holds at most 2 indices, put ",
    " below a dense level that lies below level ",
)


@pytest.fixture(scope="module")
def device() -> Iterator[Device[Any]]:
    with Device(load_configuration("sam_fp32"), "model") as found:
        yield found


def run(device: Device[Any], text: str, inputs: dict[str, Any]) -> np.ndarray:
    program = device.compile(text)
    result = device.run(program, inputs)
    assert device.verify(result).difference == "", text
    return dense(result)


def has_run(device: Device[Any], case: Repeated) -> bool:
    """Compares with NumPy, unless there is no graph, for the one reason that there should be."""
    refusal = "appears twice in" if case.diagonal else " in loop order " if case.against else ""
    try:
        got = run(device, case.text, case.inputs)
    except WorkloadError as error:
        text = str(error)
        assert refusal in text, (case.text, text)
        assert refusal or any(limit in text for limit in _LIMITS), (case.text, text)
        return False
    assert not refusal, case.text
    np.testing.assert_array_equal(got, case.expected, case.text)
    return True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X(i,k)=B(i,j)*B(j,k) -f=B:ss -f=X:ss -s=reorder(i,j,k)", SQUARE @ SQUARE),
        ("X(i,k)=B(i,j)*B(k,j) -f=B:ss -f=X:ss -s=reorder(i,k,j)", SQUARE @ SQUARE.T),
        ("X(j,k)=B(i,j)*B(i,k) -f=B:ss -f=X:ss -s=reorder(i,j,k)", SQUARE.T @ SQUARE),
        (
            "X(i,l)=B(i,j)*B(j,k)*B(k,l) -f=B:ss -f=X:dd -s=reorder(i,j,k,l)",
            SQUARE @ SQUARE @ SQUARE,
        ),
        ("x(k)=B(i,j)*B(j,k) -f=B:ds -f=x:d -s=reorder(i,j,k)", (SQUARE @ SQUARE).sum(0)),
        ("X(i,j)=b(i)*b(j) -f=b:s -f=X:ss", np.outer([1, 0, 2], [1, 0, 2])),
    ],
)
def test_products_of_a_tensor_with_itself(
    device: Device[Any], text: str, expected: np.ndarray
) -> None:
    inputs = {"B": SQUARE} if "B(" in text else {"b": [1, 0, 2]}
    np.testing.assert_array_equal(run(device, text, inputs), expected)


def test_a_program_runs_with_tensors_of_any_size(device: Device[Any], tmp_path: Path) -> None:
    device.compile("X(i,k)=B(i,j)*B(j,k) -f=B:ss -f=X:ds -s=reorder(i,j,k)").save(
        tmp_path / "x.npz"
    )
    program = load_program(tmp_path / "x.npz")
    assert [spec.shape for spec in (*program.inputs, *program.outputs)] == [("i", "i"), ("i", "i")]
    for matrix in (SQUARE, np.eye(5), np.zeros((0, 0)), np.full((1, 1), 3.0)):
        result = device.run(program, {"B": matrix})
        np.testing.assert_array_equal(dense(result), matrix @ matrix)


def test_a_tensor_that_is_not_square_is_refused(device: Device[Any]) -> None:
    program = device.compile("X(i,k)=B(i,j)*B(j,k) -f=B:ss -f=X:ss -s=reorder(i,j,k)")
    with refused(
        "expression, column 15: index j has size 2 in mode 0 of B, but 3 in mode 1 of B; "
        "it must have one size"
    ):
        device.run(program, {"B": np.ones((2, 3))})


def test_a_storage_that_does_not_fit_all_accesses(device: Device[Any]) -> None:
    with refused(
        "expression, column 15: B(j,i) cannot be walked in loop order i,j: mode 1 (index i) is "
        "stored inside mode 0 (index j), but its loop is outside; a transposed copy would do under "
        "a name of its own, B2(j,i) with -f=B2:ss:1,0, as B(i,j) needs another storage"
    ):
        device.compile("X(i,j)=B(i,j)*B(j,i) -f=B:ss -f=X:ss")
    text = "X(i,j)=B(i,j)*B2(j,i) -f=B:ss -f=B2:ss:1,0 -f=X:ss"
    got = run(device, text, {"B": SQUARE, "B2": SQUARE})
    np.testing.assert_array_equal(got, SQUARE * SQUARE.T)


def test_an_order_of_loops_that_fits_all_accesses(device: Device[Any]) -> None:
    text = "X(i,k)=B(i,j)*B(j,k) -f=B:ss -f=X:ss"
    with refused(
        "expression, column 15: B(j,k) cannot be walked in loop order i,k,j: mode 1 (index k) is "
        "stored inside mode 0 (index j), but its loop is outside; a transposed copy would do under "
        "a name of its own, B2(j,k) with -f=B2:ss:1,0, as B(i,j) needs another storage; or loops "
        "in another order: -s=reorder(i,j,k)"
    ):
        device.compile(text)
    got = run(device, f"{text} -s=reorder(i,j,k)", {"B": SQUARE})
    np.testing.assert_array_equal(got, SQUARE @ SQUARE)


def test_a_storage_that_fits_all_accesses_is_named(device: Device[Any]) -> None:
    with refused(
        "expression, column 8: B(i,j) cannot be walked in loop order j,i: mode 1 (index j) is "
        "stored inside mode 0 (index i), but its loop is outside; a transposed copy would do: "
        "-f=B:ss:1,0"
    ):
        device.compile("X(i,j)=B(i,j)+B(i,j) -f=B:ss -f=X:ss:1,0 -s=reorder(j,i)")


def run_many(device: Device[Any], seeds: range, least: float) -> None:
    """At least this part of the statements must have a graph."""
    assert sum(has_run(device, make(seed)) for seed in seeds) >= least * len(seeds)


def test_random_statements(device: Device[Any]) -> None:
    run_many(device, range(60), 0.5)


@pytest.mark.slow
def test_many_random_statements(device: Device[Any]) -> None:
    run_many(device, range(60, 2000), 0.55)


@pytest.mark.parametrize("text", ["x(i)=b(i)*c(i)*b(i)", "x(i)=b(i)*c(i)*b(i)*c(i)*b(i)"])
def test_a_tensor_that_is_there_twice_is_walked_once(device: Device[Any], text: str) -> None:
    """Else what the first intersection drops would wait before the next one for room."""
    b, c = np.arange(1.0, 201), np.where(np.arange(200) >= 150, 2.0, 0.0)
    text += " -f=b:s -f=c:s -f=x:s"
    factors = (c if factor == "c(i)" else b for factor in text.split()[0][5:].split("*"))
    np.testing.assert_array_equal(run(device, text, {"b": b, "c": c}), np.prod(list(factors), 0))
