"""Leaves values out of packed inputs, without the host knowing how many."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.sw.runtime.cuda.torch.extra import torch


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
