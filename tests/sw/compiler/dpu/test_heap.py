from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.compiler.dpu.heap import pop, push

keys = st.lists(st.floats(-1e6, 1e6) | st.integers(0, 3).map(float), min_size=1, max_size=200)


@settings(max_examples=25, deadline=None)
@given(keys)
def test_items_come_out_by_their_keys(keys: list[float]):
    key = np.array(keys)
    heap = np.empty(len(key), np.int32)
    size = 0
    for item in range(len(key)):
        size = push(heap, size, item, key)
    items = []
    while size:
        item, size = pop(heap, size, key)
        items.append(item)
    assert sorted(items) == list(range(len(key)))
    assert key[items].tolist() == sorted(keys)


@settings(max_examples=25, deadline=None)
@given(keys, st.integers(0, 2**32 - 1))
def test_the_smallest_comes_out_between_pushes_too(keys: list[float], seed: int):
    key = np.array(keys)
    heap = np.empty(len(key), np.int32)
    inside: set[int] = set()
    left = list(range(len(key)))
    size = 0
    random = np.random.default_rng(seed)
    while left or inside:
        if left and (not inside or random.random() < 0.6):
            item = left.pop()
            inside.add(item)
            size = push(heap, size, item, key)
        else:
            item, size = pop(heap, size, key)
            assert key[item] == min(key[list(inside)])
            inside.remove(item)
        assert size == len(inside)
