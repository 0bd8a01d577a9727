"""What an iteration needs of another one is there, at all levels and in coupled code."""

from __future__ import annotations

import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.compile import LEVELS
from tests.support.nests.dependent_nests import BODIES, dependent_nest, dependent_values
from tests.support.tmu.programs import check

CONFIG = TmuConfig(lanes=4)

QUICK = (
    "reads -1",
    "writes +1",
    "less far than lanes",
    "as far as lanes",
    "reads the first",
    "order two, of nothing else",
    "two arrays, one behind the other",
    "a sum stored, and then overwritten",
    "lengths to offsets",
    "offsets of a later loop",
    "writes row +0, column +1",
    "set by rows before sums",
    "sums of a row that a variable names",
    "locals called as passes might",
)
"""Of ``BODIES``: all take minutes."""


@pytest.mark.parametrize("name", QUICK)
def test_results_are_those_of_the_source(name: str):
    _check(name, (1, max(LEVELS)), is_given=name.startswith("reads"), reassociate=False)


@pytest.mark.slow
@pytest.mark.parametrize("reassociate", [False, True])
@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_results_at_all_levels(name: str, is_given: bool, reassociate: bool):
    _check(name, LEVELS, is_given=is_given, reassociate=reassociate)


def _check(
    name: str, levels: tuple[int, ...] | range, *, is_given: bool, reassociate: bool
) -> None:
    """``is_given``: results do not begin as zeros."""
    nest, values = dependent_nest(name), dependent_values(1)
    if not is_given:
        values = {array: value for array, value in values.items() if array not in nest.results}
    for opt in levels:
        check(nest, values, CONFIG, opt, reassociate=reassociate)
    check(nest, values, CONFIG, coupled=True, reassociate=reassociate)
