"""Launches kernels of tests in the emulation."""

from __future__ import annotations

import numpy as np

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray, LaunchStatistics


def run(
    kernels: EmulatedKernels,
    kernel: str,
    grid: int,
    block: int,
    *arguments: object,
    shared_bytes: int = 0,
) -> LaunchStatistics:
    """Launches with arrays as writable memory and Python integers as 32-bit arguments."""
    return kernels.launch(
        kernel,
        grid,
        block,
        [
            GlobalArray(f"argument {index}", argument, writable=True)
            if isinstance(argument, np.ndarray)
            else np.int32(argument)
            if isinstance(argument, int)
            else argument
            for index, argument in enumerate(arguments)
        ],
        shared_bytes=shared_bytes,
    )
