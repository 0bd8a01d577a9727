"""Launches fused kernels on PyTorch's tensors, in its current stream.

The host waits for nothing, and does nothing for each feature: the device maps threads and counts
indices itself. So launches can be captured in CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

from gnarl.sw.compiler.cuda.layouts import SHARE, TASK
from gnarl.sw.runtime.cuda.arguments import LaunchArguments, state_bytes
from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, device_attribute
from gnarl.sw.runtime.cuda.gpu.embedding import compile_program
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.gpu.loaded_kernel import LoadedKernel
from gnarl.sw.runtime.cuda.memory_layout import aligned
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.kept import keep_if_captured, kept_addresses
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program

_zeroes: dict[tuple[int, int], DeviceMemory] = {}
"""Zeroed memory by device and stream, whose kernels run one after another and leave zeroes: the
state of queues, and the workspace."""

_ONE_AT_A_TIME = Lock()
"""Between a launch's mapping and the launch nobody else's may come, as both have one state."""


def launch(lookup: Lookup, outputs: Sequence[torch.Tensor], addresses: torch.Tensor) -> None:
    """Fills the outputs. All tensors are on one GPU.

    ``addresses``: of ``table_addresses``. Raises ``GnarlError`` for a GPU that kernels of the
    program's architecture do not run on, and where a kernel does not compile.
    """
    program, batch, values = lookup.compiled.program, lookup.batch, lookup.values.shape[0]
    device = lookup.values.device.index
    with torch.cuda.device(device), _ONE_AT_A_TIME:
        kernel, queues = _loaded(lookup.program, lookup.index_bits, device)
        bounds = lookup.compiled.bounds(batch)
        most = bounds.most_tasks(values)
        stream = torch.cuda.current_stream(device).cuda_stream
        of_state, of_tasks = aligned(state_bytes(queues)), aligned(most * TASK.itemsize)
        zeroed, owner = _zeroed(device, stream, of_state + bounds.most_workspace(values))
        # PyTorch reuses the memory only after the stream has passed the kernels.
        mapped = torch.empty(
            of_tasks + len(program.model.features) * SHARE.itemsize,
            dtype=torch.uint8,
            device=lookup.values.device,
        )
        arguments = LaunchArguments(
            tables=addresses.data_ptr(),
            indices=lookup.values.data_ptr(),
            offsets=lookup.offsets.data_ptr(),
            weights=0 if lookup.weights is None else lookup.weights.data_ptr(),
            outputs=[output.data_ptr() for output in outputs],
            workspace=zeroed + of_state,
            error=0,
            tasks=mapped.data_ptr(),
            shares=mapped.data_ptr() + of_tasks,
            state=zeroed,
            times=0,
            blocks=min(most, queues * program.schedules.blocks_per_sm),
            queues=queues,
            batch=batch,
        )
        kernel.map(arguments, stream)
        kernel.launch(arguments, stream)
        keep_if_captured(kernel, addresses, owner)


def table_addresses(lookup: Lookup) -> torch.Tensor:
    """int64 [features] on the tables' device, where the tables are.

    Raises ``WorkloadError`` for a table that is not aligned, and as ``kept_addresses`` does.
    """
    return kept_addresses(lookup.addresses(), lookup.values.device)


def _zeroed(device: int, stream: int, size: int) -> tuple[int, object]:
    """Address of so many bytes, and what they belong to. While a graph is being captured they are
    its own, zeroed whenever it is replayed."""
    if torch.cuda.is_current_stream_capturing():
        own = torch.zeros(size, dtype=torch.uint8, device=torch.device("cuda", device))
        return own.data_ptr(), own
    kept = _zeroes.get((device, stream))
    if kept is None or kept.size < size:
        # A quarter more, so that a slightly larger batch needs no new one.
        kept = DeviceMemory(Context(device), size + size // 4, zeroed=True)
        _zeroes[device, stream] = kept
    return kept.address, kept


@lru_cache(maxsize=64)
def _loaded(program: str, index_bits: int, device: int) -> tuple[LoadedKernel, int]:
    """The loaded kernel with the device's multiprocessors: as many queues have its tasks."""
    compiled = operator_program(program).program
    require_gpu(compiled.schedules.arch, device)
    cubin = compile_program(compiled, index_bits=index_bits)
    kernel = LoadedKernel(Context(device), compiled, cubin)
    return kernel, device_attribute(device, "MULTIPROCESSOR_COUNT")
