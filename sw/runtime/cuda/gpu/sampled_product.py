"""Runs sampled products on a GPU."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.compiler.cuda.tensor.sampled_product import (
    KERNEL,
    SampledOperands,
    SampledProductProgram,
)
from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, Event, Stream, load, store
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.gpu.loaded_module import LoadedModule
from gnarl.sw.runtime.cuda.memory_layout import places


class GpuSampledProduct:
    """The kernel of a program, on a device. Raises ``GpuError`` where there is no such GPU."""

    def __init__(self, program: SampledProductProgram, device: int = 0) -> None:
        require_gpu(program.arch, device)
        self._program = program
        self._context = Context(device)
        self._stream = Stream(self._context)
        compiled = compile_kernel(program.source, program.arch, include=[INCLUDE], kernel=KERNEL)
        self._module = LoadedModule(self._context, compiled.cubin, [KERNEL])

    def run(self, operands: SampledOperands) -> tuple[np.ndarray, Mapping[str, int]]:
        """Values of the entries, [entries]; blocks, and the kernel's nanoseconds by events."""
        entries, type = len(operands.samples), operands.left.dtype
        arrays = [*operands.coordinates, operands.samples, operands.left, operands.right]
        begins, size = places([*(array.nbytes for array in arrays), entries * type.itemsize])
        memory = DeviceMemory(self._context, size)
        addresses = (memory.address + begins).tolist()
        begin, end = Event(self._context), Event(self._context)
        blocks = self._program.blocks(entries)
        arguments = [np.uint64(argument) for argument in (*addresses, entries)]
        with self._context:
            for address, array in zip(addresses, arrays, strict=False):
                store(address, array)
            begin.record(self._stream.handle)
            self._module.launch(
                KERNEL, blocks, self._program.block_threads, arguments, self._stream.handle
            )
            end.record(self._stream.handle)
            end.synchronise()
            values = load(addresses[-1], (entries,), type)
            return values, {"blocks": blocks, "kernel_ns": round(1e6 * end.ms_since(begin))}
