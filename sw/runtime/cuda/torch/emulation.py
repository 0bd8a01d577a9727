"""Runs fused kernels on PyTorch's tensors on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gnarl.sw.runtime.cuda.emulation.embedding import LaunchMemory, checked_kernels, launch
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from gnarl.sw.runtime.cuda.torch.extra import to_array, torch
from gnarl.sw.runtime.cuda.torch.lookup import Lookup
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program


def emulate(lookup: Lookup, outputs: Sequence[torch.Tensor]) -> None:
    """Fills the outputs, from the arguments that a GPU would be given.

    Raises ``GnarlError`` for indices out of range, and whatever else a kernel must not do.
    """
    lookup.addresses()
    tables = [
        GlobalArray(f"table {number}", to_array(table))
        for number, table in enumerate(lookup.tables)
    ]
    weights = np.empty(0, np.float32) if lookup.weights is None else to_array(lookup.weights)
    launch(
        emulated_kernels(lookup.program, lookup.index_bits),
        lookup.compiled.program,
        [tables[number] for number in lookup.compiled.table_of_feature],
        LaunchMemory(
            GlobalArray("indices", to_array(lookup.values)),
            GlobalArray("offsets", to_array(lookup.offsets)),
            GlobalArray("weights", weights),
            [GlobalArray("outputs", to_array(output), True) for output in outputs],
        ),
        lookup.batch,
        np.array(lookup.counts, np.int64),
        None,
    )


@lru_cache(maxsize=64)
def emulated_kernels(program: str, index_bits: int) -> EmulatedKernels:
    """The fused kernel of a program, given as ``OperatorProgram.text``; with checks of indices."""
    return checked_kernels(operator_program(program).program, index_bits)
