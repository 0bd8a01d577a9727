"""Launches fused kernels on PyTorch's tensors, in its current stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hw.lib.errors import GnarlError
from sw.runtime.cuda.gpu.driver import Context
from sw.runtime.cuda.gpu.embedding import compile_program
from sw.runtime.cuda.gpu.gpus import require_gpu
from sw.runtime.cuda.gpu.loaded_kernel import LoadedKernel
from sw.runtime.cuda.memory_layout import places
from sw.runtime.cuda.torch.extra import torch
from sw.runtime.cuda.torch.lookup import Lookup
from sw.runtime.cuda.torch.operator_program import operator_program

_workspaces: dict[tuple[int, int], torch.Tensor] = {}
"""By device and stream, whose kernels run one after another and leave zeroes."""


def launch(lookup: Lookup, outputs: Sequence[torch.Tensor]) -> None:
    """Fills the outputs. All tensors are on one GPU, for which the host does not wait.

    Raises ``GnarlError`` for a GPU that kernels of the program's architecture do not run on, where
    a kernel does not compile, and while a CUDA graph is being captured.
    """
    if torch.cuda.is_current_stream_capturing():
        raise GnarlError(
            "input: lookups cannot be captured in a CUDA graph: the grid depends on the batch"
        )
    device = lookup.values.device.index
    mapping = lookup.tasks()
    with torch.cuda.device(device):
        stream = torch.cuda.current_stream(device).cuda_stream
        workspaces, size = lookup.workspaces()
        workspace = _workspace(device, stream, size)
        arguments = lookup.arguments(outputs, workspaces + workspace.data_ptr())
        # PyTorch reuses the memory only after the stream has passed the copy and the kernel.
        staged, begins = _stage([arguments, mapping.tasks, mapping.feature_blocks], device)
        of_arguments, tasks, feature_blocks = (staged.data_ptr() + begin for begin in begins)
        _loaded(lookup.program, device).launch(
            of_arguments, tasks, feature_blocks, len(mapping.tasks), stream
        )


def _stage(arrays: Sequence[np.ndarray], device: int) -> tuple[torch.Tensor, list[int]]:
    """Bytes on the device, and where in them each array begins."""
    begins, size = places([array.nbytes for array in arrays])
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    for begin, array in zip(begins, arrays, strict=True):
        host.numpy()[begin : begin + array.nbytes] = array.view(np.uint8)
    return host.to(torch.device("cuda", device), non_blocking=True), begins.tolist()


def _workspace(device: int, stream: int, size: int) -> torch.Tensor:
    kept = _workspaces.get((device, stream))
    if kept is None or kept.numel() < size:
        # A quarter more, so that a slightly larger batch needs no new one.
        kept = torch.zeros(size + size // 4, dtype=torch.uint8, device=device)
        _workspaces[device, stream] = kept
    return kept


@lru_cache(maxsize=64)
def _loaded(program: str, device: int) -> LoadedKernel:
    compiled = operator_program(program).program
    require_gpu(compiled.schedules.arch, device)
    return LoadedKernel(Context(device), compiled, compile_program(compiled))
