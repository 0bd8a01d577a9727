"""What stream engines compute of values is what NumPy does; all else is refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.tensor_graphs import nest_of

A = np.array([-7, 5, 0, -(2**31), 2**31 - 1, -1, 1, 3], np.int32)
B = np.array([-7, -5, 1, 2**31 - 1, 2**31 - 1, 0, 1, -3], np.int32)
X = np.array([-1.5, 2.0, -0.0, np.inf, -np.inf, 1e-40, -3.25, 8.0], np.float32)


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("sram_b2", "model") as device:
        yield device


def near(model: Device, type: str, value: str) -> np.ndarray:
    """``to`` of a nest that makes each of its elements ``value``."""
    nest = nest_of(
        f"a: int32[n], b: int32[n], x: float32[n], to: {type}[n]",
        f"for i in range(n): to[i] = {value}",
    )
    values = {"a": A, "b": B, "x": X}
    values = {name: values[name] for name in nest.arrays if name != "to"}
    compiled = model.compile(LoopWorkload("f", nest, values), place="near")
    found: np.ndarray = model.run(compiled, values).outputs["to"]
    return found


@pytest.mark.parametrize(
    "type, value, wanted",
    [
        ("int32", "abs(a[i])", np.abs(A)),
        ("int32", "-a[i]", -A),
        ("float32", "abs(x[i])", np.abs(X)),
        ("float32", "-x[i]", -X),
        ("int32", "1 if a[i] == b[i] else 0", A == B),
        ("int32", "1 if a[i] != b[i] else 0", A != B),
        ("int32", "1 if a[i] <= b[i] else 0", A <= B),
        ("int32", "1 if a[i] > b[i] else 0", A > B),
        ("int32", "1 if not a[i] < b[i] else 0", A >= B),
        ("int32", "1 if x[i] == 2.0 else 0", X == 2),
    ],
)
def test_values(model: Device, type: str, value: str, wanted: np.ndarray):
    assert near(model, type, value).tobytes() == wanted.astype(type).tobytes()


def test_terms_of_a_sum_by_lanes(model: Device):
    nest = nest_of("a: int32[n], to: int32[1]", "for i in range(n): to[0] += abs(a[i])")
    values = {"a": np.arange(-99, 101, dtype=np.int32), "to": np.array([7], np.int32)}
    found = model.run(model.compile(LoopWorkload("f", nest, values), place="near"), values)
    assert found.outputs["to"] == 7 + 99 * 100 + 100


@pytest.mark.parametrize(
    "type, value, message",
    [
        ("float32", "sqrt(x[i])", "sqrt of float32: not supported by stream engines"),
        ("int32", "a[i] // 3", "needs 41 operations: must be at most 32"),
        ("int32", "a[i] // (a[i] + 1)", "// of int32 but by a number above 0: not supported"),
    ],
)
def test_what_engines_do_not_compute_is_refused(model: Device, type: str, value: str, message: str):
    with pytest.raises(WorkloadError, match=message):
        near(model, type, value)
