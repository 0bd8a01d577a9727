"""PyTorch's embedding bags, one kernel or so for each feature; and TorchRec's fused kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.cuda_parts.cold_start import ColdStart
from bench.cuda_parts.contenders import LeftOut
from bench.cuda_parts.jagged_inputs import JaggedInputs
from bench.cuda_parts.traffic import INDEX
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

Prepare = Callable[[Batch], Callable[[], Any]]
"""Brings a batch to the device; what it returns launches the kernels."""

Make = Callable[[EmbeddingModel, Sequence[np.ndarray], str], Prepare]
"""A function that prepares a contender of a model with tables, on a device of PyTorch's. Raises
``LeftOut`` where it cannot compute the model."""


@dataclass
class TorchContender:
    """What PyTorch runs in its current stream.

    replayed
        whether it is recorded as a CUDA graph first: what launches more kernels than a stream's
        queue holds would wait for them.
    """

    prepare: Prepare
    cold: ColdStart
    replayed: bool = True
    mapping_ms: float = field(default=0.0, init=False)

    def time(self, batch: Batch) -> float:
        import torch

        with torch.no_grad():
            launch = self.prepare(batch)
            if self.replayed:
                launch()  # loads what may not be loaded during a capture
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    launch()
                launch = graph.replay
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

            def put() -> None:
                begin.record()
                launch()
                end.record()

            self.cold.put(torch.cuda.current_stream().cuda_stream, put)
            end.synchronize()
            return float(begin.elapsed_time(end))

    def outputs(self, batch: Batch) -> list[np.ndarray] | None:
        """Outputs as PyTorch gives them."""
        import torch

        with torch.no_grad():
            self.prepare(batch)()
        return None


def embedding_bags(model: EmbeddingModel, tables: Sequence[np.ndarray], device: str) -> Prepare:
    """``torch.nn.functional.embedding_bag`` of each feature."""
    torch = require_torch()
    for feature in model.features:
        if feature.table_type != feature.output_type:
            raise LeftOut(f"feature {feature.name}: embedding_bag keeps the tables' type")
    on_device = [to_tensor(table, device) for table in tables]

    def prepare(batch: Batch) -> Callable[[], list[Any]]:
        indices = _tensors([each.indices.astype(INDEX) for each in batch.features], device)
        offsets = _tensors([each.offsets.astype(INDEX) for each in batch.features], device)
        weights = [
            None if each.weights is None else to_tensor(each.weights, device)
            for each in batch.features
        ]

        def launch() -> list[Any]:
            return [
                torch.nn.functional.embedding_bag(
                    rows,
                    table,
                    bags,
                    mode=feature.pooling,
                    per_sample_weights=weight,
                    include_last_offset=True,
                )
                for feature, table, rows, bags, weight in zip(
                    model.features, on_device, indices, offsets, weights, strict=True
                )
            ]

        return launch

    return prepare


def torchrec(model: EmbeddingModel, tables: Sequence[np.ndarray], device: str) -> Prepare:
    """FBGEMM's table-batched embedding bags, TorchRec's kernel."""
    torch = require_torch()
    try:
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import (
            BoundsCheckMode,
            EmbeddingLocation,
            PoolingMode,
        )
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice,
            SplitTableBatchedEmbeddingBagsCodegen,
        )
    except Exception as error:  # what a package for another CUDA or PyTorch raises is its own
        raise LeftOut(f"fbgemm_gpu cannot be used: {first_line(error)}") from None
    for feature in model.features:
        plain = feature.pooling == "sum" and feature.table_type == feature.output_type == "float32"
        if not plain or feature.weighted or feature.dim % 4:
            raise LeftOut(
                f"feature {feature.name}: measured of sums in float32 without weights, dim a "
                "multiple of 4"
            )
    known = inspect.signature(SplitTableBatchedEmbeddingBagsCodegen).parameters
    types = ("embedding_table_index_type", "embedding_table_offset_type")
    fused = SplitTableBatchedEmbeddingBagsCodegen(
        [
            (feature.rows, feature.dim, EmbeddingLocation.DEVICE, ComputeDevice.CUDA)
            for feature in model.features
        ],
        optimizer=EmbOptimType.EXACT_SGD,
        pooling_mode=PoolingMode.SUM,
        bounds_check_mode=BoundsCheckMode.NONE,  # a kernel of its own
        device=torch.device(device),
        **{name: torch.int32 for name in types if name in known},  # older versions widen them
    )
    for weights, table in zip(fused.split_embedding_weights(), tables, strict=True):
        weights.copy_(torch.from_numpy(table))

    def prepare(batch: Batch) -> Callable[[], Any]:
        inputs = JaggedInputs.of(model, batch, device)
        return lambda: fused(inputs.values(), inputs.offsets())

    return prepare


def require_torch() -> Any:
    """The module. Raises ``LeftOut`` without it, or without a GPU that it finds."""
    try:
        import torch
    except ImportError:
        raise LeftOut("PyTorch is not installed") from None
    if not torch.cuda.is_available():
        raise LeftOut(f"PyTorch {torch.__version__} finds no GPU")
    return torch


def to_tensor(array: np.ndarray, device: str) -> Any:
    """The array as a tensor on a device, in its type."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).to(device).view(torch.bfloat16)
    return torch.from_numpy(array).to(device)


def _tensors(arrays: Sequence[np.ndarray], device: str) -> Sequence[Any]:
    """Arrays of one type on the device, with one copy for all."""
    return to_tensor(np.concatenate(arrays), device).split([len(array) for array in arrays])


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its type if it has no text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
