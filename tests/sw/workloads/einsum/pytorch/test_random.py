"""Random PyTorch modules as Einsum programs, against PyTorch."""

from __future__ import annotations

import re

import pytest

from gnarl.hw.lib.errors import WorkloadError
from tests.support.pytorch_programs import require_same
from tests.support.random_tensor_modules import random_tensor_module

QUICK, ALL = 20, 500
REFUSED = re.compile(r": torch\.export: Unable to cast NotImplemented to Tensor$")
"""The end of what refusals say: PyTorch cannot trace products of CSC matrices, which transposed CSR
ones are, twice."""


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(each, marks=pytest.mark.slow) for each in range(QUICK, ALL))],
)
def test_random_modules(seed: int) -> None:
    made, inputs = random_tensor_module(seed)
    try:
        require_same(made, *inputs)
    except WorkloadError as error:
        assert REFUSED.search(str(error)), error
