"""A compiled fused kernel on a device, to be launched on anyone's memory and stream."""

from __future__ import annotations

import ctypes

import numpy as np

from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.fusion import KERNEL
from sw.compiler.cuda.nvrtc import CompiledKernel
from sw.compiler.cuda.occupancy import blocks_per_sm, shared_padding
from sw.compiler.cuda.program import EmbeddingProgram
from sw.runtime.cuda.driver import Context, bindings, call, free_with


class LoadedKernel:
    """The kernel of a program, bound to the occupancy that its schedules were chosen for.

    shared_bytes
        dynamic shared memory of every block: what the kernel uses, and where its registers would
        let more blocks run at a time than ``blocks_per_sm``, as much more as prevents that.
    """

    def __init__(
        self, context: Context, program: EmbeddingProgram, compiled: CompiledKernel
    ) -> None:
        schedules = program.schedules
        self._context = context
        self._threads = schedules.block_threads
        self.shared_bytes = program.kernel.shared_bytes
        occupancy = (compiled.arch, compiled.registers, self.shared_bytes, self._threads)
        if blocks_per_sm(*occupancy) > schedules.blocks_per_sm:
            self.shared_bytes = shared_padding(
                compiled.arch, self._threads, schedules.blocks_per_sm, self.shared_bytes
            )
        attribute = bindings().CUfunction_attribute
        image = np.frombuffer(compiled.cubin, np.uint8)
        with context:
            self._module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", self._module)
            self._function = call("cuModuleGetFunction", self._module, KERNEL.encode())
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
        values = (arguments, tasks, feature_blocks, block_times)
        types = (ctypes.c_void_p,) * len(values)
        grid, block = (blocks, 1, 1), (self._threads, 1, 1)
        with self._context:
            call(
                "cuLaunchKernel",
                *(self._function, *grid, *block, self.shared_bytes, stream),
                *((values, types), 0),
            )


def carve_out(arch: str, blocks: int, shared_bytes: int) -> int:
    """Per cent of the most shared memory of a multiprocessor that so many blocks need.

    What shared memory does not have of it is cache.
    """
    limits = ARCHITECTURES[arch]
    needed = blocks * (shared_bytes + limits.shared_reserved)
    return min(100, -(-100 * needed // limits.shared_per_sm))
