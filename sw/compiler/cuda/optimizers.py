"""Optimizers of embedding tables whose steps are part of the backward kernels.

A step is taken for the rows that a batch looks up, once for each, with the sum of their gradients.
Rows without gradients keep their values and states, as they do in PyTorch's dense optimizers
without momentum and weight decay.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from gnarl.hw.lib.errors import WorkloadError


@dataclass(frozen=True)
class SGD:
    """``row -= lr * gradient``, as ``torch.optim.SGD``."""

    lr: float

    def __post_init__(self) -> None:
        _require_positive(self, "lr", self.lr)


@dataclass(frozen=True)
class Adagrad:
    """``state += gradient ** 2; row -= lr * gradient / (sqrt(state) + eps)``, as
    ``torch.optim.Adagrad``. State: [rows, dim]."""

    lr: float
    eps: float = 1e-10

    def __post_init__(self) -> None:
        _require_positive(self, "lr", self.lr)
        _require_positive(self, "eps", self.eps)


@dataclass(frozen=True)
class RowWiseAdagrad:
    """``state += mean(gradient ** 2); row -= lr / (sqrt(state) + eps) * gradient``, as FBGEMM's
    ``EXACT_ROWWISE_ADAGRAD``. State: [rows]."""

    lr: float
    eps: float = 1e-8

    def __post_init__(self) -> None:
        _require_positive(self, "lr", self.lr)
        _require_positive(self, "eps", self.eps)


Optimizer = SGD | Adagrad | RowWiseAdagrad
_BY_NAME: dict[str, type[Optimizer]] = {
    kind.__name__: kind for kind in (SGD, Adagrad, RowWiseAdagrad)
}


def optimizer_fields(optimizer: Optimizer | None) -> dict[str, Any] | None:
    """Its name and its fields, as JSON has them."""
    if optimizer is None:
        return None
    return {"name": type(optimizer).__name__, **asdict(optimizer)}


def optimizer_of(fields: dict[str, Any] | None) -> Optimizer | None:
    """The optimizer with the fields that ``optimizer_fields`` gave. Raises ``LookupError`` or
    ``TypeError`` for others."""
    if fields is None:
        return None
    parameters = {name: value for name, value in fields.items() if name != "name"}
    return _BY_NAME[fields["name"]](**parameters)


def _require_positive(optimizer: object, name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise WorkloadError(
            f"optimizer {type(optimizer).__name__}: {name} = {value!r}: must be a positive number"
        )
