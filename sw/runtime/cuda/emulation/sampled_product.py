"""Runs sampled products on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.compiler.cuda.tensor.sampled_product import (
    KERNEL,
    SampledOperands,
    SampledProductProgram,
)
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray


class EmulatedSampledProduct:
    """The kernel of a program."""

    def __init__(self, program: SampledProductProgram) -> None:
        self._program = program
        self._kernels = EmulatedKernels(program.source, [INCLUDE], name=program.expression.name)

    def run(self, operands: SampledOperands) -> tuple[np.ndarray, Mapping[str, int]]:
        """Values of the entries, [entries], and what the threads did."""
        # So that what no thread stores shows.
        values = np.full(operands.samples.shape, np.nan, operands.left.dtype)
        statistics = self._kernels.launch(
            KERNEL,
            self._program.blocks(len(values)),
            self._program.block_threads,
            [
                GlobalArray("rows", operands.coordinates[0]),
                GlobalArray("columns", operands.coordinates[1]),
                GlobalArray("samples", operands.samples),
                GlobalArray("left", operands.left),
                GlobalArray("right", operands.right),
                GlobalArray("output", values, writable=True),
                np.int64(len(values)),
            ],
        )
        return values, asdict(statistics)
