"""What readers say of inputs: the first wrong element of an array, and warnings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnarl.hw.lib.errors import GnarlError, WorkloadError

FINITE = "must be finite in float64"
"""What every number must be that a file gives as an input."""

NOT_BELOW = "must be 0, or at least 5e-324, the smallest number of float64"
"""What every number must be that a file gives as an input, whatever its sign."""


class InputWarning(UserWarning):
    """What users should know of an input that is read all the same."""


def first_true(flags: np.ndarray) -> int | None:
    """Place of the first true one in bool [n], if there is one."""
    return int(np.argmax(flags)) if flags.any() else None


def refuse_first(
    wrong: np.ndarray, text: Callable[[int], str], error: type[GnarlError] = WorkloadError
) -> None:
    """Raises ``error`` with the ``text`` of the first true place in bool [n], if there is one."""
    at = first_true(wrong)
    if at is not None:
        raise error(text(at))


def refuse_not_finite(values: np.ndarray, name: Callable[[int], str]) -> None:
    """Raises ``WorkloadError`` for the first infinity or NaN in [n], called ``name(at)``."""
    refuse_first(~np.isfinite(values), lambda at: f"{name(at)} = {values[at]!s}: {FINITE}")
