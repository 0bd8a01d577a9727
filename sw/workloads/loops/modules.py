"""PyTorch modules as loop nests: tensor algebra by way of Einsum programs, all else directly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch import lowering as einsums
from gnarl.sw.workloads.einsum.pytorch.constants import CONSTANTS
from gnarl.sw.workloads.einsum.pytorch.moving import PARTS
from gnarl.sw.workloads.loops.expressions.program_nest import model_workload
from gnarl.sw.workloads.loops.pytorch import lowering as nests
from gnarl.sw.workloads.loops.pytorch.operators import SUPPORTED
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.pytorch.export import Exported, export, load, operator_name

_ALGEBRA = frozenset(
    each
    for each in (*einsums.OPERATORS, *CONSTANTS)
    if not each.startswith("aten.arange.") and each not in PARTS
)
"""Indices, and what makes tensors of parts, are computed by nests."""


def module_workload(module: Any, inputs: Any) -> LoopWorkload:
    """A module with the arguments of its ``forward``, see ``export.export``.

    The nest's arrays are called as the module calls its parameters and inputs, with _ for dots;
    sparse matrices are several. Raises ``WorkloadError`` naming the operator and its line.
    """
    graph = export(module, inputs, {*_ALGEBRA, *SUPPORTED})
    if not _is_algebra(graph) and not _names(graph) <= SUPPORTED:
        graph = export(module, inputs, SUPPORTED)
    return _workload(graph)


def file_workload(path: str | Path) -> LoopWorkload:
    """The workload of a file of ``torch.export.save``. Raises ``WorkloadError``."""
    return _workload(load(path))


def _workload(graph: Exported) -> LoopWorkload:
    if not _is_algebra(graph):
        return nests.graph_workload(graph)
    try:
        return model_workload(einsums.lower(graph, {}))
    except WorkloadError:
        # Parts of dimensions, say, which statements do not have.
        if not _names(graph) <= SUPPORTED:
            raise
    return nests.graph_workload(graph)


def _is_algebra(graph: Exported) -> bool:
    """Whether Einsum programs have all its operators, and everything is float32."""
    tensors = [node.meta.get("val") for node in graph.nodes]
    types = {str(each.dtype) for each in tensors if hasattr(each, "dtype")}
    return _names(graph) <= _ALGEBRA and types == {"torch.float32"}


def _names(graph: Exported) -> set[str]:
    return {operator_name(node) for node in graph.nodes if node.op == "call_function"}
