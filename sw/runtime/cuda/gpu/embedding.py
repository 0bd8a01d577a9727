"""Runs compiled models on a GPU (RecFlex, IV-B): thread mapping and copies on the host overlap with
the kernel of the batch before."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gnarl.sw.compiler.cuda.architectures import WARP_THREADS
from gnarl.sw.compiler.cuda.demands import Bounds
from gnarl.sw.compiler.cuda.layouts import BLOCK_TIME, ERROR_RECORD
from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel, compile_kernel
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import MAXIMUM_COUNTERS, TaskPlan
from gnarl.sw.runtime.cuda.arguments import (
    LaunchArguments,
    WarpArguments,
    require_no_error,
    shares_of,
    state_bytes_of_warps,
)
from gnarl.sw.runtime.cuda.gpu.driver import (
    Context,
    DeviceMemory,
    Event,
    PinnedMemory,
    Stream,
    call,
    device_attribute,
    load,
    store,
)
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.gpu.loaded_kernel import LoadedKernel
from gnarl.sw.runtime.cuda.gpu.staging import Staging, lay_out, pack
from gnarl.sw.runtime.cuda.grid import tasks_of_plan
from gnarl.sw.runtime.cuda.memory_layout import places
from gnarl.sw.runtime.cuda.packed import PackedBatch
from gnarl.sw.runtime.cuda.task_map import Mapping, TaskMap, map_tasks
from gnarl.sw.workloads.embedding.model import TABLE_TYPES, Batch


@dataclass(frozen=True)
class DeviceTables:
    """Embedding tables on a device.

    addresses
        of each feature's table, aligned to 16 bytes.
    owner
        what keeps the memory.
    """

    addresses: Sequence[int]
    owner: object


def upload(tables: Sequence[np.ndarray], device: int = 0) -> DeviceTables:
    """Copies tables to a device once, for any number of programs."""
    context = Context(device)
    begins, size = places([table.nbytes for table in tables])
    memory = DeviceMemory(context, size)
    addresses = (memory.address + begins).tolist()
    with context:
        for address, table in zip(addresses, tables, strict=True):
            store(address, np.ascontiguousarray(table))
    return DeviceTables(addresses, memory)


@dataclass(frozen=True)
class GpuRun:
    """What a launch left.

    outputs
        for each output type its buffer, [batch, width]; none if they were not fetched.
    kernel_ms
        time of the kernel, by the device's events.
    mapping_ms
        time of the thread mapping: on the host, or by the device's events; 0 where it was given.
    block_times
        ``BLOCK_TIME`` [tasks], of timed launches: when each block of each feature ran.
    """

    outputs: dict[str, np.ndarray]
    kernel_ms: float
    mapping_ms: float
    block_times: np.ndarray | None


class _Slot:
    """Memory of one batch in flight. It grows as needed and serves one batch after the other.

    workspace
        kept until the batch's kernel ends, as a later batch may replace it by a larger one.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.staged = DeviceMemory(context, 0)
        self.pinned = PinnedMemory(context, 1)
        self.outputs = DeviceMemory(context, 0)
        self.block_times = DeviceMemory(context, 0)
        self.workspace: DeviceMemory | None = None
        self.copied, self.mapping, self.begin, self.end = (Event(context) for _ in range(4))

    def reserve(self, staged: int, outputs: int) -> None:
        """Room for so many bytes; waits until the batch before is done with the old."""
        self.copied.synchronise()
        self.end.synchronise()
        if staged > self.staged.size:
            self.staged = _grown(self._context, self.staged, staged)
            self.pinned = PinnedMemory(self._context, self.staged.size)
        self.outputs = _grown(self._context, self.outputs, outputs)


@dataclass
class StagedBatch:
    """A batch on its way to the device; valid until two more are staged."""

    packed: PackedBatch
    tasks: int
    """Tasks of the launch; where the device maps, at most so many."""
    maps_on_device: bool
    mapping_ms: float
    timed: bool = field(default=False, init=False)
    _slot: _Slot
    _staging: Staging
    _arguments: LaunchArguments | WarpArguments

    @property
    def blocks(self) -> int:
        """Blocks of the launch, which take one task after the other."""
        return self._arguments.blocks

    @property
    def planned(self) -> TaskMap | None:
        """The tasks, where workers are warps."""
        layout = self.packed.program.kernel.layout
        if layout is None or not isinstance(self._arguments, WarpArguments):
            return None
        return tasks_of_plan(layout, self._arguments.plan)


