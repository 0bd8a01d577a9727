"""PyTorch, which only its own part of the runtime needs: import ``torch`` from here."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from gnarl.hw.lib.errors import GnarlError

try:
    import torch as torch
except ImportError as error:
    raise GnarlError("PyTorch is not installed: pip install 'gnarl[torch]'") from error


def is_recorded() -> bool:
    """Whether PyTorch records operators, to compile or to save them; functions of Python can be no
    part of that."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor of the CPU as an array, bfloat16 included, without a copy."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
