"""Workloads from what people have: models of embedding layers, PyTorch modules, and expressions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.compile import CudaWorkload
from gnarl.sw.workloads.embedding.inputs import refuse_tensors
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues
from gnarl.sw.workloads.embedding.recflex import source_model
from gnarl.sw.workloads.loops.pytorch.embedding_layer import file_model, module_model
from gnarl.sw.workloads.pytorch.export import SUFFIX, is_module
from gnarl.sw.workloads.tensor.sources import is_expression, load_expression, tensor_workload

CudaSource: TypeAlias = str | Path | tuple[Any, Any] | CudaWorkload


def source(text: str, tensors: Mapping[str, str]) -> CudaSource:
    """A model's folder or file, or an expression with operands from files by name."""
    if is_expression(text):
        return load_expression(text, tensors)
    refuse_tensors(tensors)
    return Path(text)


def workload(source: CudaSource, seed: int = 0) -> CudaWorkload:
    """The model in a folder or Python file, or as it is; that of a PyTorch module in a tuple with
    arguments of its ``forward``, or of what ``torch.export.save`` wrote; or an expression, see
    ``gnarl.sw.workloads.tensor.sources``. Raises ``WorkloadError``."""
    if isinstance(source, EmbeddingModel | ModelWithValues):
        return source
    if is_module(source):
        raise WorkloadError(
            f"a {type(source).__name__}: must be in a tuple with arguments of its forward"
        )
    if isinstance(source, tuple) and len(source) == 2 and is_module(source[0]):
        return module_model(*source)
    if isinstance(source, str | Path) and Path(source).suffix == SUFFIX:
        return file_model(source)
    path: Any = source
    return tensor_workload(source) or source_model(path)
