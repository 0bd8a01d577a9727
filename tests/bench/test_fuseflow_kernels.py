"""The benchmark of unfused models' kernels on one fabric."""

from __future__ import annotations

import numpy as np
import pytest

from bench.fuseflow_parts import kernels
from bench.fuseflow_parts.kernels import ATTENTION, GCN, METRICS, Job
from bench.lib.records import Record, records


def measured(*cycles: tuple[str, str, int, int]) -> list[Record]:
    """Records of kernels: model, name, cycles of the RTL and of the model."""
    made: list[Record] = []
    for model, kernel, rtl, simulated in cycles:
        difference = 100 * (simulated / rtl - 1)
        values = {"rtl": rtl, "model": simulated, "difference": difference, "error": 0.0}
        labels = {"model": model, "kernel": kernel}
        setting = Job(model, True, 0).setting()
        made += records(kernels.BENCH, labels, {**values, "bit_exact": True}, METRICS, setting)
    return made


def test_attention_on_the_model():
    values = kernels.measure(Job(ATTENTION, on_rtl=False, seed=0))
    assert len(values) == 17
    assert all(each["bit_exact"] and each["model"] for each in values.values())
    assert not any("rtl" in each for each in values.values())


def test_cycles_are_over_the_fastest_kernel_of_a_model():
    found = kernels.normalised(
        measured((GCN, "a", 20, 10), (GCN, "b", 40, 40), (ATTENTION, "c", 300, 600))
    )
    assert found.tolist() == [[2, 1], [4, 4], [1, 2]]


@pytest.mark.parametrize(
    ("predicted", "expected"), [([1, 2, 3], 1.0), ([2, 2, 2], 0.0), ([3, 2, 1], -3.0)]
)
def test_determination(predicted, expected):
    found = kernels.determination(np.array([1, 2, 3]), np.array(predicted))
    assert found == pytest.approx(expected)


def test_verdict():
    lines = kernels.verdict(measured((GCN, "a", 100, 100), (GCN, "b", 200, 150)))
    assert "kernels of one build: 2 (2 of GCN" in lines
    assert "R² of the model's cycles, 0.5000, at least 0.991 ✘" in lines
    assert "same cycles: 1 of 2; largest difference 25.0 %" in lines
