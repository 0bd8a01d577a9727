"""Counters in the course of a run."""

from __future__ import annotations

import numpy as np

from gnarl.sw.program.rows import Samples

SAMPLES = Samples(
    20,
    {
        "few": (np.array([0, 20]), np.array([0, 5])),
        "more": (np.array([0, 4, 12, 20]), np.array([0, 4, 4, 8])),
    },
)


def test_edges_are_the_samples_of_the_counter_that_has_most() -> None:
    assert SAMPLES.edges().tolist() == [0, 4, 12, 20]


def test_rates_are_even_from_sample_to_sample() -> None:
    edges = SAMPLES.edges()
    assert SAMPLES.rates("few", edges).tolist() == [0.25] * 3
    assert SAMPLES.rates("more", edges).tolist() == [1.0, 0.0, 0.5]
    assert SAMPLES.rates("more", np.array([0, 8, 20])).tolist() == [0.5, 4 / 12]
