"""Entries of PyTorch's tensors, and which formats they have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gnarl.sw.workloads.einsum.pytorch.inputs import chosen_formats, entries_of, format_of
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import compressed_rows

CUBE = torch.arange(24.0).reshape(2, 3, 4) % 5 - 2


@pytest.mark.parametrize(
    ("tensor", "problem"),
    [
        (torch.ones(2, dtype=torch.complex64), "a is torch.complex64: must be of real numbers"),
        (
            torch.empty(0, 2**60),
            f"a has shape (0, {2**60}): NumPy has none that large",
        ),
        (
            torch.tensor([0.0, math.inf]),
            "a: entry 0: the value at (1,) = inf: must be finite in float64",
        ),
    ],
)
def test_what_has_no_entries_is_refused(tensor: torch.Tensor, problem: str) -> None:
    with refused(problem):
        entries_of("a", tensor)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_tensors_are_refused() -> None:
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8)
    with refused("a is torch.quint8: must be of real numbers"):
        entries_of("a", quantized)


def test_the_largest_shape() -> None:
    assert entries_of("a", torch.empty(0, 2**60 - 1)).shape == (0, 2**60 - 1)


def test_infinity_where_it_may_be() -> None:
    assert entries_of("a", torch.tensor([0.0, -math.inf]), finite=False).values == -math.inf


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_coordinates_with_dense_parts(dims: int) -> None:
    tensor = (CUBE * (CUBE[:, :1, :1] < 0)).to_sparse(dims)
    found = entries_of("a", tensor)
    np.testing.assert_array_equal(found.to_dense(), tensor.to_dense())
    assert found.nnz == tensor.values().numel()
    assert str(format_of("a", tensor)) == "s" * dims + "d" * (3 - dims) + "012"


def test_a_sign_that_is_not_stored() -> None:
    view = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert view.is_neg()
    assert entries_of("a", view).values.tolist() == [-2, 4]


@pytest.mark.parametrize(
    ("tensor", "layout"),
    [
        (compressed_rows(CUBE + 3), "sparse_csr of 3 dimensions"),
        ((CUBE + 3).to_sparse_csc(), "sparse_csc of 3 dimensions"),
    ],
)
def test_layouts_of_more_dimensions_are_refused(tensor: torch.Tensor, layout: str) -> None:
    with refused(
        f"a: layout {layout}: must be strided or COO, or CSR, CSC, BSR or BSC of 2 dimensions"
    ):
        format_of("a", tensor)


@pytest.mark.parametrize(("layout", "format"), [("bsr", "ds01"), ("bsc", "ds10")])
@pytest.mark.parametrize("size", [(2, 2), (1, 3), (4, 1), (4, 6)])
def test_all_elements_of_blocks_are_entries(
    layout: str, format: str, size: tuple[int, int]
) -> None:
    dense = torch.zeros(4, 6)
    dense[0, 3], dense[3, 5], dense[2, 0] = 1, 2, 3
    blocks: Any = getattr(dense, f"to_sparse_{layout}")(size)
    found = entries_of("a", blocks)
    assert str(format_of("a", blocks)) == format
    np.testing.assert_array_equal(found.to_dense(), dense.numpy())
    tiles = {(r // size[0], c // size[1]) for r, c in ((0, 3), (3, 5), (2, 0))}
    expected = [[r, c] for r in range(4) for c in range(6) if (r // size[0], c // size[1]) in tiles]
    assert found.coordinates.tolist() == expected


def test_formats_that_are_chosen() -> None:
    found = chosen_formats(
        {"lin.weight": "ds:1,0", "x": TensorFormat(("dense",), (0,)), "sum": ""},
        {"lin_weight": "lin.weight", "x": "x"},
        {"lin_weight": (2, 3), "x": (3,), "sum": ()},
    )
    assert {name: str(format) for name, format in found.items()} == {
        "lin_weight": "ds10",
        "x": "d0",
        "sum": str(TensorFormat((), ())),
    }
