"""What a SAM program should compute: by its statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sw.compiler.sam.sections import statement_of
from sw.golden.sam import evaluate, reference
from sw.golden.words import from_words
from sw.program.program import Program
from sw.runtime.result import Result
from sw.runtime.sam.image import entry_names, operands
from sw.runtime.verify import Verification, compare


def verify(program: Program, inputs: Mapping[str, Any], result: Result) -> Verification:
    """Compares a result with the golden model and with float64, entry by entry.

    What is no entry is zero: an explicit zero, of either sign, and an absent one are equal.
    """
    found = operands(program, inputs)
    statement = statement_of(program.sections)
    tensor = statement.result.tensor
    expected = _by_name(tensor, *evaluate(statement, found.tensors, program.format))
    exact = _by_name(tensor, *reference(statement, found.tensors))
    got = dict(zip(result.names, result.words.tolist(), strict=True))
    names = list(dict.fromkeys([*result.names, *expected, *exact]))
    words = _one_zero([got.get(name, 0) for name in names], program.format)
    return compare(
        names,
        words,
        _one_zero([expected.get(name, 0) for name in names], program.format),
        from_words(words, program.format),
        np.array([exact.get(name, 0.0) for name in names], np.float64),
    )


def _one_zero(words: list[int], format: str) -> np.ndarray:
    """The words, uint32, with 0 for a negative zero: whether zeros are entries sets their signs."""
    found = np.array(words, np.uint32)
    found[from_words(found, format) == 0] = 0
    return found


def _by_name(tensor: str, coordinates: np.ndarray, numbers: np.ndarray) -> dict[str, Any]:
    return dict(zip(entry_names(tensor, coordinates), numbers.tolist(), strict=True))
