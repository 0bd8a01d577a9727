"""Leaves values out of packed inputs, without the host knowing how many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.sw.runtime.cuda.torch.extra import is_recorded, torch


def is_within(bounds: torch.Tensor, counts: Sequence[int]) -> torch.Tensor:
    """Bool [values]: whether each value, of features one behind the other, is before the end of its
    feature's last bag.

    bounds, counts
        as ``stacked_bounds`` has them.
    """
    steps = torch.arange(sum(counts), device=bounds.device)
    places = torch.cat([steps[:count] for count in counts])
    pairs = zip(bounds[:, -1:].unbind(), counts, strict=True)
    return places < torch.cat([end.expand(count) for end, count in pairs])


def kept_first(kept: torch.Tensor) -> torch.Tensor:
    """int64 [values]: the places of what is kept, bool [values], in their order, and then those of
    the rest."""
    before = kept.cumsum(0)
    steps = torch.arange(kept.shape[0], device=kept.device)
    target = torch.where(kept, before - 1, kept.sum() + steps - before)
    return torch.empty_like(steps).scatter_(0, target, steps)


def reordered(weights: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """``weights[order]``, of all places once, differentiable in several passes."""
    if is_recorded():
        return weights[order]
    return _Reordered.apply(weights, order)


class _Reordered(torch.autograd.Function):
    """Keeps the order, which PyTorch's operator gives up after the first pass."""

    @staticmethod
    def forward(ctx: Any, weights: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        ctx.order = order
        return weights[order]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.empty_like(gradient).index_copy(0, ctx.order, gradient), None
