"""Optimizers of embedding tables whose steps are part of the backward kernels.

A step is taken for the rows that a batch looks up, once for each, with the sum of their gradients.
Rows that are not looked up keep their values and states, as they do in PyTorch's dense optimizers
without momentum and weight decay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError


def _in_float32(number: float) -> float:
    with np.errstate(over="ignore"):
        try:
            return float(np.float32(number))
        except OverflowError:  # of a whole number
            return math.inf


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Options of all optimizers.

    weight_decay
        how much of a row is added to its gradient, in the steps that it takes.
    stochastic_rounding
        whether rows of float16 tables are rounded up or down at random, each the likelier the
        nearer it is, rather than to nearest.
    seed
        of what is random: it, the iteration and an element's place say all.
    """

    weight_decay: float = 0.0
    stochastic_rounding: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.stochastic_rounding, bool):
            raise self._bad("stochastic_rounding", "True or False")
        if type(self.seed) is not int or not 0 <= self.seed < 2**64:
            raise self._bad("seed", "a whole number from 0 to below 2^64")
        self._require("weight_decay", lambda decay: 0 <= decay < math.inf, "0 or a positive number")

    @property
    def decoupled(self) -> bool:
        return False

    def _require_positive(self, name: str) -> None:
        self._require(name, lambda number: 0 < number < math.inf, "a positive number")

    def _require(self, name: str, holds: Callable[[float], bool], requirement: str) -> None:
        """Raises ``WorkloadError`` unless the field is a number of which that holds, in float32
        too, which kernels have."""
        value = getattr(self, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not holds(value):
            raise self._bad(name, requirement)
        rounded = _in_float32(value)
        if not holds(rounded):
            raise self._bad(name, f"{requirement} in float32, where it is {rounded:g}")

    def _bad(self, name: str, requirement: str) -> WorkloadError:
        """What is raised for a field that is not as required."""
        return WorkloadError(
            f"optimizer {type(self).__name__}: {name} = {getattr(self, name)!r}: "
            f"must be {requirement}"
        )


@dataclass(frozen=True, kw_only=True)
class _OptionsOfDecay(_Options):
    """``weight_decay_mode``: ``l2``, or ``decoupled`` from the gradient, as in ``AdamW``:
    ``row *= 1 - lr * weight_decay``."""

    weight_decay_mode: str = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight_decay_mode not in ("l2", "decoupled"):
            raise self._bad("weight_decay_mode", "'l2' or 'decoupled'")

    @property
    def decoupled(self) -> bool:
        return self.weight_decay_mode == "decoupled"


@dataclass(frozen=True)
class SGD(_Options):
    """``row -= lr * gradient``, as ``torch.optim.SGD``."""

    lr: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("lr")


@dataclass(frozen=True)
class Adagrad(_Options):
    """``state += gradient ** 2; row -= lr * gradient / (sqrt(state) + eps)``, as
    ``torch.optim.Adagrad``. State: [rows, dim]."""

    lr: float
    eps: float = 1e-10

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("lr")
        self._require_positive("eps")


@dataclass(frozen=True)
class RowWiseAdagrad(_OptionsOfDecay):
    """``state += mean(gradient ** 2); row -= lr / (sqrt(state) + eps) * gradient``, as FBGEMM's
    ``EXACT_ROWWISE_ADAGRAD``. State: [rows]."""

    lr: float
    eps: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("lr")
        self._require_positive("eps")


@dataclass(frozen=True)
class _Adam(_OptionsOfDecay):
    """``first += (1 - beta1) * (gradient - first)``, ``second`` likewise with ``beta2`` and the
    squares; ``row -= lr * corrected(first) / (sqrt(corrected(second)) + eps)``, where a moment is
    corrected by ``1 - beta ** iteration``."""

    lr: float
    eps: float = 1e-8
    beta1: float = 0.9
    beta2: float = 0.999

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("lr")
        self._require_positive("eps")
        for name in ("beta1", "beta2"):
            self._require(name, lambda beta: 0 <= beta < 1, "a number from 0 to below 1")


@dataclass(frozen=True)
class Adam(_Adam):
    """Adam with moments of each element, as FBGEMM's ``ADAM``. States: [rows, dim] each.

    Iterations are those of the module: backward passes, whichever rows they look up.
    """


@dataclass(frozen=True)
class PartialRowWiseAdam(_Adam):
    """Adam whose second moment is that of the mean of ``gradient ** 2``, as FBGEMM's
    ``PARTIAL_ROWWISE_ADAM``. States: [rows, dim], [rows]."""


Optimizer = SGD | Adagrad | RowWiseAdagrad | Adam | PartialRowWiseAdam
_BY_NAME: dict[str, type[Optimizer]] = {
    kind.__name__: kind for kind in (SGD, Adagrad, RowWiseAdagrad, Adam, PartialRowWiseAdam)
}


def counts_iterations(optimizer: Optimizer) -> bool:
    """Whether its steps depend on how many there were."""
    return isinstance(optimizer, _Adam) or optimizer.stochastic_rounding


def optimizer_fields(optimizer: Optimizer | None) -> dict[str, Any] | None:
    """Its name and its fields, as JSON has them, without options that are as they are by
    default."""
    if optimizer is None:
        return None
    options = {each.name: each.default for each in fields(optimizer) if each.kw_only}
    found = asdict(optimizer).items()
    chosen = {name: value for name, value in found if (name, value) not in options.items()}
    return {"name": type(optimizer).__name__, **chosen}


def optimizer_of(found: dict[str, Any] | None) -> Optimizer | None:
    """The optimizer with the fields that ``optimizer_fields`` gave. Raises ``LookupError`` or
    ``TypeError`` for others."""
    if found is None:
        return None
    parameters = {name: value for name, value in found.items() if name != "name"}
    return _BY_NAME[found["name"]](**parameters)
