"""What generated kernels of embedding layers have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.sw.compiler.cuda.task_plan import TaskLayout

CONSTANT_BYTES = 48 << 10
"""Bytes of constant memory that features may take; those of larger models are in global memory."""

SHARED_MEMORY = "gnarl_shared_memory"
"""The array that a block's shared memory is."""

CXX_TYPES = {
    "float32": "float",
    "float16": "gnarl::Float16",
    "bfloat16": "gnarl::BFloat16",
    "int8_rowwise": "gnarl::Int8Rowwise",
    "int4_rowwise": "gnarl::Int4Rowwise",
    "fp8_rowwise": "gnarl::Fp8Rowwise",
}
"""C++ types of elements, by name."""

CXX_POOLING = {name: f"gnarl::Pooling::k{name.capitalize()}" for name in ("sum", "mean", "max")}


BATCH_PARAMETERS = {
    "tables": "const void* const*",
    "indices": "const gnarl::Index*",
    "offsets": "const gnarl::Index*",
    "weights": "const float*",
    "output0": "void*",
    "output1": "void*",
    "output2": "void*",
    "workspace": "unsigned char*",
    "error": "gnarl::ErrorRecord*",
}
"""The first parameters of every fused kernel: the fields of ``BatchAddresses`` in
``embedding.cuh``, in their order."""


@dataclass(frozen=True)
class FusedKernel:
    """CUDA C++ of a fused kernel, and what launching it needs.

    source
        the translation unit.
    code_of_feature
        for each feature the number of its branch.
    shared_bytes
        dynamic shared memory of every block.
    name
        of the kernel in it.
    layout
        features in the order of a kernel of warps; ``None`` where workers are blocks.
    """

    source: str
    code_of_feature: tuple[int, ...]
    shared_bytes: int
    name: str
    layout: TaskLayout | None = None


def kernel_head(kernel: str, parameters: Mapping[str, str]) -> Iterator[str]:
    """A kernel's name and parameters, up to the brace that its body begins behind."""
    listed = [f"{type} {name}" for name, type in parameters.items()]
    yield f"{kernel}("
    yield "    " + ",\n    ".join(listed) + ") {"


def table_lines(rows: np.ndarray) -> Iterator[str]:
    """A structured array's rows as initializers, a few to a line."""
    texts = ["{" + ", ".join(map(str, row)) + "}," for row in rows.tolist()]
    for at in range(0, len(texts), 4):
        yield "  " + " ".join(texts[at : at + 4])
