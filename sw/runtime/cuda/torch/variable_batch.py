"""Keyed jagged tensors whose keys have batches of their own sizes, as TorchRec has samples that
repeat: a batch as long as the longest is looked up, and its rows are given to samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch


def stride_varies(jagged: Any) -> bool:
    """Whether keys say that they have batches of their own sizes."""
    varies = getattr(jagged, "variable_stride_per_key", None)
    return varies is not None and bool(varies())


def padded_lengths(jagged: Any, lengths: torch.Tensor, keys: int) -> tuple[torch.Tensor, list[int]]:
    """[keys, longest batch], where samples that a key lacks have no values; and the samples of each
    key. Raises ``WorkloadError``."""
    strides = [int(each) for each in jagged.stride_per_key()]
    if len(strides) != keys or sum(strides) != lengths.shape[0]:
        raise WorkloadError(
            f"input: stride_per_key is {strides[:8]}, in all {sum(strides)} samples of "
            f"{len(strides)} keys: must be as lengths, {lengths.shape[0]} samples of {keys} keys"
        )
    longest = max(strides)
    rows = [
        torch.nn.functional.pad(row, (0, longest - row.shape[0])) for row in lengths.split(strides)
    ]
    return torch.stack(rows), strides


def sample_rows(
    jagged: Any, keys: Sequence[str], strides: Sequence[int] | None, batch: int, *, checked: bool
) -> torch.Tensor | None:
    """[keys, samples]: the row of each key's batch that is each sample's; ``None`` where these are
    the samples.

    strides
        the sizes of the keys' batches, where they are not all ``batch``.
    checked
        whether rows are looked at on a GPU, too, for which the host waits.

    Raises ``WorkloadError``.
    """
    inverse = getattr(jagged, "inverse_indices_or_none", lambda: None)()
    if inverse is None:
        if strides is not None and len({*strides}) > 1:
            raise WorkloadError(
                f"input: samples of keys differ in number, {strides[0]} of {keys[0]} and others: "
                "must be one batch size, or come with inverse_indices"
            )
        return None
    names, rows = inverse
    if rows.dim() != 2 or rows.shape[0] != len(names) or rows.dtype.is_floating_point:
        raise WorkloadError(
            f"inverse_indices: are {rows.dtype} {list(rows.shape)}: must be whole numbers "
            f"[{len(names)} keys, samples]"
        )
    place = {name: number for number, name in enumerate(names)}
    for key in keys:
        if key not in place:
            raise WorkloadError(f"inverse_indices: have no key {key}")
    chosen = torch.stack([rows[place[key]] for key in keys]).long()
    if not torch.compiler.is_compiling() and (checked or chosen.device.type == "cpu"):
        _check(chosen, keys, strides or [batch] * len(keys))
    return chosen


def rows_of_samples(
    pooled: torch.Tensor, dims: Sequence[int], rows: torch.Tensor | None
) -> torch.Tensor:
    """[samples, sum of dims] from [longest batch, sum of dims]."""
    if rows is None:
        return pooled
    parts = zip(pooled.split(list(dims), dim=1), rows, strict=True)
    return torch.cat([part.index_select(0, row) for part, row in parts], dim=1)


def _check(rows: torch.Tensor, keys: Sequence[str], strides: Sequence[int]) -> None:
    limits = torch.tensor(strides, device=rows.device)[:, None]
    wrong = (rows < 0) | (rows >= limits)
    if wrong.any():
        number, sample = wrong.nonzero()[0].tolist()
        raise WorkloadError(
            f"inverse_indices of {keys[number]}[{sample}] = {rows[number, sample]}: must be from 0 "
            f"to {strides[number] - 1}"
        )
