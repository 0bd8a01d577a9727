"""Compiled kernels on a device, to be launched by name on anyone's memory and stream."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnarl.sw.runtime.cuda.gpu.driver import Context, call, free_with

_TYPES: dict[type, Any] = {np.int32: ctypes.c_int32, np.uint64: ctypes.c_void_p}


class LoadedModule:
    """Machine code: ``cubin``; ``kernels``: names of those in it that are launched.

    They are looked up at once, for while a CUDA graph is being captured nothing may be loaded.
    """

    def __init__(self, context: Context, cubin: bytes, kernels: Sequence[str]) -> None:
        self._context = context
        image = np.frombuffer(cubin, np.uint8)
        with context:
            self._module = call("cuModuleLoadData", image.ctypes.data)
            free_with(self, context, "cuModuleUnload", self._module)
            self._functions: dict[str, Any] = {
                kernel: call("cuModuleGetFunction", self._module, kernel.encode())
                for kernel in kernels
            }

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[np.integer], stream: int
    ) -> None:
        """Puts a launch into a stream, given by its handle.

        ``arguments``: ``np.uint64`` for addresses on the device, ``np.int32`` for integers.
        """
        types = tuple(_TYPES[type(argument)] for argument in arguments)
        values = tuple(map(int, arguments))
        with self._context:
            call(
                "cuLaunchKernel",
                *(self._functions[kernel], grid, 1, 1, block, 1, 1, 0, stream),
                *((values, types), 0),
            )