class GpuEmbedding:
    """A model with its tables on a device.

    tables
        one [rows, dim] for each feature, of its table type; or those that are on the device.
    checked
        whether the kernel checks every index.

    Raises ``GpuError`` where there is no such GPU or the kernel does not run on it.
    """

    def __init__(
        self,
        program: EmbeddingProgram,
        tables: Sequence[np.ndarray] | DeviceTables,
        *,
        device: int = 0,
        checked: bool = False,
    ) -> None:
        require_gpu(program.schedules.arch, device)
        self.program = program
        self._context = Context(device)
        self._tables = tables if isinstance(tables, DeviceTables) else upload(tables, device)
        self._checked = checked
        self._kernels: dict[bool, LoadedKernel] = {}
        self.stream = Stream(self._context)
        self._copies = Stream(self._context)
        self._slots = deque(_Slot(self._context) for _ in range(2))
        self._workspace = DeviceMemory(self._context, 0, zeroed=True)
        self._counters = DeviceMemory(
            self._context, state_bytes_of_warps(MAXIMUM_COUNTERS), zeroed=True
        )
        self._table_addresses = DeviceMemory(self._context, 8 * len(self._tables.addresses))
        with self._context:
            store(self._table_addresses.address, np.array(self._tables.addresses, np.uint64))

    def run(self, batch: Batch, mapping: Mapping = None, *, timed: bool = False) -> GpuRun:
        """Pools a batch that ``check_batch`` accepts; ``timed``: takes every block's times, too.

        Raises ``WorkloadError`` for an index out of range, in checked builds.
        """
        staged = self.stage(batch, mapping)
        self.launch(staged, timed=timed)
        return self.collect(staged)

    def stage(self, batch: Batch, mapping: Mapping = None) -> StagedBatch:
        """Maps threads and begins to copy the inputs to the device."""
        program = self.program
        packed = PackedBatch.of(program, batch)
        if program.kernel.layout is not None:
            return self._stage_for_warps(packed, mapping)
        assert not isinstance(mapping, TaskPlan), "workers are blocks"
        begin = time.perf_counter()
        tasks = mapping if isinstance(mapping, TaskMap) else None
        if mapping is None:
            tasks = map_tasks(program.block_counts, batch.size, packed.values)
        mapping_ms = 0.0 if mapping else 1e3 * (time.perf_counter() - begin)
        mapped = None
        if tasks is None:
            bounds = Bounds.of(program.demands, batch.size)
            most = bounds.most_tasks(packed.indices)
            workspace = bounds.most_workspace(packed.indices)
        else:
            most = len(tasks.tasks)
            shares, workspace = shares_of(program, tasks, batch.size, packed.values)
            mapped = tasks, shares
        queues = device_attribute(self._context.device, "MULTIPROCESSOR_COUNT")
        staging = lay_out(packed, most, queues)
        with self._context:
            slot, common = self._reserve(packed, staging, workspace)
            base = slot.staged.address
            arguments = LaunchArguments(
                **common,
                tasks=base + staging.tasks,
                shares=base + staging.shares,
                state=base + staging.state,
                blocks=min(most, queues * program.schedules.blocks_per_sm),
                queues=queues,
            )
            copied = pack(staging, packed, mapped, arguments.blocks, queues, slot.pinned.array)
            self._copy(slot, copied)
        return StagedBatch(packed, most, tasks is None, mapping_ms, slot, staging, arguments)

    def _stage_for_warps(self, packed: PackedBatch, mapping: Mapping) -> StagedBatch:
        assert mapping is None or isinstance(mapping, TaskPlan), "workers are warps"
        schedules, batch = self.program.schedules, packed.batch
        multiprocessors = device_attribute(self._context.device, "MULTIPROCESSOR_COUNT")
        blocks = multiprocessors * schedules.blocks_per_sm
        plan = mapping if isinstance(mapping, TaskPlan) else self.program.plan(batch.size, blocks)
        staging = lay_out(packed, 0, 1)
        with self._context:
            slot, common = self._reserve(packed, staging, plan.workspace)
            arguments = WarpArguments(
                **common,
                state=self._counters.address,
                blocks=blocks,
                warps=blocks * schedules.block_threads // WARP_THREADS,
                plan=plan,
            )
            self._copy(slot, pack(staging, packed, None, 0, 1, slot.pinned.array))
        return StagedBatch(packed, plan.tasks, False, 0.0, slot, staging, arguments)

    def _reserve(
        self, packed: PackedBatch, staging: Staging, workspace: int
    ) -> tuple[_Slot, dict[str, Any]]:
        """A slot with room for a batch and for so many bytes of workspace, and the arguments that
        either kind of kernels has of it."""
        size, widths = packed.batch.size, self.program.outputs.widths
        begins, outputs = places(
            [size * width * TABLE_TYPES[name].itemsize for name, width in widths.items()]
        )
        slot = self._slots[0]
        self._slots.rotate(1)
        slot.reserve(staging.size, outputs)
        self._workspace = _grown(self._context, self._workspace, workspace, zeroed=True)
        slot.workspace = self._workspace
        base = slot.staged.address
        return slot, {
            "tables": self._table_addresses.address,
            "indices": base + staging.indices,
            "offsets": base + staging.offsets,
            "weights": base + staging.weights if packed.weighted else 0,
            "outputs": (slot.outputs.address + begins).tolist(),
            "workspace": self._workspace.address,
            "error": base + staging.error,
            "times": 0,
            "batch": size,
        }

    def _copy(self, slot: _Slot, size: int) -> None:
        """Begins to copy what has been packed to the device."""
        to, source = slot.staged.address, slot.pinned.address
        call("cuMemcpyHtoDAsync", to, source, size, self._copies.handle)
        slot.copied.record(self._copies.handle)

    def launch(self, staged: StagedBatch, *, timed: bool = False) -> None:
        """Puts the kernel into ``stream``, behind the copy of its inputs. Can be repeated."""
        kernel = self._kernel(timed)
        staged.timed = timed
        slot, arguments = staged._slot, staged._arguments
        stream = self.stream.handle
        with self._context:
            if timed:
                size = staged.tasks * BLOCK_TIME.itemsize
                slot.block_times = _grown(self._context, slot.block_times, size)
                arguments = replace(arguments, times=slot.block_times.address)
            self.stream.wait(slot.copied)
            if isinstance(arguments, WarpArguments):
                slot.begin.record(stream)
                kernel.launch_warps(arguments, stream)
            else:
                slot.mapping.record(stream)
                if staged.maps_on_device:
                    kernel.map(arguments, stream)
                slot.begin.record(stream)
                kernel.launch(arguments, stream)
            slot.end.record(stream)

    def collect(self, staged: StagedBatch, *, fetch: bool = True) -> GpuRun:
        """Waits for the last launch of a batch, and fetches what it left.

        Raises ``WorkloadError`` for an index out of range, in checked builds.
        """
        slot = staged._slot
        with self._context:
            slot.end.synchronise()
            if self._checked:
                error = slot.staged.address + staged._staging.error
                records = load(error, (1,), ERROR_RECORD)
                require_no_error(self.program.model, records, staged.packed.begins)
            widths, size = self.program.outputs.widths, staged.packed.batch.size
            outputs = {
                name: load(address, (size, width), TABLE_TYPES[name])
                for address, (name, width) in zip(
                    staged._arguments.outputs, widths.items(), strict=True
                )
                if fetch
            }
            mapping_ms, times = staged.mapping_ms, None
            if staged.maps_on_device:
                mapping_ms = slot.begin.ms_since(slot.mapping)
            if staged.timed:
                times = load(slot.block_times.address, (staged.tasks,), BLOCK_TIME)
            return GpuRun(outputs, slot.end.ms_since(slot.begin), mapping_ms, times)

    def _kernel(self, timed: bool) -> LoadedKernel:
        if timed not in self._kernels:
            compiled = compile_program(self.program, checked=self._checked, timed=timed)
            self._kernels[timed] = LoadedKernel(self._context, self.program, compiled)
        return self._kernels[timed]


def compile_program(
    program: EmbeddingProgram,
    *,
    checked: bool = False,
    timed: bool = False,
    index_bits: int = 32,
) -> CompiledKernel:
    """The program's kernel for its architecture: with checks of indices, with times of blocks, for
    indices and offsets of 32 or 64 bits."""
    defines = {
        "GNARL_CHECKED": checked,
        "GNARL_BLOCK_TIMES": timed,
        "GNARL_INDEX_64": index_bits == 64,
    }
    return compile_kernel(
        program.kernel.source,
        program.schedules.arch,
        include=program.include,
        kernel=program.kernel.name,
        defines={name: "1" for name, wanted in defines.items() if wanted},
    )


def _grown(
    context: Context, memory: DeviceMemory, size: int, *, zeroed: bool = False
) -> DeviceMemory:
    """The memory, or a new one, larger than needed, so that a slightly larger batch fits, too."""
    if size <= memory.size:
        return memory
    return DeviceMemory(context, size + size // 4, zeroed=zeroed)
