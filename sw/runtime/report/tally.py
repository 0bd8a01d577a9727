"""What outputs are beside float64: their errors, and which are not finite, or lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counted:
    """Some of the outputs: ``count`` of so many; ``first``: the first one's name and value."""

    count: int
    of: int
    first: str

    def text(self, what: str) -> str:
        """The count as people read it: ``3 of 8 outputs WHAT; the first is x[1] = nan``."""
        if self.of == 1:
            return f"1 of 1 output {what}: {self.first}"
        return f"{self.count:,} of {self.of:,} outputs {what}; the first is {self.first}"


class Tally:
    """Adds up over tensors; its results are fields of
    ``gnarl.sw.runtime.report.verify.Verification``."""

    def __init__(self) -> None:
        self._of = 0
        self._error = math.nan
        self._not_finite = _Count()
        self._lost = _Count()

    def add(self, values: np.ndarray, reference: np.ndarray, name: Callable[[int], str]) -> None:
        """One tensor's outputs and the same in float64, float64 [n]; ``name(at)`` of one. O(n)."""
        self._of += len(values)
        self._error = float(np.fmax(self._error, max_relative_error(values, reference)))
        self._not_finite.add(~np.isfinite(values), values, reference, name)
        self._lost.add(_is_lost(values, reference), values, reference, name)

    @property
    def max_rel_error(self) -> float:
        return self._error if self._of else 0.0

    @property
    def not_finite(self) -> Counted | None:
        return self._not_finite.result(self._of)

    @property
    def lost(self) -> Counted | None:
        return self._lost.result(self._of)


def max_relative_error(values: np.ndarray, reference: np.ndarray) -> float:
    """Largest ``|value - reference| / |reference|``, 0 where both are equal.

    Infinite where one is not finite and the other is something else. Where both are the same
    infinity, or NaN, there is no error to compare: NaN if that, or nothing, is all there is.
    """
    with np.errstate(all="ignore"):
        error = np.abs(values - reference) / np.abs(reference)
    equal = values == reference
    error = np.where(equal, 0.0, np.where(np.isnan(error), np.inf, error))
    none = equal & np.isinf(values) | np.isnan(values) & np.isnan(reference)
    return float(error[~none].max()) if not none.all() else math.nan


class _Count:
    """Counts outputs of some kind."""

    def __init__(self) -> None:
        self._count, self._first = 0, ""

    def add(
        self,
        found: np.ndarray,
        values: np.ndarray,
        reference: np.ndarray,
        name: Callable[[int], str],
    ) -> None:
        places = np.flatnonzero(found)
        if len(places) and not self._count:
            at = int(places[0])
            self._first = f"{name(at)} = {values[at]:g}, in float64 {reference[at]:g}"
        self._count += len(places)

    def result(self, of: int) -> Counted | None:
        return Counted(self._count, of, self._first) if self._count else None


def _is_lost(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Whether it is 0, infinite or NaN, and the reference is not."""
    kinds = (lambda numbers: numbers == 0, np.isinf, np.isnan)
    return np.logical_or.reduce([kind(values) & ~kind(reference) for kind in kinds])
