"""Tensors of the CPU as NumPy arrays, bfloat16 included, without copies."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from sw.runtime.cuda.torch.extra import torch


def to_array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
