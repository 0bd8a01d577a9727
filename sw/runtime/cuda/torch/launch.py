"""Launches fused kernels on PyTorch's tensors, in its current stream.

The host waits for nothing, and does nothing for each feature: tasks follow from the size of the
batch, or, where workers are blocks, the device maps threads and counts indices itself. So launches
can be captured in CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.layouts import SHARE, TASK
from gnarl.sw.compiler.cuda.task_plan import MAXIMUM_COUNTERS
from gnarl.sw.runtime.cuda.arguments import (
    LaunchArguments,
    WarpArguments,
    state_bytes,
    state_bytes_of_warps,
)
from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, device_attribute
from gnarl.sw.runtime.cuda.gpu.embedding import compile_program
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.gpu.loaded_kernel import LoadedKernel
from gnarl.sw.runtime.cuda.memory_layout import aligned
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.kept import keep_if_captured, kept_addresses
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program

_zeroes: dict[tuple[int, int, str], DeviceMemory] = {}
"""Zeroed memory by device, stream and workers, whose kernels run one after another and leave
zeroes: the state of queues or counters, and the workspace."""

_ONE_AT_A_TIME = Lock()
"""Between a launch's mapping and the launch nobody else's may come, as both have one state."""


def launch(lookup: Lookup, outputs: Sequence[torch.Tensor], addresses: torch.Tensor) -> None:
    """Fills the outputs. All tensors are on one GPU.

    ``addresses``: of ``table_addresses``. Raises ``GnarlError`` for a GPU that kernels of the
    program's architecture do not run on, and where a kernel does not compile.
    """
    program, device = lookup.compiled.program, lookup.values.device.index
    with torch.cuda.device(device), _ONE_AT_A_TIME:
        kernel, multiprocessors = _loaded(lookup.program, lookup.index_bits, device)
        put = _launch_blocks if program.kernel.layout is None else _launch_warps
        owner = put(lookup, outputs, addresses, kernel, multiprocessors)
        keep_if_captured(kernel, addresses, owner)


def _launch_warps(
    lookup: Lookup,
    outputs: Sequence[torch.Tensor],
    addresses: torch.Tensor,
    kernel: LoadedKernel,
    multiprocessors: int,
) -> object:
    """Launches a kernel whose workers are warps; returns what its memory belongs to."""
    program, device = lookup.compiled.program, lookup.values.device.index
    blocks = multiprocessors * program.schedules.blocks_per_sm
    plan = program.plan(lookup.batch, blocks)
    stream = torch.cuda.current_stream(device).cuda_stream
    of_state = aligned(state_bytes_of_warps(MAXIMUM_COUNTERS))
    zeroed, owner = _zeroed(device, stream, of_state, "warps")
    # PyTorch reuses the memory only after the stream has passed the kernel.
    partials = torch.empty(plan.workspace, dtype=torch.uint8, device=lookup.values.device)
    arguments = WarpArguments(
        **_tensors(lookup, outputs, addresses),
        workspace=partials.data_ptr(),
        state=zeroed,
        blocks=blocks,
        warps=blocks * program.schedules.block_threads // WARP_THREADS,
        plan=plan,
    )
    kernel.launch_warps(arguments, stream)
    return owner, partials


def _launch_blocks(
    lookup: Lookup,
    outputs: Sequence[torch.Tensor],
    addresses: torch.Tensor,
    kernel: LoadedKernel,
    queues: int,
) -> object:
    """Launches a kernel whose workers are blocks, behind one that maps its tasks; returns what its
    memory belongs to."""
    program, values = lookup.compiled.program, lookup.values.shape[0]
    device = lookup.values.device.index
    bounds = lookup.compiled.bounds(lookup.batch)
    most = bounds.most_tasks(values)
    stream = torch.cuda.current_stream(device).cuda_stream
    of_state, of_tasks = aligned(state_bytes(queues)), aligned(most * TASK.itemsize)
    size = of_state + bounds.most_workspace(values)
    zeroed, owner = _zeroed(device, stream, size, "blocks")
    # PyTorch reuses the memory only after the stream has passed the kernels.
    mapped = torch.empty(
        of_tasks + len(program.model.features) * SHARE.itemsize,
        dtype=torch.uint8,
        device=lookup.values.device,
    )
    arguments = LaunchArguments(
        **_tensors(lookup, outputs, addresses),
        workspace=zeroed + of_state,
        tasks=mapped.data_ptr(),
        shares=mapped.data_ptr() + of_tasks,
        state=zeroed,
        blocks=min(most, queues * program.schedules.blocks_per_sm),
        queues=queues,
    )
    kernel.map(arguments, stream)
    kernel.launch(arguments, stream)
    return owner


def _tensors(
    lookup: Lookup, outputs: Sequence[torch.Tensor], addresses: torch.Tensor
) -> dict[str, Any]:
    """Arguments of either kind of kernel that do not depend on its workers."""
    return {
        "tables": addresses.data_ptr(),
        "indices": lookup.values.data_ptr(),
        "offsets": lookup.offsets.data_ptr(),
        "weights": 0 if lookup.weights is None else lookup.weights.data_ptr(),
        "outputs": [output.data_ptr() for output in outputs],
        "error": 0,
        "times": 0,
        "batch": lookup.batch,
    }


def table_addresses(lookup: Lookup) -> torch.Tensor:
    """int64 [features] on the tables' device, where the tables are.

    Raises ``WorkloadError`` for a table that is not aligned, and as ``kept_addresses`` does.
    """
    return kept_addresses(lookup.addresses(), lookup.values.device)


def _zeroed(device: int, stream: int, size: int, workers: str) -> tuple[int, object]:
    """Address of so many bytes, and what they belong to. While a graph is being captured they are
    its own, zeroed whenever it is replayed. Of each kind of workers there is one, since blocks
    leave a count of tasks there."""
    if torch.cuda.is_current_stream_capturing():
        own = torch.zeros(size, dtype=torch.uint8, device=torch.device("cuda", device))
        return own.data_ptr(), own
    kept = _zeroes.get((device, stream, workers))
    if kept is None or kept.size < size:
        # A quarter more, so that a slightly larger batch needs no new one.
        kept = DeviceMemory(Context(device), size + size // 4, zeroed=True)
        _zeroes[device, stream, workers] = kept
    return kept.address, kept


@lru_cache(maxsize=64)
def _loaded(program: str, index_bits: int, device: int) -> tuple[LoadedKernel, int]:
    """The loaded kernel with the device's multiprocessors: as many queues have its tasks."""
    compiled = operator_program(program).program
    require_gpu(compiled.schedules.arch, device)
    cubin = compile_program(compiled, index_bits=index_bits)
    kernel = LoadedKernel(Context(device), compiled, cubin)
    return kernel, device_attribute(device, "MULTIPROCESSOR_COUNT")
