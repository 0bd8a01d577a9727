"""A compiled fused kernel on a device, to be launched on anyone's memory and stream."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL, map_blocks, map_shared_bytes
from sw.compiler.cuda.nvrtc import CompiledKernel
from sw.compiler.cuda.occupancy import blocks_per_sm, shared_padding
from sw.compiler.cuda.program import EmbeddingProgram
from sw.runtime.cuda.gpu.driver import (
    Context,
    GpuError,
    bindings,
    call,
    device_attribute,
    free_with,
)


class LoadedKernel:
    """The kernels of a program; the fused one is bound to the occupancy of its schedules.

    shared_bytes
        dynamic shared memory of every block: what the kernel uses, and where its registers would
        let more blocks run at a time than ``blocks_per_sm``, as much more as prevents that.

    Raises ``GpuError`` where the kernel uses more than the GPU gives a block: architectures that
    run each other's machine code differ in that.
    """

    def __init__(
        self, context: Context, program: EmbeddingProgram, compiled: CompiledKernel
    ) -> None:
        schedules = program.schedules
        self._context = context
        self._threads = schedules.block_threads
        self._features = len(program.model.features)
        self.shared_bytes = program.kernel.shared_bytes
        limit = device_attribute(context.device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if self.shared_bytes > limit:
            raise GpuError(
                f"kernels for {compiled.arch} need {self.shared_bytes:,} bytes of shared memory a "
                f"block, GPU {context.device} has {limit:,}: compile for its own architecture"
            )
        occupancy = (compiled.arch, compiled.registers, self.shared_bytes, self._threads)
        if blocks_per_sm(*occupancy) > schedules.blocks_per_sm:
            padded = shared_padding(
                compiled.arch, self._threads, schedules.blocks_per_sm, self.shared_bytes
            )
            self.shared_bytes = min(padded, limit)
        attribute = bindings().CUfunction_attribute
        image = np.frombuffer(compiled.cubin, np.uint8)
        with context:
            self._module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", self._module)
            self._function = call("cuModuleGetFunction", self._module, KERNEL.encode())
            self._map_function = call("cuModuleGetFunction", self._module, MAP_KERNEL.encode())
            for name, value in (
                (attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared_bytes),
                (
                    attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                    carve_out(compiled.arch, schedules.blocks_per_sm, self.shared_bytes),
                ),
            ):
                call("cuFuncSetAttribute", self._function, name, value)

    def launch(
        self,
        arguments: int,
        tasks: int,
        feature_blocks: int,
        blocks: int,
        stream: int,
        block_times: int = 0,
    ) -> None:
        """Puts a launch of so many blocks into a stream, given by its handle.

        Addresses, on the device: ``FEATURE_ARGUMENTS`` [features], ``TASK`` [blocks], int32
        [features], and for kernels that were compiled to take times ``BLOCK_TIME`` [blocks].
        """
        addresses = (arguments, tasks, feature_blocks, block_times)
        self._launch(self._function, blocks, self.shared_bytes, stream, addresses)

    def map(
        self, counts: int, arguments: int, tasks: int, feature_blocks: int, stream: int
    ) -> None:
        """Puts the thread mapping into a stream: it fills tasks and feature_blocks of a launch.

        ``counts``: address of ``BLOCK_COUNT`` [features].
        """
        blocks = map_blocks(self._features, self._threads)
        shared_bytes = map_shared_bytes(self._threads)
        addresses = (counts, arguments, tasks, feature_blocks)
        self._launch(self._map_function, blocks, shared_bytes, stream, addresses)

    def _launch(
        self,
        function: Any,
        blocks: int,
        shared_bytes: int,
        stream: int,
        addresses: tuple[int, ...],
    ) -> None:
        types = (ctypes.c_void_p,) * len(addresses)
        with self._context:
            call(
                "cuLaunchKernel",
                *(function, blocks, 1, 1, self._threads, 1, 1, shared_bytes, stream),
                *((addresses, types), 0),
            )


def carve_out(arch: str, blocks: int, shared_bytes: int) -> int:
    """Per cent of the most shared memory of a multiprocessor that so many blocks need.

    What shared memory does not have of it is cache.
    """
    limits = ARCHITECTURES[arch]
    needed = blocks * (shared_bytes + limits.shared_reserved)
    return min(100, -(-100 * needed // limits.shared_per_sm))
