"""Launches from PyTorch, with a GPU's streams and memory stood in for by the host's.

The kernel that is launched is the emulated one, on what has been staged for the GPU.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings")

from gnarl.sw.compiler.cuda.fusion import (  # noqa: E402
    KERNEL,
    MAP_KERNEL,
    MAP_PARAMETERS,
    PARAMETERS,
    map_blocks,
    map_shared_bytes,
)
from gnarl.sw.compiler.cuda.warp_fusion import WARP_KERNEL, WARP_PARAMETERS  # noqa: E402
from gnarl.sw.golden.embedding import embedding_bags  # noqa: E402
from gnarl.sw.runtime.cuda.arguments import LaunchArguments, WarpArguments  # noqa: E402
from gnarl.sw.runtime.cuda.emulation.embedding import kernel_arguments  # noqa: E402
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray  # noqa: E402
from gnarl.sw.runtime.cuda.torch import kept  # noqa: E402
from gnarl.sw.runtime.cuda.torch import launch as torch_launch  # noqa: E402
from gnarl.sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from gnarl.sw.runtime.cuda.torch.lookup import Lookup  # noqa: E402
from gnarl.sw.workloads.embedding.data import (  # noqa: E402
    synthesise_batch,
    synthesise_tables,
)
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from tests.support.cuda.torch_embedding import from_array, fused, inputs_of, names_of  # noqa: E402

STREAM = 7
QUEUES = 4
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


class PretendedGpu:
    """Streams and memory of PyTorch on a GPU, for ``gnarl.sw.runtime.cuda.torch.launch``; and
    kernels, in the emulation, that see what has been allocated there and the lookup's tensors."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capturing: bool = False) -> None:
        self.capturing = capturing
        self.allocated: list[torch.Tensor] = []
        self.calls: list[tuple[str, int]] = []
        self.zeroed: list[torch.Tensor] = []
        monkeypatch.setattr(torch_launch, "_zeroes", {})
        monkeypatch.setattr(torch_launch, "Context", lambda device: None)
        monkeypatch.setattr(torch_launch, "DeviceMemory", self._memory)
        monkeypatch.setattr(kept, "_addresses", {})
        monkeypatch.setattr(kept, "_captured", [])
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)
        monkeypatch.setattr(
            torch_launch,
            "torch",
            SimpleNamespace(
                cuda=SimpleNamespace(
                    device=lambda device: nullcontext(),
                    current_stream=lambda device: SimpleNamespace(cuda_stream=STREAM),
                    is_current_stream_capturing=lambda: self.capturing,
                ),
                device=lambda kind, index: torch.device("cpu"),
                empty=lambda size, dtype, device: self._new(torch.full((size,), 255, dtype=dtype)),
                zeros=lambda size, dtype, device: self._new(torch.zeros(size, dtype=dtype)),
                uint8=torch.uint8,
            ),
        )

    def _memory(self, context: None, size: int, *, zeroed: bool) -> SimpleNamespace:
        assert zeroed
        self.zeroed.append(self._new(torch.zeros(size, dtype=torch.uint8)))
        return SimpleNamespace(address=self.zeroed[-1].data_ptr(), size=size)

    def _new(self, tensor: torch.Tensor) -> torch.Tensor:
        self.allocated.append(tensor)
        return tensor

    def run(
        self, monkeypatch: pytest.MonkeyPatch, lookup: Lookup, addresses: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        """Its outputs. Without addresses those of the lookup's own tables."""
        outputs = lookup.new_outputs()
        kernel = Kernel(self, lookup, outputs)
        monkeypatch.setattr(torch_launch, "_loaded", lambda *_: (kernel, QUEUES))
        if addresses is None:
            addresses = torch_launch.table_addresses(lookup)
        self.allocated.append(addresses)
        torch_launch.launch(lookup, outputs, addresses)
        return outputs


class Kernel:
    """In place of ``LoadedKernel``."""

    def __init__(self, gpu: PretendedGpu, lookup: Lookup, outputs: list[torch.Tensor]) -> None:
        self.gpu, self.lookup, self.outputs = gpu, lookup, outputs

    def map(self, arguments: LaunchArguments, stream: int) -> None:
        self.gpu.calls.append(("map", stream))
        program = self.lookup.compiled.program
        threads = program.schedules.block_threads
        blocks = map_blocks(len(program.model.features), threads)
        values = kernel_arguments(MAP_PARAMETERS, arguments.of_map_kernel())
        self._run(MAP_KERNEL, blocks, values, map_shared_bytes(threads))

    def launch(self, arguments: LaunchArguments, stream: int) -> None:
        self.gpu.calls.append(("launch", stream))
        values = kernel_arguments(PARAMETERS, arguments.of_kernel())
        shared_bytes = self.lookup.compiled.program.kernel.shared_bytes
        self._run(KERNEL, arguments.blocks, values, shared_bytes)

    def launch_warps(self, arguments: WarpArguments, stream: int) -> None:
        self.gpu.calls.append(("launch", stream))
        parameters = {name: kind for name, kind in WARP_PARAMETERS.items() if name != "plan"}
        values = kernel_arguments(parameters, arguments.of_kernel())
        shared_bytes = self.lookup.compiled.program.kernel.shared_bytes
        self._run(
            WARP_KERNEL, arguments.blocks, [*values, arguments.plan_parameter()], shared_bytes
        )

    def _run(self, name: str, blocks: int, values: list[Any], shared_bytes: int) -> None:
        lookup, program = self.lookup, self.lookup.compiled.program
        defines = {"GNARL_INDEX_64": "1"} if lookup.index_bits == 64 else {}
        read = [*lookup.tables, lookup.values, lookup.offsets, lookup.weights]
        written = [*self.outputs, *self.gpu.allocated]
        EmulatedKernels(program.kernel.source, program.include, defines).launch(
            name,
            blocks,
            program.schedules.block_threads,
            values,
            [
                *(GlobalArray(f"input {n}", to_array(each)) for n, each in enumerate(read)),
                *(
                    GlobalArray(f"output {n}", to_array(each), True)
                    for n, each in enumerate(written)
                    if each.numel()
                ),
            ],
            shared_bytes,
        )


def lookup_of(
    size: int, index: torch.dtype = torch.int64, workers: str = "warps"
) -> tuple[Lookup, list[np.ndarray]]:
    """And its outputs by the golden model."""
    tables = synthesise_tables(MODEL)
    batch = synthesise_batch(MODEL, size, seed=size)
    module = fused([from_array(table) for table in tables], MODEL.features, names_of(workers))
    values, offsets, weights = inputs_of(MODEL, batch)
    packed = module._pack(values, offsets, None, weights)
    lookup = Lookup(
        list(module.parameters()),
        packed.values.to(index),
        packed.offsets.to(index),
        packed.weights,
        module._handle,
    )
    return lookup, embedding_bags(MODEL, tables, batch)


def require_golden(lookup: Lookup, outputs: list[torch.Tensor], golden: list[np.ndarray]) -> None:
    for found, right in zip(lookup.of_features(outputs), golden, strict=True):
        assert to_array(found.contiguous()).tobytes() == right.tobytes()


CALLS = {"blocks": [("map", STREAM), ("launch", STREAM)], "warps": [("launch", STREAM)]}


@pytest.mark.parametrize("workers", CALLS)
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_a_gpu_is_given_all_that_the_kernels_read(
    index: torch.dtype, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = PretendedGpu(monkeypatch)
    for size in (5, 40, 0, 17):
        lookup, golden = lookup_of(size, index, workers)
        gpu.calls.clear()
        require_golden(lookup, gpu.run(monkeypatch, lookup), golden)
        assert gpu.calls == CALLS[workers]
        # But for the count of tasks, and of those in a queue.
        assert not gpu.zeroed[-1][8 if workers == "blocks" else 0 :].any()


def test_kernels_of_either_workers_take_turns_in_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = PretendedGpu(monkeypatch)
    for workers in ("blocks", "warps", "blocks", "warps"):
        lookup, golden = lookup_of(17, workers=workers)
        require_golden(lookup, gpu.run(monkeypatch, lookup), golden)
    assert len(gpu.zeroed) == 2


@pytest.mark.parametrize("workers", CALLS)
def test_nothing_on_the_device_is_read_by_the_host(
    workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of indices, above all."""
    gpu = PretendedGpu(monkeypatch)
    lookup, golden = lookup_of(20, workers=workers)
    addresses = torch_launch.table_addresses(lookup)
    later = Lookup(lookup.tables, lookup.values, lookup.offsets, lookup.weights, lookup.program)
    monkeypatch.setattr(Lookup, "counts", property(lambda _: pytest.fail("counts were fetched")))
    require_golden_outputs = gpu.run(monkeypatch, later, addresses)
    monkeypatch.undo()
    require_golden(lookup, require_golden_outputs, golden)


@pytest.mark.parametrize("workers", CALLS)
def test_captured_lookups_have_memory_of_their_own(
    workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = PretendedGpu(monkeypatch, capturing=True)
    lookup, golden = lookup_of(17, workers=workers)
    for turn in range(2):
        before = len(gpu.allocated)
        require_golden(lookup, gpu.run(monkeypatch, lookup), golden)
        assert torch_launch._zeroes == {}
        assert len(gpu.allocated) >= before + 2
        # The kernel, the tables' addresses, and the memory that is zeroed in each replay.
        assert len(kept._captured) == 3 * (turn + 1)


def test_addresses_of_equal_tables_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    PretendedGpu(monkeypatch)
    lookup, _ = lookup_of(3)
    first = torch_launch.table_addresses(lookup)
    assert torch_launch.table_addresses(lookup) is first
    assert first.tolist() == [table.data_ptr() for table in lookup.tables]
