"""Times that an H200 was recorded with: docs/results/cuda.md, what a launch costs, cold, with the
cost model's schedules; medians of four batches."""

from __future__ import annotations

SAMPLES = (1, 8, 32, 128, 512, 2048)
BATCHES = 4
COMMIT = "00dc36345e53f94a4f83e6d8818141e2a1c7ceb7"

COLD_US = {
    "A": (21.71, 27.20, 51.41, 120.42, 375.79, 1381.87),
    "B": (10.75, 15.89, 22.70, 41.55, 111.52, 381.76),
    "C": (12.51, 19.25, 33.94, 84.00, 248.85, 886.66),
    "D": (11.30, 17.82, 25.38, 51.60, 113.34, 323.82),
    "E": (17.52, 26.14, 38.78, 91.36, 272.21, 946.06),
}
"""By model, for each of ``SAMPLES``."""

FITTED = ("B", "D", "E")
"""Models whose rows the constants were fitted to; the others check them."""
