"""Products of dense matrices where a sparse one has entries: the kernel, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.source_parts import CXX_TYPES
from gnarl.sw.compiler.cuda.templates.template import MAXIMUM_VECTOR_BYTES
from gnarl.sw.compiler.cuda.tensor.kernel_expression import KernelExpression
from gnarl.sw.compiler.cuda.tensor.patterns import SampledProduct
from gnarl.sw.workloads.embedding.model import MAXIMUM_DIM, TABLE_TYPES
from gnarl.sw.workloads.tensor.tensor import Tensor

KERNEL = "gnarl_sampled_product"
PARAMETERS = {
    "rows": "const int*",
    "columns": "const int*",
    "samples": "const float*",
    "left": "const Table*",
    "right": "const Table*",
    "output": "Table*",
    "entries": "long long",
}
"""Parameters of the kernel: names and types."""

_UNROLL = 4
"""Entries of a group of lanes in flight: eight loads."""

_THREADS_PER_SM = 512
"""With 128 registers each. Where ptxas is free to save registers it spreads loads over a round."""


@dataclass(frozen=True)
class SampledProductProgram:
    """A sampled product, and the kernel for it.

    dim
        size of the index that is summed over.
    arch, block_threads
        as the configuration has them.
    blocks_per_sm
        what leaves enough registers, so that all loads of a round are in flight.
    """

    expression: KernelExpression
    pattern: SampledProduct
    dim: int
    arch: str
    block_threads: int
    blocks_per_sm: int

    @property
    def vector(self) -> int:
        """Elements of a load: as many as divide ``dim``, up to 16 bytes."""
        most = MAXIMUM_VECTOR_BYTES // TABLE_TYPES[self.expression.format].itemsize
        return int(np.gcd(self.dim, most))

    @property
    def lanes(self) -> int:
        """Lanes of an entry: a power of two, enough for one load each where a warp has so many."""
        return min(32, 1 << (self.dim // self.vector - 1).bit_length())

    def blocks(self, entries: int) -> int:
        """Blocks of a launch; at least 1."""
        return max(1, -(-entries * self.lanes // (self.block_threads * _UNROLL)))

    @property
    def source(self) -> str:
        """CUDA C++."""
        numbers = (self.dim, self.block_threads, self.vector, self.lanes, _UNROLL)
        parameters = [f"{type} {name}" for name, type in PARAMETERS.items()]
        return "\n".join(
            [
                f"// {self.expression.statement.result} by entries. Generated.",
                '#include "gnarl/sampled_product.cuh"',
                "",
                f"using Table = {CXX_TYPES[self.expression.format]};",
                f"using Code = gnarl::SampledProduct<Table, {', '.join(map(str, numbers))}>;",
                "",
                'extern "C" __global__ void '
                f"__launch_bounds__({self.block_threads}, {self.blocks_per_sm})",
                f"{KERNEL}(",
                "    " + ",\n    ".join(parameters) + ") {",
                f"  Code::run({', '.join(PARAMETERS)});",
                "}",
                "",
            ]
        )


@dataclass(frozen=True)
class SampledOperands:
    """Arrays of a launch.

    coordinates
        int32 [2, entries]: rows of ``left``, and of ``right``.
    samples
        float32 [entries].
    left, right
        [rows, dim], of the expression's format.
    """

    coordinates: np.ndarray
    samples: np.ndarray
    left: np.ndarray
    right: np.ndarray


def sampled_program(
    expression: KernelExpression, pattern: SampledProduct, config: CudaConfig
) -> SampledProductProgram:
    """Raises ``WorkloadError`` for a size that is not known or not supported."""
    inner = expression.stored_indices(pattern.left)[1]
    dim = expression.require_size(pattern.left, inner, MAXIMUM_DIM)
    threads = config.plain_block_threads
    blocks = config.blocks_per_sm or max(1, _THREADS_PER_SM // threads)
    return SampledProductProgram(expression, pattern, dim, config.arch, threads, blocks)


def sampled_operands(
    program: SampledProductProgram, tensors: Mapping[str, Tensor]
) -> SampledOperands:
    """All ``tensors`` have values of the format."""
    expression, pattern = program.expression, program.pattern
    samples = tensors[pattern.samples.tensor]
    coordinates = expression.coordinates(pattern.samples, samples)
    return SampledOperands(
        coordinates.T.astype(np.int32, order="C"),
        samples.values.astype(np.float32),
        expression.rows(pattern.left, tensors[pattern.left.tensor]),
        expression.rows(pattern.right, tensors[pattern.right.tensor]),
    )
