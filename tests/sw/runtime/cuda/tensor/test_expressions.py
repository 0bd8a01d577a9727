"""Expressions on the emulation, against the golden model that all targets share and SciPy."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.golden.tensor import evaluate
from gnarl.sw.golden.words import typed
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused

POOLED = "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:dd"
VECTOR = "x(i)=B(i,k)*c(k) -f=x:d -f=B:ss -f=c:d"
TRANSPOSED = "X(j,i)=B(k,i)*C(j,k) -f=X:dd:1,0 -f=B:ds:1,0 -f=C:dd:1,0 -s=reorder(i,j,k)"
SUM = "X(i,j)=B(i,k)*C(k,j)+D(i,l)*E(l,j)+D(i,k)*C(k,j) -f=B:ds -f=D:ds"
SAMPLED = "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds -f=C:dd -f=D:dd"

INNER, DIM = 23, 12
DENSE = {
    POOLED: {"C": (INNER, DIM)},
    VECTOR: {"c": (INNER,)},
    TRANSPOSED: {"C": (DIM, INNER)},
    SUM: {"C": (INNER, DIM), "E": (INNER, DIM)},
}


@cache
def device(format: str = "float32", block_threads: int = 128, workers: str = "warps") -> Device:
    overrides = [f"format={format}", f"block_threads={block_threads}", f"workers={workers}"]
    return Device(load_configuration("cuda_sm90", overrides), "emulation")


@cache
def program(text: str, format: str = "float32", block_threads: int = 128, dim: int = 0) -> Program:
    """Without matrices: those are open."""
    shapes = DENSE.get(text) or {"C": (1, dim or INNER), "D": (1, dim or INNER)}
    operands = {name: np.ones(shape) for name, shape in shapes.items()}
    return device(format, block_threads).compile((text, operands))


def matrix(random: np.random.Generator, shape: tuple[int, int], density: float) -> np.ndarray:
    dense = random.integers(-8, 9, shape) / 4
    return np.where(random.random(shape) < density, dense, 0)


def sparse(random: np.random.Generator, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """A matrix of any density, with empty rows, full ones, and zeros that are stored."""
    dense = matrix(random, shape, random.choice([0.0, 0.05, 0.5]))
    for row in range(shape[0]):
        if random.random() < 0.2:
            dense[row] = random.choice([0.0, 1.25])
    found = scipy.sparse.csr_array(dense)
    found.data[random.random(found.nnz) < 0.1] = 0
    return found


rows = st.sampled_from([1, 2, 5, 33, 150])
seeds = st.integers(0, 2**32)


@settings(max_examples=12)
@given(seeds, rows, st.sampled_from([POOLED, VECTOR, TRANSPOSED, SUM]))
def test_pooled_sums_are_products_of_matrices(seed: int, rows: int, text: str) -> None:
    random = np.random.default_rng(seed)
    operands = {name: matrix(random, shape, 0.9) for name, shape in DENSE[text].items()}
    b, d = (sparse(random, (rows, INNER)) for _ in "BD")
    operands["B"] = b.T if text == TRANSPOSED else b
    if text == SUM:
        operands["D"] = d
        wanted = b @ operands["C"] + d @ operands["E"] + d @ operands["C"]
    elif text == TRANSPOSED:
        wanted = (b @ operands["C"].T).T
    else:
        wanted = b @ operands["c" if text == VECTOR else "C"]
    result = device().run(program(text), operands)
    (found,) = result.outputs.values()
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, wanted)
    verification = device().verify(result)
    assert (verification.bit_exact, verification.difference) == (True, "")
    assert_golden(text, operands, found)


def assert_golden(text: str, operands: dict[str, np.ndarray], found: np.ndarray) -> None:
    """What SAM's hardware must give."""
    coordinates, words = evaluate(
        parse(text), {name: Tensor.from_any(one) for name, one in operands.items()}, "float32"
    )
    golden = np.zeros(found.shape, np.float32)
    golden[tuple(coordinates.T)] = typed(words, "float32")
    np.testing.assert_array_equal(found, golden)


