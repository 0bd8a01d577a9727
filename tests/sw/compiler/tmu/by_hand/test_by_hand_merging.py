"""Programs by hand that merge, for both units and for the execute unit alone, on the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import OPERATIONS
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.sparse_fibers import LENGTH, PAIRS, coordinates, matrices, pairs, vectors

VECTORS = [name for name in OPERATIONS if "vector" in name]
MATRICES = [name for name in OPERATIONS if "matrix" in name]


def is_exact(name: str, values: dict[str, np.ndarray], lanes: int, coupled: bool) -> bool:
    nest = OPERATIONS[name].nest
    sizes = {size.name for size in nest.sizes} & {"length", "columns"}
    made = LoopWorkload(name, nest, values, dict.fromkeys(sizes, LENGTH))
    device = Device(load_configuration("tmu_l8", (f"lanes={lanes}",)), "model")
    program = device.compile(made, ref=True, coupled=coupled)
    return device.verify(device.run(program, values)).bit_exact


@pytest.mark.parametrize("coupled", (False, True))
@pytest.mark.parametrize("name", MATRICES)
def test_pairs_of_rows(name: str, coupled: bool):
    """In one pair of matrices, each pair of fibers is a pair of rows."""
    left, right = zip(*PAIRS.values(), strict=True)
    assert is_exact(name, matrices(left, right), 8, coupled)


@settings(max_examples=10)
@given(
    name=st.sampled_from(VECTORS),
    pair=pairs,
    lanes=st.sampled_from((2, 4, 8)),
    coupled=st.booleans(),
    seed=st.integers(0, 9),
)
def test_vectors(
    name: str, pair: tuple[list[int], list[int]], lanes: int, coupled: bool, seed: int
):
    assert is_exact(name, vectors(*pair, seed), lanes, coupled)


@settings(max_examples=12)
@given(
    name=st.sampled_from(MATRICES),
    rows=st.lists(st.tuples(coordinates, coordinates), max_size=4),
    lanes=st.sampled_from((2, 8)),
    coupled=st.booleans(),
)
def test_matrices(name: str, rows: list[tuple[list, list]], lanes: int, coupled: bool):
    values = matrices([left for left, _ in rows], [right for _, right in rows])
    assert is_exact(name, values, lanes, coupled)


def test_matrices_without_rows():
    for name in (
        "matrix_sum",
        "compressed_matrix_sum",
        "matrix_product",
        "compressed_matrix_product",
    ):
        for coupled in (False, True):
            assert is_exact(name, matrices([], []), 8, coupled)


@pytest.mark.parametrize("coupled", (False, True))
@pytest.mark.parametrize("name", ("matrix_product", "compressed_matrix_product"))
def test_products_with_no_rows(name: str, coupled: bool):
    assert is_exact(name, matrices([[1], [2, 3]], []), 8, coupled)


@pytest.mark.parametrize("coupled", (False, True))
@pytest.mark.parametrize("name", ("vector_product", "vector_sum"))
def test_what_is_not_stored_stays(name: str, coupled: bool):
    values = vectors([1, 4, 7, 9], [0, 4, 9, 11]) | {"out": np.arange(LENGTH, dtype=np.float32)}
    assert is_exact(name, values, 4, coupled)


def test_fibers_of_many_blocks():
    random = np.random.default_rng(0)
    left, right = (sorted(random.choice(90, 60, replace=False)) for _ in range(2))
    for name in ("compressed_vector_product", "compressed_vector_sum"):
        assert is_exact(name, vectors(left, right), 8, coupled=True)
    assert is_exact("compressed_vector_product", vectors(left, [3, 88]), 8, coupled=True)


def test_a_program_that_does_not_fit():
    device = Device(load_configuration("tmu_l8", ("program_words=16",)), "model")
    made = LoopWorkload("f", OPERATIONS["vector_sum"].nest, vectors([1], [2]), {"length": LENGTH})
    error = "program_words = 16: must be more for a program by hand"
    with pytest.raises(CapacityError, match=error):
        device.compile(made, ref=True, coupled=True)
