"""Embeddings of the samples of a feature, which differ in number, as TorchRec offers them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch


def jagged_tensor_type() -> Callable[..., Any] | None:
    """TorchRec's ``JaggedTensor``, if somebody has imported that; arguments are those of
    ``JaggedEmbeddings``."""
    module = sys.modules.get("torchrec.sparse.jagged_tensor")
    return None if module is None else module.JaggedTensor


class JaggedEmbeddings:
    """Embeddings one after the other, with methods of TorchRec's ``JaggedTensor``.

    Members: ``values`` [values, dim], ``lengths`` [batch], ``offsets`` [batch + 1], ``weights``,
    which are the indices where they were asked for, ``weights_or_none``, ``to_dense``.
    """

    def __init__(
        self, values: torch.Tensor, lengths: torch.Tensor, weights: torch.Tensor | None = None
    ) -> None:
        self._values, self._lengths, self._weights = values, lengths, weights

    def values(self) -> torch.Tensor:
        return self._values

    def lengths(self) -> torch.Tensor:
        return self._lengths

    def offsets(self) -> torch.Tensor:
        """Where each sample begins, and where the last one ends, in the type of ``lengths``."""
        ends = self._lengths.cumsum(0, dtype=self._lengths.dtype)
        return torch.nn.functional.pad(ends, (1, 0))

    def weights(self) -> torch.Tensor:
        """The indices. Raises ``WorkloadError`` unless they were asked for."""
        if self._weights is None:
            raise WorkloadError("embeddings: have no indices: need_indices was not asked for")
        return self._weights

    def weights_or_none(self) -> torch.Tensor | None:
        return self._weights

    def to_dense(self) -> list[torch.Tensor]:
        """Each sample's embeddings, [length, dim]; the device is waited for."""
        return list(self._values.split(self._lengths.tolist()))
