"""Workloads from what people have: models of embedding layers, and expressions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from gnarl.sw.compiler.cuda.compile import CudaWorkload
from gnarl.sw.workloads.embedding.inputs import refuse_tensors
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.recflex import source_model
from gnarl.sw.workloads.tensor.sources import is_expression, load_expression, tensor_workload

CudaSource: TypeAlias = str | Path | tuple[Any, Any] | CudaWorkload


def source(text: str, tensors: Mapping[str, str]) -> CudaSource:
    """A model's folder or Python file, or an expression with operands from files by name."""
    if is_expression(text):
        return load_expression(text, tensors)
    refuse_tensors(tensors)
    return Path(text)


def workload(source: CudaSource, seed: int = 0) -> CudaWorkload:
    """The model in a folder or Python file, or as it is; or an expression, see
    ``gnarl.sw.workloads.tensor.sources``."""
    if isinstance(source, EmbeddingModel):
        return source
    path: Any = source
    return tensor_workload(source) or source_model(path)
