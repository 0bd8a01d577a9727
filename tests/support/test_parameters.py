"""Which parameters the quick suite has."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.support.parameters import slow_but_pairs


@pytest.mark.parametrize("sizes", [(11, 5, 4), (2, 3, 2), (6, 3, 2), (3, 3, 3), (4, 4, 1)])
def test_all_pairs_are_quick_and_all_triples_are_there(sizes: tuple[int, int, int]) -> None:
    first, second, third = (range(size) for size in sizes)
    triples = slow_but_pairs(first, second, third)
    quick = [triple for triple in triples if not hasattr(triple, "marks")]
    values = [getattr(triple, "values", triple) for triple in triples]
    assert values == list(product(first, second, third))
    assert len(quick) == len(first) * len(second)
    for one, other in combinations(range(3), 2):
        pairs = {(triple[one], triple[other]) for triple in quick}
        assert len(pairs) == sizes[one] * sizes[other]
