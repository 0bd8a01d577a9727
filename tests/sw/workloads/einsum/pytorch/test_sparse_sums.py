"""Sums and means over the entries of sparse matrices, against PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import compressed_rows, module
from tests.support.pytorch_programs import lines, require_same

MATRIX = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 5]], dtype=torch.float64)
X = torch.arange(8.0, dtype=torch.float64).reshape(4, 2) + 0.5


def test_sums_and_means() -> None:
    """Of rows of two entries, of none, and of three; and where zeros are stored."""

    def forward(self, a, x):
        return torch.sparse.mm(a, x, "sum"), torch.sparse.mm(a, x, "mean")

    sparse = compressed_rows(MATRIX)
    found = lines(require_same(module(forward), sparse, X))
    assert found == [
        "_sparse_mm(i,j)=sum[k](a(i,k)*x(k,j))",
        "a_stored(i,j)=stored(a(i,j))",
        "_sparse_mm_1_counts(i)=sum[j](a_stored(i,j))",
        "_sparse_mm_1_divisor(i)=max(_sparse_mm_1_counts(i),1.0)",
        "_sparse_mm_1_total(i,j)=sum[k](a(i,k)*x(k,j))",
        "_sparse_mm_1(i,j)=_sparse_mm_1_total(i,j)/_sparse_mm_1_divisor(i)",
    ]
    sparse.values()[:2] = 0
    require_same(module(forward), sparse, X)


@pytest.mark.parametrize(
    ("forward", "problem"),
    [
        (
            lambda self, a, x: torch.sparse.mm(a, x, "amax"),
            "reduce = 'amax': must be 'sum' or 'mean'",
        ),
        (
            lambda self, a, x: torch.sparse.mm(a * a, x, "mean"),
            "a mean over entries of a matrix that is computed: must be of an input",
        ),
        (
            lambda self, a, x: torch.sparse.mm(a.to_dense().to_sparse_csr(), x, "mean"),
            "a mean over entries of a matrix that was dense in between, which has lost those that "
            "are 0: must be of an input",
        ),
    ],
)
def test_what_is_refused(forward: Callable[..., Any], problem: str) -> None:
    text = f": aten._sparse_mm.reduce: {problem}"
    with pytest.raises(WorkloadError, match=f"{re.escape(text)}$"):
        module_program(module(forward), (compressed_rows(MATRIX), X))
