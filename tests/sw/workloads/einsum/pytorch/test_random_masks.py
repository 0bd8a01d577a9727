"""Random PyTorch modules with masks as Einsum programs, against PyTorch."""

from __future__ import annotations

import pytest

from tests.support.errors import noted
from tests.support.pytorch_programs import require_same
from tests.support.random_masked_modules import TRAITS, random_masked_module

QUICK, ALL = 20, 400


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(each, marks=pytest.mark.slow) for each in range(QUICK, ALL))],
)
def test_random_modules(seed: int) -> None:
    case = random_masked_module(seed)
    with noted(str(case.traits)):
        require_same(case.module, *case.inputs)


def test_every_trait_is_drawn() -> None:
    assert set().union(*(random_masked_module(seed).traits for seed in range(150))) == set(TRAITS)
