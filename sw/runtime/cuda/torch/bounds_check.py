"""Offsets and indices that are out of range: found, and set within it, on the inputs' device, which
the host does not wait for. What is bad, and what becomes of it, is as in FBGEMM's
``bounds_check_indices``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.bag_bounds import stacked_bounds
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs
from gnarl.sw.workloads.embedding.model import EmbeddingModel

MODES = ("fatal", "warning", "ignore")


class BoundsCheck(torch.nn.Module):
    """What is done before lookups about offsets and indices out of range.

    mode
        ``fatal``: they are an error, on a GPU of its own, which later calls report. ``warning``:
        they are counted, and repaired. ``ignore``: they are repaired.

    A bad index becomes 0; an offset is made at least the one before, and at most the number of
    values. The buffer ``found``, int64 [], is the number of bad bags and indices. Raises
    ``WorkloadError`` for another mode.
    """

    limits: torch.Tensor
    found: torch.Tensor

    def __init__(self, model: EmbeddingModel, mode: str) -> None:
        super().__init__()
        if mode not in MODES:
            raise WorkloadError(f"bounds_check_mode = {mode!r}: must be one of {', '.join(MODES)}")
        self.mode = mode
        self._names = [feature.name for feature in model.features]
        limits = [[feature.first_index, feature.rows] for feature in model.features]
        self.register_buffer("limits", torch.tensor(limits).T.contiguous(), persistent=False)
        self.register_buffer("found", torch.zeros((), dtype=torch.int64), persistent=False)
        self._warned = False

    def stacked(
        self, rows: Sequence[torch.Tensor], counts: Sequence[int], names: Sequence[str]
    ) -> torch.Tensor:
        """What ``stacked_bounds`` gives, of the offsets of each feature among its values."""
        if self.mode == "fatal" and rows[0].device.type == "cpu":
            return stacked_bounds(rows, counts, names)
        given = torch.stack([row.long() for row in rows])
        pairs = zip(rows, counts, strict=True)
        within = torch.stack([row.long().clamp(0, count) for row, count in pairs])
        begins = torch.zeros_like(within[:, :1])
        bounds = torch.cat([begins, within[:, 1:]], dim=1).cummax(1).values
        shifted = (given[:, :1] != begins).sum()
        self._report(shifted + _bad_bags(given, within, bounds))
        return bounds

    def forward(self, inputs: PackedInputs, *, whole: bool) -> PackedInputs:
        """The inputs of a lookup.

        whole
            whether all values must be in bags, as those of keyed jagged tensors: the last offset
            becomes their number.
        """
        features = len(self._names)
        batch = (inputs.offsets.shape[0] - 1) // features
        if not batch:
            return inputs
        if whole:
            inputs = replace(inputs, offsets=self._offsets(inputs))
        values = inputs.values
        ends = inputs.offsets[1:].view(features, batch)[:, -1].contiguous()
        steps = torch.arange(values.shape[0], dtype=ends.dtype, device=ends.device)
        feature = torch.searchsorted(ends, steps, right=True).clamp(max=features - 1)
        least, rows = self.limits.to(values.device)
        bad = ((values < least[feature]) | (values >= rows[feature])) & (steps < ends[-1])
        if self.mode == "fatal" and values.device.type == "cpu":
            self._refuse(values, feature, bad)
        self._report(bad.sum())
        return inputs if self.mode == "fatal" else replace(inputs, values=values.where(~bad, 0))

    def _offsets(self, inputs: PackedInputs) -> torch.Tensor:
        count = inputs.values.shape[0]
        given = torch.cat([inputs.offsets[:-1], inputs.offsets.new_full((1,), count)])
        within = given.clamp(0, count)
        offsets = within.cummax(0).values
        another_end = (inputs.offsets[-1:] != count).sum()
        self._report(another_end + _bad_bags(given[None], within[None], offsets[None]))
        return inputs.offsets if self.mode == "fatal" else offsets

    def _report(self, bad: torch.Tensor) -> None:
        if self.mode == "warning":
            self.found += bad
            if bad.device.type == "cpu" and not torch.compiler.is_compiling():
                self._warn()
        elif self.mode == "fatal":
            torch._assert_async(
                bad == 0,
                "embedding bags: offsets or indices are out of range, as checked=True says",
            )

    def _warn(self) -> None:
        if self.found and not self._warned:
            self._warned = True
            warnings.warn(
                "embedding bags: offsets or indices were out of range and are set within it; "
                "bounds_check_warnings() counts them",
                stacklevel=2,
            )

    def _refuse(self, values: torch.Tensor, feature: torch.Tensor, bad: torch.Tensor) -> None:
        """Names the first bad index, on the CPU."""
        if torch.compiler.is_compiling() or not bad.any():
            return
        at = int(bad.int().argmax())
        number = int(feature[at])
        first = int((feature == number).int().argmax())
        least, rows = self.limits[:, number].tolist()
        raise WorkloadError(
            f"indices of {self._names[number]}[{at - first}] = {values[at]}: must be from {least} "
            f"to {rows - 1}"
        )


def _bad_bags(given: torch.Tensor, within: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
    """How many bags have an offset that is out of range; a begin is what the bag before left.

    given, within, bounds
        offsets [.., bags + 1] as they were, each in range, and repaired.
    """
    ends = given[:, 1:]
    bad = (bounds[:, :-1] > ends) | (ends > within[:, 1:])
    bad[:, :1] |= given[:, :1] < 0
    return bad.sum()
