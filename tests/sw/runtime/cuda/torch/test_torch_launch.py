"""Launches from PyTorch, with a GPU's streams and memory stood in for by the host's.

The kernel that is launched is the emulated one, on what has been staged for the GPU.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings")

from hw.lib.errors import GnarlError  # noqa: E402
from sw.compiler.cuda.layouts import FEATURE_ARGUMENTS, TASK  # noqa: E402
from sw.compiler.cuda.templates import templates  # noqa: E402
from sw.golden.embedding import embedding_bags  # noqa: E402
from sw.runtime.cuda.emulation import embedding as emulated  # noqa: E402
from sw.runtime.cuda.emulation.kernels import GlobalArray  # noqa: E402
from sw.runtime.cuda.torch import launch as torch_launch  # noqa: E402
from sw.runtime.cuda.torch.emulation import emulated_kernels  # noqa: E402
from sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from sw.runtime.cuda.torch.lookup import Lookup  # noqa: E402
from sw.workloads.embedding.data import (  # noqa: E402
    synthesise_batch,
    synthesise_tables,
)
from sw.workloads.embedding.model import (  # noqa: E402
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from tests.support.torch_embedding import from_array, fused, inputs_of  # noqa: E402

STREAM = 7
FACTORS = PoolingFactors(mean=9, std=5)
MODEL = EmbeddingModel(
    "m",
    (
        Feature("a", 30, 32, factors=FACTORS),
        Feature("b", 20, 8, "mean", weighted=True, factors=FACTORS),
        Feature("c", 9, 16, "max", output_type="float16", factors=FACTORS),
        Feature("d", 9, 16, factors=FACTORS),
        Feature("e", 9, 16, factors=FACTORS),
    ),
)


def pretend_gpu(monkeypatch: pytest.MonkeyPatch, capturing: bool = False) -> None:
    here = torch.device("cpu")
    monkeypatch.setattr(torch_launch, "_workspaces", {})
    monkeypatch.setattr(
        torch_launch,
        "torch",
        SimpleNamespace(
            cuda=SimpleNamespace(
                device=lambda device: nullcontext(),
                current_stream=lambda device: SimpleNamespace(cuda_stream=STREAM),
                is_current_stream_capturing=lambda: capturing,
            ),
            device=lambda kind, index: here,
            empty=lambda size, dtype, pin_memory: torch.empty(size, dtype=dtype),
            zeros=lambda size, dtype, device: torch.zeros(size, dtype=dtype),
            uint8=torch.uint8,
        ),
    )


class Kernel:
    """In place of ``LoadedKernel``: sees the memory of a lookup, and what is staged."""

    def __init__(self, lookup: Lookup, outputs: list[torch.Tensor]) -> None:
        self.lookup, self.outputs = lookup, outputs
        self.streams: list[int] = []

    def launch(
        self, arguments: int, tasks: int, feature_blocks: int, blocks: int, stream: int
    ) -> None:
        lookup, features = self.lookup, len(self.lookup.counts)
        self.streams.append(stream)
        assert arguments % 16 == tasks % 16 == feature_blocks % 16 == 0
        tensors: list[Any] = [*lookup.tables, lookup.values, lookup.offsets, lookup.weights]
        (workspace,) = torch_launch._workspaces.values()
        written = [*self.outputs, workspace]
        emulated.launch(
            emulated_kernels(lookup.compiled.text),
            lookup.compiled.program,
            GlobalArray("arguments", _at(arguments, features, FEATURE_ARGUMENTS)),
            GlobalArray("tasks", _at(tasks, blocks, TASK)),
            GlobalArray("feature blocks", _at(feature_blocks, features, np.dtype(np.int32))),
            [
                *(GlobalArray(f"input {n}", to_array(each)) for n, each in enumerate(tensors)),
                *(
                    GlobalArray(f"output {n}", to_array(each), True)
                    for n, each in enumerate(written)
                ),
            ],
        )
        assert not workspace.any()


def _at(address: int, count: int, dtype: np.dtype) -> np.ndarray:
    buffer = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(bytearray(buffer), dtype)


def lookup_of(size: int) -> tuple[Lookup, list[np.ndarray]]:
    """And its outputs by the golden model."""
    tables = synthesise_tables(MODEL)
    batch = synthesise_batch(MODEL, size, seed=size)
    module = fused([from_array(table) for table in tables], MODEL.features, list(templates()))
    values, offsets, weights = inputs_of(MODEL, batch)
    packed = module._pack(values, offsets, None, weights)
    lookup = Lookup(
        list(module.parameters()),
        packed.values,
        packed.offsets,
        packed.weights,
        packed.counts,
        module._program,
    )
    return lookup, embedding_bags(MODEL, tables, batch)


def test_a_gpu_is_given_all_that_the_kernel_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu(monkeypatch)
    for size in (5, 40, 0, 17):
        lookup, golden = lookup_of(size)
        outputs = lookup.new_outputs()
        kernel = Kernel(lookup, outputs)
        monkeypatch.setattr(torch_launch, "_loaded", lambda text, device, kernel=kernel: kernel)
        torch_launch.launch(lookup, outputs)
        assert kernel.streams == [STREAM]
        for found, right in zip(lookup.of_features(outputs), golden, strict=True):
            assert to_array(found.contiguous()).tobytes() == right.tobytes()


def test_lookups_are_not_captured_in_cuda_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpu(monkeypatch, capturing=True)
    lookup, _ = lookup_of(3)
    text = "input: lookups cannot be captured in a CUDA graph: the grid depends on the batch"
    with pytest.raises(GnarlError, match=f"^{re.escape(text)}$"):
        torch_launch.launch(lookup, lookup.new_outputs())
