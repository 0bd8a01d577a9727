"""PyTorch modules of one function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch


def module(forward: Callable[..., Any], **members: Any) -> torch.nn.Module:
    """Its ``forward`` is the function, after whose name it is called; ``members`` are its own."""
    # Only frames of this name stand in PyTorch's stack traces.
    code = forward.__code__.replace(co_name="forward")
    method = FunctionType(code, forward.__globals__, closure=forward.__closure__)
    made = type(forward.__name__, (torch.nn.Module,), {"forward": method})()
    for name, value in members.items():
        setattr(made, name, value)
    return made


def whole(*shape: int, below: int = 9) -> torch.Tensor:
    """Small whole numbers in float32, whose sums and products are exact in any order."""
    count = torch.Size(shape).numel()
    return (torch.arange(count) * 7 % below - below // 2).float().reshape(shape)


def compressed_rows(matrix: torch.Tensor) -> torch.Tensor:
    """In CSR, which the first time PyTorch says of itself to be in beta state."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return matrix.to_sparse_csr()


def bag(mode: str = "sum", **options: Any) -> torch.nn.EmbeddingBag:
    return torch.nn.EmbeddingBag.from_pretrained(whole(10, 6), mode=mode, **options)
