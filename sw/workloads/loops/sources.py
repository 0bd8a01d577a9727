"""Workloads by name, or from files: ``embedding_bag:rm1:L0``, ``nest.py``, ``nest.py:function``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.python_files import split_name
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.sequence import begun
from gnarl.sw.workloads.loops.operation_families import (
    Bags,
    Family,
    Gathers,
    Graphs,
    KnowledgeGraphs,
    Matrices,
    Vectors,
    nearest,
)
from gnarl.sw.workloads.loops.operations import (
    block_gather,
    embedding_bag,
    fused_mm,
    knowledge_graph,
    sparse_matrices,
    sparse_vectors,
    spmm,
)
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from gnarl.sw.workloads.made_up import ZEROS, random_values
from gnarl.sw.workloads.tensor.tensor_files import load_array

_READERS = {".py": python_source.read_file, ".c": c_source.read_file}


@dataclass(frozen=True)
class Operation:
    """An operation of Ember's table I, or of merging: its nest, and what gives its inputs."""

    nest: Nest
    family: Family


OPERATIONS: dict[str, Operation] = {
    "embedding_bag": Operation(embedding_bag.embedding_bag_sum, Bags()),
    "embedding_bag_weighted": Operation(embedding_bag.embedding_bag_weighted, Bags()),
    "embedding_bag_mean": Operation(embedding_bag.embedding_bag_mean, Bags()),
    "embedding_bag_weighted_mean": Operation(embedding_bag.embedding_bag_weighted_mean, Bags()),
    "embedding_bag_max": Operation(embedding_bag.embedding_bag_max, Bags()),
    "embedding_bag_lengths": Operation(embedding_bag.embedding_bag_lengths, Bags()),
    "block_gather": Operation(block_gather.block_gather, Gathers(per_query=False)),
    "token_gather": Operation(block_gather.token_gather, Gathers(per_query=True)),
    "spmm": Operation(spmm.spmm_csr, Graphs()),
    "spmm_coo": Operation(spmm.spmm_coo, Graphs()),
    "fused_mm": Operation(fused_mm.fused_mm, Graphs()),
    "knowledge_graph_l1": Operation(knowledge_graph.knowledge_graph_l1, KnowledgeGraphs()),
    "knowledge_graph_l2": Operation(knowledge_graph.knowledge_graph_l2, KnowledgeGraphs()),
    "vector_product": Operation(sparse_vectors.vector_product, Vectors()),
    "vector_sum": Operation(sparse_vectors.vector_sum, Vectors()),
    "compressed_vector_product": Operation(sparse_vectors.compressed_vector_product, Vectors()),
    "compressed_vector_sum": Operation(sparse_vectors.compressed_vector_sum, Vectors()),
    "matrix_elementwise_product": Operation(sparse_matrices.matrix_elementwise_product, Matrices()),
    "matrix_sum": Operation(sparse_matrices.matrix_sum, Matrices()),
    "matrix_product": Operation(sparse_matrices.matrix_product, Matrices()),
    "compressed_matrix_elementwise_product": Operation(
        sparse_matrices.compressed_matrix_elementwise_product, Matrices()
    ),
    "compressed_matrix_sum": Operation(sparse_matrices.compressed_matrix_sum, Matrices()),
    "compressed_matrix_product": Operation(sparse_matrices.compressed_matrix_product, Matrices()),
}


def named_workload(name: str, seed: int = 0) -> LoopWorkload:
    """The workload ``OPERATION:SHAPE`` or ``OPERATION:SHAPE:DETAIL``; see ``operation_families``.

    Raises ``WorkloadError`` that names the nearest of those that there are.
    """
    operation, *rest = name.split(":")
    if operation not in OPERATIONS:
        raise WorkloadError(f"{name}: no operation {operation!r}: {nearest(operation, OPERATIONS)}")
    nest, family = OPERATIONS[operation].nest, OPERATIONS[operation].family
    form = f"{operation}:SHAPE" + (f"[:{family.detail}]" if family.detail else "")
    if not 1 <= len(rest) <= 1 + bool(family.detail):
        raise WorkloadError(f"{name}: must be {form}, with SHAPE of {', '.join(family.shapes)}")
    shape, detail = rest[0], rest[1] if len(rest) == 2 else None
    if not family.is_shape(shape):
        raise WorkloadError(f"{name}: no shape {shape!r}: {nearest(shape, family.shapes)}")
    try:
        inputs = family.inputs(shape, detail, seed)
    except WorkloadError as error:
        raise WorkloadError(f"{name}: {error}") from None
    sizes = {size.name for size in nest.sizes}
    return LoopWorkload(
        name,
        nest,
        {each: array for each, array in inputs.arrays.items() if each in nest.arrays},
        {each: size for each, size in inputs.sizes.items() if each in sizes},
        made_up=random_values(
            (each for each in nest.arrays if each in inputs.arrays.keys() - inputs.of_file), seed
        ),
    )


def is_named(text: str) -> bool:
    """Whether a text is such a name rather than that of a file."""
    return not Path(text).exists() and not Path(text.partition(":")[0]).suffix


def file_workload(text: str, tensors: Mapping[str, str]) -> LoopWorkload:
    """The nest of ``FILE.py``, ``FILE.c``, or one of these and ``:FUNCTION``, with arrays from
    files by name."""
    file, function = split_name(text)
    if Path(file).suffix not in _READERS:
        raise WorkloadError(
            f"{file}: must be a .py or .c file of a loop nest, or the name of an operation, as "
            "embedding_bag:rm1"
        )
    nest = _READERS[Path(file).suffix](file, function or None)
    arrays = load_arrays(tensors)
    zeros = {name: ZEROS for name in begun(nest) if name not in arrays}
    own = frozenset(nest.temporaries)
    return LoopWorkload(nest.name, nest, arrays, temporaries=own, made_up=zeros)


def load_arrays(paths: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays by name, from the files that ``load_array`` reads. Raises ``WorkloadError`` that names
    the file."""
    return {name: load_array(path, name) for name, path in paths.items()}
