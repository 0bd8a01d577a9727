"""What is kept on a GPU from one call to the next.

Its memory is the driver's, not PyTorch's: what PyTorch allocates while it warms up a CUDA graph
belongs to the graph, and is lent out again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch

_addresses: dict[tuple[tuple[int, ...], torch.device], torch.Tensor] = {}

_captured: list[Any] = []
"""What graphs that were captured have addresses of, which nobody else knows."""


def kept_addresses(addresses: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """int64 [addresses] on the device. One of equal addresses is kept, so that nothing is copied
    while a CUDA graph is being captured.

    Raises ``WorkloadError`` for new ones while it is.
    """
    key = addresses, device
    if key not in _addresses:
        if device.type == "cuda":
            if torch.cuda.is_current_stream_capturing():
                raise WorkloadError(
                    "input: tensors at new addresses cannot be captured in a CUDA graph: must be "
                    "those of a call before, outside the graph"
                )
            _addresses[key] = _on_gpu(np.array(addresses, np.int64), device.index)
        else:
            _addresses[key] = torch.tensor(addresses, dtype=torch.int64, device=device)
    return _addresses[key]


def keep_if_captured(*used: Any) -> None:
    """Keeps as long as the process what a graph that is being captured goes on using."""
    if torch.cuda.is_current_stream_capturing():
        _captured.extend(used)


class _Array:
    """Device memory as PyTorch takes it without a copy."""

    def __init__(self, array: np.ndarray, device: int) -> None:
        # Where there is no GPU nobody needs a driver.
        from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, store

        context = Context(device)
        self._memory = DeviceMemory(context, array.nbytes)
        with context:
            store(self._memory.address, array)
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (self._memory.address, False),
            "version": 3,
        }


def _on_gpu(array: np.ndarray, device: int) -> torch.Tensor:
    return torch.as_tensor(_Array(array, device), device=torch.device("cuda", device))
