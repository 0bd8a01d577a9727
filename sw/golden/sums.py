"""Sums and maxima of runs of words, one after the other, as an adder with one register does it."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import Arithmetic, arithmetic

# With as many runs or fewer left, each is finished by itself.
_FEW = 32


def run_totals(words: np.ndarray, lengths: np.ndarray, operation: str, format: str) -> np.ndarray:
    """The total of each run of ``words`` (uint32 [n]): uint32 [runs].

    ``lengths`` (int [runs], together n) says how many words each run has; ``operation`` is ``add``
    or ``max``. A total begins with a copy of the run's first word and takes the others in their
    order; that of an empty run is the word 0. O(n + runs log runs), one NumPy step a position in
    runs while there are many.
    """
    unit = arithmetic(format)
    operator = Operation[operation.upper()]
    totals = np.zeros(len(lengths), np.uint32)
    by_length = np.argsort(-lengths, kind="stable")
    by_length = by_length[: np.count_nonzero(lengths)]
    firsts = (np.cumsum(lengths) - lengths)[by_length]
    sizes = lengths[by_length]
    totals[by_length] = words[firsts]
    # Runs of one word are done, and keep their bits.
    runs = np.searchsorted(-sizes, -1)
    if not runs:
        return totals
    numbers = unit.numbers(words)
    sums = numbers[firsts[:runs]]
    position = 1
    active = int(runs)
    while active > _FEW:
        sums[:active] = unit.apply(operator, sums[:active], numbers[firsts[:active] + position])
        position += 1
        active = int(np.searchsorted(-sizes[:active], -position))
    for run in range(active):
        rest = numbers[firsts[run] + position : firsts[run] + sizes[run]]
        rest = np.concatenate([sums[run : run + 1], rest])
        sums[run] = _sum(rest, format) if operation == "add" else _maximum(rest, unit)
    totals[by_length[:runs]] = unit.words(sums)
    return totals


def _sum(numbers: np.ndarray, format: str) -> np.ndarray:
    if isinstance(parse_format(format), FloatFormat):
        with np.errstate(all="ignore"):
            return np.add.accumulate(numbers)[-1]
    # Sums that wrap may wrap at the end.
    return numbers.sum()


def _maximum(numbers: np.ndarray, unit: Arithmetic) -> np.ndarray:
    """Maxima may be taken in any order."""
    while len(numbers) > 1:
        pairs = len(numbers) // 2
        taken = unit.apply(Operation.MAX, numbers[:pairs], numbers[pairs : 2 * pairs])
        numbers = np.concatenate([taken, numbers[2 * pairs :]])
    return numbers[0]
