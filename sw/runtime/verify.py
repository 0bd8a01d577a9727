"""Compares what a machine returned with the golden model and with float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Verification:
    """How far results are from what they should be.

    bit_exact
        whether every output has the golden model's bits.
    difference
        the first output that is not what it must be, and how many; empty if all are.
    max_rel_error
        largest error of an output, relative to float64's value of the source workload. Infinite
        where one of the two is not finite and the other is something else.
    """

    bit_exact: bool
    difference: str
    max_rel_error: float


def compare(
    names: Sequence[str],
    bits: np.ndarray,
    golden_bits: np.ndarray,
    values: np.ndarray,
    reference: np.ndarray,
) -> Verification:
    """Compares ``k`` outputs.

    names [k]; bits and golden_bits, uint32 [k], in the number format; values, float64 [k], what
    ``bits`` stand for; reference, float64 [k].
    """
    wrong = np.flatnonzero(bits != golden_bits)
    difference = ""
    if len(wrong):
        first = int(wrong[0])
        difference = (
            f"{len(wrong)} of {len(bits)} outputs differ; the first is {names[first]}: "
            f"{int(bits[first]):#010x}, must be {int(golden_bits[first]):#010x}"
        )
    return Verification(not len(wrong), difference, max_relative_error(values, reference))


def max_relative_error(values: np.ndarray, reference: np.ndarray) -> float:
    """Largest ``|value - reference| / |reference|``; 0 where both are equal or both are NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(values - reference) / np.abs(reference)
    equal = (values == reference) | (np.isnan(values) & np.isnan(reference))
    error = np.where(equal, 0.0, np.where(np.isnan(error), np.inf, error))
    return float(error.max(initial=0.0))
