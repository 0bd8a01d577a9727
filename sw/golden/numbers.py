"""Numbers that golden models of tensors compute with: words of a format, and float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.sums import run_totals
from gnarl.sw.golden.words import from_words, to_words


class Numbers(Protocol):
    """What a relation's numbers are, and what is computed with them."""

    dtype: np.dtype

    def of(self, values: np.ndarray) -> np.ndarray:
        """Numbers from float64."""

    def reals(self, numbers: np.ndarray) -> np.ndarray:
        """Float64 of numbers that are known exactly."""

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """``operation`` is add, sub, mul, max or min."""

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        """A function of one number."""

    def totals(self, operation: str, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Sums (add) or maxima (max) of runs of numbers; ``lengths`` are at least 1."""

    def keeps_zero(self, function: str) -> bool:
        """Whether a function is 0 at 0."""


class Words:
    """Arithmetic of words of a format, uint32, as the hardware's; sums are in order."""

    dtype = np.dtype(np.uint32)

    def __init__(self, format: str) -> None:
        self._format = format
        self._unit = arithmetic(format)

    def of(self, values: np.ndarray) -> np.ndarray:
        return to_words(values, self._format)

    def reals(self, numbers: np.ndarray) -> np.ndarray:
        return from_words(numbers, self._format)

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        unit = self._unit
        operator = Operation[operation.upper()]
        return unit.words(unit.apply(operator, unit.numbers(left), unit.numbers(right)))

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        # Its tables are made on import, and few statements need them.
        from gnarl.hw.lib.functions.function import Function
        from gnarl.sw.golden import functions

        return functions.apply(Function[function.upper()], numbers, self._format)  # type: ignore

    def totals(self, operation: str, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return run_totals(numbers, lengths, operation, self._format)

    def keeps_zero(self, function: str) -> bool:
        return bool(self.call(function, np.zeros(1, self.dtype))[0] == 0)


class Reals:
    """The same with float64."""

    dtype = np.dtype(np.float64)

    _OPERATIONS: Mapping[str, np.ufunc] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
    }

    def of(self, values: np.ndarray) -> np.ndarray:
        return values

    def reals(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def apply(self, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return self._OPERATIONS[operation](left, right)

    def call(self, function: str, numbers: np.ndarray) -> np.ndarray:
        from scipy.special import erfc, expit  # takes long, and few statements need it

        functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "relu": lambda x: np.maximum(x, 0.0),
            "exp": np.exp,
            "reciprocal": lambda x: 1 / x,
            "sqrt": np.sqrt,
            "gelu": lambda x: x * erfc(-x / math.sqrt(2)) / 2,
            "sigmoid": expit,
            "tanh": np.tanh,
            "log": np.log,
        }
        return functions[function](numbers)

    def totals(self, operation: str, numbers: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        if not len(lengths):
            return np.zeros(0)
        return self._OPERATIONS[operation].reduceat(numbers, np.cumsum(lengths) - lengths)

    def keeps_zero(self, function: str) -> bool:
        return bool(self.call(function, np.zeros(1, self.dtype))[0] == 0)
