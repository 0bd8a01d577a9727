"""Truncated normal distributions beyond what other tests draw from."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.workloads.embedding.truncated_normal import TruncatedNormal


@pytest.mark.parametrize("std", [1e-300, 1e-320, 5e-324])
def test_a_deviation_below_all_others_is_a_step_at_the_mean(std: float) -> None:
    normal = TruncatedNormal(5.0, std, 0.0, 9.0)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        below = normal.probability_below(np.array([0.0, 4.9, 5.0, 5.1, 9.0]))
        values = normal.quantiles(np.array([0.0, 0.25, 0.75, 1.0]))
    assert below.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert values.tolist() == [0.0, 5.0, 5.0, 9.0]
