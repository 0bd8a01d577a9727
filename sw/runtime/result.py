"""What a run returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Outputs:
    """Outputs by name: uint32 [k] words in the program's number format."""

    names: Sequence[str]
    words: np.ndarray


@dataclass(frozen=True)
class Result:
    """What a run returned.

    names
        of the outputs.
    outputs
        float64 [k], exactly what ``words`` stand for, in the order of ``names``.
    words
        uint32 [k], in the program's number format.
    cycles
        from start to done.
    counters
        the target's own, by name.
    """

    names: Sequence[str]
    outputs: np.ndarray
    words: np.ndarray
    cycles: int
    counters: dict[str, int]
