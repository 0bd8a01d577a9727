"""The golden model of optimizers' steps: NumPy in float32, with the bits of the kernels.

Rows are those that a batch looked up, each once, with the sum of their gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnarl.sw.compiler.cuda.backward import TableClass
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.stochastic_rounding import random_words, round_stochastically


@dataclass(frozen=True)
class TableStep:
    """One step of some rows of a table.

    rows, gradient
        float32 [rows, dim].
    states
        float32, of the same rows, which the step changes.
    numbers
        float32: the learning rate, and what else kernels are given, as ``step_numbers`` has it.
    kind
        how kernels cut a row into vectors, which is how squares are added up.
    """

    rows: np.ndarray
    gradient: np.ndarray
    states: Sequence[np.ndarray]
    numbers: np.ndarray
    kind: TableClass

    def taken(self, optimizer: Optimizer) -> np.ndarray:
        """The rows after the step of the optimizer, in float32."""
        with np.errstate(all="ignore"):
            return _STEPS[type(optimizer)](self._decayed(optimizer), optimizer)

    def rounded(
        self, optimizer: Optimizer, taken: np.ndarray, table: int, rows: np.ndarray
    ) -> np.ndarray:
        """What a float16 table has of rows after the step, by the table's and the rows' numbers."""
        if not optimizer.stochastic_rounding:
            with np.errstate(all="ignore"):
                return taken.astype(np.float16)
        words = np.ascontiguousarray(self.numbers[3:]).view(np.uint32)
        return round_stochastically(taken, random_words(rows, taken.shape[1], table, words))

    def _decayed(self, optimizer: Optimizer) -> TableStep:
        """The step with the optimizer's weight decay in its rows or gradient."""
        decay = np.float32(optimizer.weight_decay)
        if not decay:
            return self
        if optimizer.decoupled:
            return replace(self, rows=(1 - self.numbers[0] * decay) * self.rows)
        return replace(self, gradient=self.gradient + decay * self.rows)

    @property
    def mean_of_squares(self) -> np.ndarray:
        """Of each row's gradient, [rows]."""
        count, dim = self.gradient.shape
        kind = self.kind
        padded = np.zeros((count, kind.chunks * kind.lanes * kind.vector), np.float32)
        padded[:, :dim] = self.gradient
        sums = np.zeros((count, kind.lanes), np.float32)
        vectors = padded.reshape(count, kind.chunks, kind.lanes, kind.vector)
        for chunk in range(kind.chunks):
            for place in range(kind.vector):
                values = vectors[:, chunk, :, place]
                sums = fused_multiply_add(values, values, sums)
        lanes = np.arange(kind.lanes)
        distance = 1
        while distance < kind.lanes:
            sums = sums + sums[:, lanes ^ distance]
            distance *= 2
        return sums[:, 0] / np.float32(dim)


def step_numbers(optimizer: Optimizer, learning_rate: np.float32, iteration: int) -> np.ndarray:
    """What the kernels of the optimizer are given, float32. ``iteration``: from 1 on.

    The learning rate; of Adam, 1 less either beta to the power of the iteration; with stochastic
    rounding, behind two numbers in any case, the bits of the iteration and of the seed's halves.
    """
    numbers = np.ones(3, np.float32)
    numbers[0] = learning_rate
    if isinstance(optimizer, Adam | PartialRowWiseAdam):
        numbers[1:] = 1 - np.array([optimizer.beta1, optimizer.beta2]) ** iteration
    if optimizer.stochastic_rounding:
        words = np.array([iteration, optimizer.seed, optimizer.seed >> 32], object) & 0xFFFFFFFF
        return np.concatenate([numbers, words.astype(np.uint32).view(np.float32)])
    return numbers if isinstance(optimizer, Adam | PartialRowWiseAdam) else numbers[:1]


def fused_multiply_add(one: np.ndarray, other: np.ndarray, added: np.ndarray) -> np.ndarray:
    """``one * other + added`` in float32, rounded once.

    Products are exact in float64. Sums are rounded to odd there, so that rounding them again does
    what rounding the exact sum would.
    """
    product = one.astype(np.float64) * other
    addend = np.asarray(added, np.float64)
    total = product + addend
    rounded = total - product
    error = (product - (total - rounded)) + (addend - rounded)
    even = total.view(np.int64) % 2 == 0
    inexact = np.isfinite(total) & (error != 0)
    odd = np.where(inexact & even, np.nextafter(total, np.copysign(np.inf, error)), total)
    return odd.astype(np.float32)


def _sgd(step: TableStep, _: Any) -> np.ndarray:
    return fused_multiply_add(-step.numbers[:1], step.gradient, step.rows)


def _adagrad(step: TableStep, optimizer: Adagrad) -> np.ndarray:
    (state,) = step.states
    state += step.gradient * step.gradient
    update = step.gradient / (np.sqrt(state) + np.float32(optimizer.eps))
    return step.rows + -step.numbers[0] * update


def _row_wise_adagrad(step: TableStep, optimizer: RowWiseAdagrad) -> np.ndarray:
    (state,) = step.states
    state += step.mean_of_squares
    rates = step.numbers[0] / (np.sqrt(state) + np.float32(optimizer.eps))
    return fused_multiply_add(-rates[:, None], step.gradient, step.rows)


def _adam(step: TableStep, optimizer: Adam) -> np.ndarray:
    first, second = step.states
    _move(first, step.gradient, optimizer.beta1)
    _move(second, step.gradient * step.gradient, optimizer.beta2)
    return _descend_by_moments(step, optimizer, second)


def _partial_row_wise_adam(step: TableStep, optimizer: PartialRowWiseAdam) -> np.ndarray:
    first, second = step.states
    _move(first, step.gradient, optimizer.beta1)
    _move(second, step.mean_of_squares, optimizer.beta2)
    return _descend_by_moments(step, optimizer, second[:, None])


def _move(moment: np.ndarray, values: np.ndarray, beta: float) -> None:
    moment[...] = np.float32(beta) * moment + np.float32(1 - beta) * values


def _descend_by_moments(
    step: TableStep, optimizer: Adam | PartialRowWiseAdam, second: np.ndarray
) -> np.ndarray:
    rate, of_first, of_second = step.numbers[:3]
    divisor = np.sqrt(second / of_second) + np.float32(optimizer.eps)
    return step.rows + -rate * (step.states[0] / of_first / divisor)


_STEPS: dict[type[Optimizer], Callable[[TableStep, Any], np.ndarray]] = {
    SGD: _sgd,
    Adagrad: _adagrad,
    RowWiseAdagrad: _row_wise_adagrad,
    Adam: _adam,
    PartialRowWiseAdam: _partial_row_wise_adam,
}
