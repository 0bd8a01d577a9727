"""Launches backward kernels: on a GPU in PyTorch's current stream, or in the emulation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.backward_kernels import (
    BLOCK_THREADS,
    FIND_KEYS,
    PARAMETERS,
    backward_source,
)
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from gnarl.sw.runtime.cuda.gpu.driver import Context
from gnarl.sw.runtime.cuda.gpu.gpus import require_gpu
from gnarl.sw.runtime.cuda.gpu.loaded_module import LoadedModule
from gnarl.sw.runtime.cuda.torch.backward import Arguments, Launch
from gnarl.sw.runtime.cuda.torch.extra import to_array, torch
from gnarl.sw.runtime.cuda.torch.kept import keep_if_captured


def on_gpu(program: BackwardProgram, arch: str, device: int) -> Launch:
    """Launches for tensors of that GPU, for which the host does not wait.

    Raises ``GnarlError`` for a GPU that kernels for ``arch`` do not run on, and where one does not
    compile.
    """
    module = _loaded(program, arch, device)

    def launch(kernel: str, blocks: int, arguments: Arguments) -> None:
        values = [
            each
            if isinstance(each, np.integer)
            else np.uint64(0 if each is None else each.data_ptr())
            for each in arguments.values()
        ]
        stream = torch.cuda.current_stream(device).cuda_stream
        module.launch(kernel, blocks, BLOCK_THREADS, values, stream)
        keep_if_captured(module)

    return launch


def emulated(program: BackwardProgram, memory: Sequence[torch.Tensor]) -> Launch:
    """Launches in the emulation, for tensors of the CPU. ``memory``: those that others have
    addresses of.

    What is launched raises ``GnarlError`` for whatever a kernel must not do.
    """
    kernels = _emulated(program)
    reached = [
        GlobalArray(f"table or state {n}", to_array(each), True) for n, each in enumerate(memory)
    ]

    def launch(kernel: str, blocks: int, arguments: Arguments) -> None:
        values = [
            GlobalArray(name, to_array(each), True)
            if isinstance(each, torch.Tensor)
            else np.uint64(0)
            if each is None
            else each
            for name, each in arguments.items()
        ]
        kernels.launch(kernel, blocks, BLOCK_THREADS, values, reached)

    return launch


@lru_cache(maxsize=64)
def _loaded(program: BackwardProgram, arch: str, device: int) -> LoadedModule:
    require_gpu(arch, device)
    source = backward_source(program)
    compiled = compile_kernel(source, arch, include=[INCLUDE], kernel=FIND_KEYS)
    kernels = [name for name in PARAMETERS if f"{name}(" in source]
    return LoadedModule(Context(device), compiled.cubin, kernels)


@lru_cache(maxsize=64)
def _emulated(program: BackwardProgram) -> EmulatedKernels:
    return EmulatedKernels(
        backward_source(program), [INCLUDE], name=f"backward of {program.model.name}"
    )
