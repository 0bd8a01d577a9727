"""Kernels that are launched by name, on a driver without a GPU."""

from __future__ import annotations

import numpy as np

from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.backward_kernels import BLOCK_THREADS, FIND_KEYS, backward_source
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.cuda import fake_cuda
from tests.support.cuda.fake_cuda import fake_gpus


def _keys() -> tuple[list[int], list[int]]:
    """Keys of two features' look-ups; and what the driver holds when the module is gone."""
    from gnarl.sw.compiler.cuda import nvrtc
    from gnarl.sw.runtime.cuda.gpu.driver import Context, DeviceMemory, Stream, load, store
    from gnarl.sw.runtime.cuda.gpu.loaded_module import LoadedModule

    model = EmbeddingModel("m", (Feature("a", 10, 4), Feature("b", 5, 4)))
    source = backward_source(BackwardProgram(model, (0, 1), (True, True)))
    compiled = nvrtc.compile_kernel(source, "sm_80", include=[INCLUDE], kernel=FIND_KEYS)
    context = Context(0)
    module, stream = LoadedModule(context, compiled.cubin, [FIND_KEYS]), Stream(context)
    given = [np.array([7, 9, 4]), np.array([0, 1, 2, 3, 3]), *[np.zeros(3, np.int32)] * 2]
    memory = [DeviceMemory(context, array.nbytes) for array in given]
    with context:
        for piece, array in zip(memory, given, strict=True):
            store(piece.address, array)
    indices, offsets, keys, bags = (np.uint64(piece.address) for piece in memory)
    arguments = [indices, offsets, np.uint64(0), np.int32(3), np.int32(2), keys, bags]
    for _ in range(2):
        module.launch(FIND_KEYS, 1, BLOCK_THREADS, arguments, stream.handle)
    stream.synchronise()
    with context:
        found = load(memory[2].address, (3,), np.dtype(np.int32)).tolist()
    ran = [launch["kernel"] for launch in fake_cuda.launches]
    del module
    return found, [len(ran), ran.count(FIND_KEYS), fake_cuda.live("modules")]


def test_kernels_are_launched_by_name_on_addresses_and_integers() -> None:
    with fake_gpus() as call:
        assert call(_keys) == ([7, 9, 14], [2, 2, 0])
