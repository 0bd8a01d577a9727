"""The normal distribution, truncated to an interval: its distribution function and quantiles.

Not ``scipy.stats.truncnorm``, whose quantiles differ in their last bits and take ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri


@dataclass(frozen=True)
class TruncatedNormal:
    """A normal distribution with ``mean`` and ``std`` > 0, restricted to ``low < high``.

    ``low`` is at most ``mean``, and ``high`` at least 30 standard deviations below it: further down
    float64 has no probabilities.
    """

    mean: float
    std: float
    low: float
    high: float

    def probability_below(self, values: np.ndarray) -> np.ndarray:
        """P(X <= values), float64 in the shape of ``values``."""
        below_low, inside = self._inside
        inner = np.clip(values, self.low, self.high)
        return (self._untruncated_below(inner) - below_low) / inside

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The values with P(X <= value) = share, for shares from 0 to 1."""
        below_low, inside = self._inside
        deviations = ndtri(below_low + shares * inside)
        return np.clip(self.mean + self.std * deviations, self.low, self.high)

    @property
    def _inside(self) -> tuple[float, float]:
        """The untruncated distribution's probability below ``low``, and from there to ``high``."""
        low, high = self._untruncated_below(np.array([self.low, self.high]))
        return float(low), float(high - low)

    def _untruncated_below(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # infinitely many deviations away, as it should be
            return ndtr((values - self.mean) / self.std)
