"""Which rows of a launch are run, and what is simulated whole."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.sam.estimate import estimate as module
from gnarl.sw.runtime.sam.estimate.estimate import choose, estimate
from tests.support.sam.models import compiled
from tests.sw.runtime.sam.estimate.test_estimate import ALL, LARGE, PRODUCT, sparse

# Rows that are run.


def test_random_choices() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        size = rng.randint(2, 60)
        rows = rng.randint(1, size - 1)
        made = np.array([rng.choice((0, 1, 2, rng.randrange(1000))) for _ in range(size)], float)
        chosen, donors = choose(made, rows)
        assert len(chosen) == rows
        assert (np.diff(chosen) > 0).all()
        assert donors.shape == (size,)
        np.testing.assert_array_equal(donors[chosen], np.arange(rows))
        groups = np.bincount(donors, minlength=rows)
        assert groups.max() - groups.min() <= 1
        # Groups lie one beside the other.
        ranges = sorted(
            (made[donors == row].min(), made[donors == row].max()) for row in range(rows)
        )
        assert all(one[1] <= other[0] for one, other in pairwise(ranges))


def test_a_choice_by_hand() -> None:
    chosen, donors = choose(np.array([9.0, 0.0, 5.0, 1.0, 4.0, 8.0]), 2)
    assert chosen.tolist() == [3, 5]
    assert donors.tolist() == [1, 0, 1, 0, 0, 1]


# What is simulated whole, and what takes too long.

TWO_PHASES = (
    "t(i,k)=sum[n](A(i,n)*B(n,k)); y(i,j)=sum[k](relu(t(i,k))*C(k,j)) "
    "-f=A:dd -f=B:ds -f=C:ds -f=y:dd"
)


def test_phases_that_wait_for_each_other_are_simulated_whole() -> None:
    """Rows of t are complete before those of y begin, and only y has j."""
    tensors = {"A": np.ones((3, 40)), "B": sparse(0, 40, 9, 0.5), "C": sparse(1, 9, 150, 0.5)}
    program = compiled(TWO_PHASES, tensors, [("t", "y")], config=LARGE)
    (found,), (whole,) = (estimate(program, tensors, rows).launches for rows in (30, ALL))
    assert found == whole
    tensors["A"] = np.ones((200, 40))  # i is outside of both
    program = compiled(TWO_PHASES, tensors, [("t", "y")], config=LARGE)
    (found,) = estimate(program, tensors, 30).launches
    assert (found.index, found.share) == ("i", pytest.approx(30 / 200))


def test_rows_that_take_too_long_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = {"A": np.ones((300, 40)), "B": np.ones((40, 5))}
    text = PRODUCT.format("dd", "dd", "dd", "i,k,j")
    program = compiled(text, tensors, config=LARGE)
    (expected,) = estimate(program, tensors, 8).launches
    monkeypatch.setattr(module, "MOST_CYCLES", expected.cycles // 30)
    (found,) = estimate(program, tensors, 64).launches
    assert found == expected
    monkeypatch.setattr(module, "MOST_CYCLES", 100)
    (found,) = estimate(program, tensors, 64).launches
    assert found.share == pytest.approx(1 / 300)
    with pytest.raises(CycleLimitError):
        estimate(program, tensors, 64, 100)
