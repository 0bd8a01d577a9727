"""The normal distribution, truncated to an interval: its distribution function and quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp


@dataclass(frozen=True)
class TruncatedNormal:
    """A normal distribution with ``mean`` and ``std`` > 0, restricted to ``low .. high``.

    ``low`` is at most ``mean``; ``high`` may be infinite, or any number of standard deviations
    below the mean, since logarithms of the lower tail are computed with.
    """

    mean: float
    std: float
    low: float
    high: float

    def probability_below(self, values: np.ndarray) -> np.ndarray:
        """P(X <= values), float64 in the shape of ``values``."""
        log_low, log_high = self._log_tails
        logs = log_ndtr((np.clip(values, self.low, self.high) - self.mean) / self.std)
        outside = np.exp(log_low - log_high)
        return (np.exp(logs - log_high) - outside) / -np.expm1(log_low - log_high)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """The values with P(X <= value) = share, for shares from 0 to 1."""
        log_low, log_high = self._log_tails
        outside = np.exp(log_low - log_high)
        with np.errstate(divide="ignore"):
            logs = log_high + np.log(shares + (1.0 - shares) * outside)
        deviations = ndtri_exp(np.minimum(logs, 0.0))
        return np.clip(self.mean + self.std * deviations, self.low, self.high)

    @property
    def _log_tails(self) -> tuple[float, float]:
        low, high = (self.low - self.mean) / self.std, (self.high - self.mean) / self.std
        return float(log_ndtr(low)), float(log_ndtr(high))