def test_rows_that_are_much_longer_than_others() -> None:
    """Their schedule is chosen by the matrix, which is there when the kernel is compiled."""
    random = np.random.default_rng(3)
    samples = matrix(random, (4, 6000), 0.001)
    samples[1] = 0.5
    operands = {"B": samples, "C": matrix(random, (6000, DIM), 0.9)}
    result = device().run(device().compile((POOLED, operands)), operands)
    np.testing.assert_array_equal(result.outputs["X"], samples @ operands["C"])
    assert device().verify(result).bit_exact


@settings(max_examples=12)
@given(seeds, rows, st.sampled_from([1, 2, 23, 24, 260]))
def test_sampled_products_have_the_entries_of_their_samples(
    seed: int, rows: int, inner: int
) -> None:
    random = np.random.default_rng(seed)
    samples = sparse(random, (rows, 31))
    left, right = matrix(random, (rows, inner), 0.9), matrix(random, (31, inner), 0.9)
    operands = {"B": samples, "C": left, "D": right}
    result = device().run(program(SAMPLED, dim=inner), operands)
    found = result.outputs["X"]
    assert isinstance(found, Tensor)
    places = scipy.sparse.coo_array(samples)
    np.testing.assert_array_equal(found.coordinates, np.stack(places.coords, axis=1))
    dense = (left @ right.T)[places.coords] * places.data
    np.testing.assert_array_equal(found.values, dense)
    assert found.values.dtype == np.float32
    assert device().verify(result).bit_exact


def test_entries_of_a_sampled_product_in_another_order() -> None:
    text = "X(j,i)=B(i,j)*C(i,k)*D(j,k) -f=X:ds:1,0 -f=B:ds -s=reorder(i,j,k)"
    samples = np.array([[0, 2, 3], [4, 0, 5]])
    operands = {"B": samples, "C": np.ones((2, INNER)), "D": np.ones((3, INNER))}
    found = device().run(device().compile((text, operands)), operands).outputs["X"]
    assert isinstance(found, Tensor)
    np.testing.assert_array_equal(found.to_dense(), INNER * samples.T)


@pytest.mark.parametrize("format", ["float16", "bfloat16"])
@pytest.mark.parametrize("text", [POOLED, SAMPLED])
@pytest.mark.parametrize("block_threads", [32, 256])
def test_narrow_formats_round_operands_and_results(
    format: str, text: str, block_threads: int
) -> None:
    random = np.random.default_rng(1)
    shapes = DENSE[POOLED] if text == POOLED else {"C": (50, INNER), "D": (INNER, INNER)}
    operands = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    operands["B"] = random.standard_normal((50, INNER)) * (random.random((50, INNER)) < 0.4)
    on = device(format, block_threads)
    result = on.run(program(text, format, block_threads), operands)
    verification = on.verify(result)
    assert verification.difference == ""
    found = result.outputs["X"]
    values = found if isinstance(found, np.ndarray) else found.values
    assert values.dtype.name == format


def test_any_numbers_are_within_the_bound() -> None:
    random = np.random.default_rng(2)
    operands = {
        "B": random.standard_normal((40, INNER)),
        "C": random.standard_normal((INNER, DIM)) * 10.0 ** random.integers(-5, 5, (INNER, DIM)),
    }
    result = device().run(program(POOLED), operands)
    assert device().verify(result).difference == ""
    found, wanted = result.outputs["X"], operands["B"] @ operands["C"]
    assert (np.abs(found - wanted) <= 1e-5 * (np.abs(operands["B"]) @ np.abs(operands["C"]))).all()


