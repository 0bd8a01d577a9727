"""Random PyTorch modules as loop nests: what they give is what PyTorch gives, to the bit."""

from __future__ import annotations

import re

import pytest

from gnarl.hw.lib.errors import WorkloadError
from tests.support.nests.pytorch_nests import require_same
from tests.support.nests.random_modules import random_module

QUICK, ALL = 12, 500
REFUSED = re.compile(
    "(: must be of float32"
    "|: of a tensor without dimensions: must have one"
    "|: a tensor without dimensions: all three must have some"
    r"|: index -1 in dimension \d: must be at least 0 and less than \d+)$"
)
"""Ends of what refusals say."""


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(each, marks=pytest.mark.slow) for each in range(QUICK, ALL))],
)
def test_random_modules(seed: int) -> None:
    made, inputs = random_module(seed)
    try:
        require_same(made, *inputs)
    except WorkloadError as error:
        assert REFUSED.search(str(error)), error
