"""A compiled fused kernel on a device, to be launched on anyone's memory and stream."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.fusion import (
    MAP_KERNEL,
    MAP_PARAMETERS,
    PARAMETERS,
    map_blocks,
    map_shared_bytes,
)
from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.task_plan import PARAMETER_BYTES
from gnarl.sw.runtime.cuda.arguments import LaunchArguments, WarpArguments
from gnarl.sw.runtime.cuda.gpu.driver import (
    Context,
    GpuError,
    bindings,
    call,
    device_attribute,
    free_with,
)


class LoadedKernel:
    """The kernels of a program on a device.

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
        self._shared_bytes = program.kernel.shared_bytes
        limit = device_attribute(context.device, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if self._shared_bytes > limit:
            raise GpuError(
                f"kernels for {compiled.arch} need {self._shared_bytes:,} bytes of shared memory a "
                f"block, GPU {context.device} has {limit:,}: compile for its own architecture"
            )
        attribute = bindings().CUfunction_attribute
        image = np.frombuffer(compiled.cubin, np.uint8)
        with context:
            self._module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", self._module)
            name = program.kernel.name.encode()
            self._function = call("cuModuleGetFunction", self._module, name)
            if program.kernel.layout is None:
                self._map_function = call("cuModuleGetFunction", self._module, MAP_KERNEL.encode())
            for name, value in (
                (attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self._shared_bytes),
                (
                    attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                    carve_out(compiled.arch, schedules.blocks_per_sm, self._shared_bytes),
                ),
            ):
                call("cuFuncSetAttribute", self._function, name, value)

    def launch(self, arguments: LaunchArguments, stream: int) -> None:
        """Puts a launch into a stream, given by its handle."""
        self._launch(
            self._function,
            arguments.blocks,
            self._shared_bytes,
            stream,
            arguments.of_kernel(),
            PARAMETERS.values(),
        )

    def launch_warps(self, arguments: WarpArguments, stream: int) -> None:
        """Puts a launch into a stream, given by its handle, of a kernel whose workers are warps."""
        parameters = PackedParameters(arguments)
        with self._context:
            call(
                "cuLaunchKernel",
                *(self._function, arguments.blocks, 1, 1, self._threads, 1, 1),
                *(self._shared_bytes, stream, parameters.address, 0),
            )

    def map(self, arguments: LaunchArguments, stream: int) -> None:
        """Puts the thread mapping of a launch into a stream."""
        self._launch(
            self._map_function,
            map_blocks(self._features, self._threads),
            map_shared_bytes(self._threads),
            stream,
            arguments.of_map_kernel(),
            MAP_PARAMETERS.values(),
        )

    def _launch(
        self,
        function: Any,
        blocks: int,
        shared_bytes: int,
        stream: int,
        values: tuple[int, ...],
        types: Iterable[str],
    ) -> None:
        kinds = tuple(ctypes.c_int if type == "int" else ctypes.c_void_p for type in types)
        with self._context:
            call(
                "cuLaunchKernel",
                *(function, blocks, 1, 1, self._threads, 1, 1, shared_bytes, stream),
                *((values, kinds), 0),
            )


class PackedParameters:
    """What a launch is given where a parameter is a structure: addresses of all parameters, at
    ``address``, as long as the object lives."""

    def __init__(self, arguments: WarpArguments) -> None:
        values = arguments.of_kernel()
        own = arguments.plan_parameter()
        plan = np.zeros(max(len(own), PARAMETER_BYTES), np.uint8)
        plan[: len(own)] = own
        self._kept = np.array([*values, 0], np.int64), plan
        numbers = self._kept[0]
        self._addresses = numbers.ctypes.data + numbers.itemsize * np.arange(len(numbers))
        self._addresses[-1] = plan.ctypes.data
        self.address = self._addresses.ctypes.data


def carve_out(arch: str, blocks: int, shared_bytes: int) -> int:
    """Per cent of the most shared memory of a multiprocessor that so many blocks need.

    What shared memory does not have of it is cache.
    """
    limits = ARCHITECTURES[arch]
    needed = blocks * (shared_bytes + limits.shared_reserved)
    return min(100, -(-100 * needed // limits.shared_per_sm))