@pytest.mark.parametrize("text", [POOLED, SAMPLED])
def test_one_wrong_element_is_named(text: str) -> None:
    shapes = {"B": (3, INNER), "C": (INNER, DIM)}
    if text == SAMPLED:
        shapes = {"B": (3, 4), "C": (3, INNER), "D": (4, INNER)}
    operands = {name: np.full(shape, 0.5) for name, shape in shapes.items()}
    result = device().run(program(text), operands)
    found = result.outputs["X"]
    values = found if isinstance(found, np.ndarray) else found.values
    right = float(values.reshape(-1)[6])
    values.reshape(-1)[6] = np.nextafter(values.reshape(-1)[6], np.float32(9))
    verification = device().verify(result)
    assert not verification.bit_exact
    place = "X[0,6]" if text == POOLED else "X[1,2]"
    wrong = float(values.reshape(-1)[6])
    assert verification.difference == (
        f"1 of {values.size} outputs differ; the first is {place}: {wrong}, must be {right}"
    )


@pytest.mark.parametrize("shape", [(0, INNER), (3, INNER)])
@pytest.mark.parametrize("text", [POOLED, SAMPLED])
def test_nothing_to_add(text: str, shape: tuple[int, int]) -> None:
    operands = {"B": scipy.sparse.csr_array(shape), "C": np.ones((INNER, DIM))}
    if text == SAMPLED:
        operands |= {"C": np.ones((shape[0], INNER)), "D": np.ones((INNER, INNER))}
    result = device().run(program(text), operands)
    assert device().verify(result).bit_exact
    found = result.outputs["X"]
    if text == POOLED:
        np.testing.assert_array_equal(found, np.zeros((shape[0], DIM)))
    else:
        assert isinstance(found, Tensor)
        assert (found.shape, found.nnz) == ((shape[0], INNER), 0)


def test_one_device_runs_models_of_both_kinds_in_turn() -> None:
    operands = {"B": np.eye(4, INNER), "C": np.ones((INNER, DIM))}
    sampled = {"B": np.eye(4), "C": np.ones((4, INNER)), "D": np.ones((4, INNER))}
    for _ in range(2):
        assert device().verify(device().run(program(POOLED), operands)).bit_exact
        assert device().verify(device().run(program(SAMPLED), sampled)).bit_exact


def test_pooled_sums_are_plotted() -> None:
    operands = {"B": np.eye(4, INNER), "C": np.ones((INNER, DIM))}
    result = device().run(program(POOLED), operands)
    (axes,) = result.plot().axes
    assert axes.get_title(loc="left").startswith(f"{POOLED.split(' ')[0]} on cuda_sm90, 4 rows")
    figure = Figure()
    chosen = figure.subplots()
    assert result.plot(chosen) is figure
    assert chosen.get_xlabel() == axes.get_xlabel()
    assert chosen.get_legend() is not None


def test_sampled_products_are_not_plotted() -> None:
    operands = {"B": np.eye(4), "C": np.ones((4, INNER)), "D": np.ones((4, INNER))}
    result = device().run(program(SAMPLED), operands)
    with refused("plot: not supported for sampled products"):
        result.plot()


def test_more_rows_than_a_batch_has_samples() -> None:
    operands = {"B": (np.array([[2**40, 0]]), [1.0], (2**40 + 1, INNER))}
    text = "expression, column 8: B(i,k) has 1,099,511,627,777 rows: must be at most 1,048,576"
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        device().run(program(POOLED), operands | {"C": np.ones((INNER, DIM))})
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        device().compile((POOLED, operands | {"C": np.ones((INNER, DIM))}))


def test_values_that_a_format_does_not_hold() -> None:
    operands = {"B": np.eye(2, INNER), "C": np.full((INNER, DIM), 1e6)}
    with pytest.raises(WorkloadError, match=r"^C\[0,0\] = 1000000.0: "):
        device("float16").run(program(POOLED, "float16"), operands)


def test_a_sampled_product_has_no_mapping() -> None:
    operands = {"B": np.eye(4), "C": np.ones((4, INNER)), "D": np.ones((4, INNER))}
    with pytest.raises(WorkloadError, match="mapping = 'device': not supported for sampled"):
        device().run(program(SAMPLED), operands, mapping="device")
    operands = {"B": np.eye(4, INNER), "C": np.ones((INNER, DIM))}
    blocks = device(workers="blocks")
    result = blocks.run(blocks.compile((POOLED, operands)), operands, mapping="device")
    assert blocks.verify(result).bit_exact
