from __future__ import annotations

from collections import OrderedDict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.runtime.machine.lru_cache import lru_hits


def test_no_reads():
    assert lru_hits(np.array([], np.int64), 4, 2).tolist() == []


def test_the_line_that_was_used_longest_ago_goes():
    lines = np.array([0, 2, 0, 4, 0, 2])
    assert lru_hits(lines, 2, 2).tolist() == [False, False, True, False, True, False]


def test_sets_do_not_displace_each_other():
    lines = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    assert lru_hits(lines, 4, 1).tolist() == [False] * 4 + [True] * 4
    assert not lru_hits(lines, 2, 1).any()


def test_flags():
    lines = np.zeros(5, np.int64)
    cached = np.array([True, True, True, False, True])
    temporal = np.array([False, True, True, True, False])
    found = lru_hits(lines, 2, 2, cached, temporal)
    assert found.tolist() == [False, False, True, False, True]


@given(
    reads=st.lists(st.tuples(st.integers(0, 20), st.booleans(), st.booleans()), max_size=80),
    sets=st.integers(1, 4),
    ways=st.integers(1, 4),
)
def test_same_as_ordered_dictionaries(reads, sets, ways):
    held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    expected = []
    for line, cached, temporal in reads:
        lines = held[line % sets]
        expected.append(cached and line in lines)
        if cached and temporal:
            lines[line] = None
            lines.move_to_end(line)
            if len(lines) > ways:
                lines.popitem(last=False)
    columns = np.array(reads, np.int64).reshape(-1, 3).T
    found = lru_hits(columns[0], sets, ways, columns[1] != 0, columns[2] != 0)
    assert found.tolist() == expected
