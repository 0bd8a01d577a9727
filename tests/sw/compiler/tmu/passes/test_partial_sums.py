"""How many sums vectors are added up in."""

from __future__ import annotations

import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.passes.partial_sums import loops_of_partial_sums
from tests.support.tmu.messages import Messages

CONFIG = TmuConfig(lanes=4)


@pytest.mark.parametrize(
    "product, dim, count",
    [
        ("a[v, e] * b[indices[p], e]", 16, 4),
        ("a[v, e] * b[indices[p], e]", 10, 2),  # of three vectors
        ("a[v, e] * b[indices[p], e]", 4, 1),
        ("a[near[v], e] * b[indices[p], e]", 16, 2),  # both are taken from the queue
        ("abs(a[v, e] - b[indices[p], e])", 16, 1),  # three instructions a vector
        ("a[v, e] * b[indices[p], e]", 100, 1),  # too many vectors to be written out
    ],
)
def test_sums_wait_for_none(product: str, dim: int, count: int):
    module = Messages(product=product, dim=dim).after("partial_sums", CONFIG)
    assert sorted(loops_of_partial_sums(module).values()) == [count] * (count > 1)
