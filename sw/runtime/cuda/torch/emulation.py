"""Runs fused kernels on PyTorch's tensors on the CPU, through the emulation of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sw.compiler.cuda.layouts import ERROR_RECORD
from sw.runtime.cuda.arguments import require_no_error
from sw.runtime.cuda.emulation.embedding import checked_kernels, launch
from sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray
from sw.runtime.cuda.torch.extra import to_array, torch
from sw.runtime.cuda.torch.lookup import Lookup
from sw.runtime.cuda.torch.operator_program import operator_program


def emulate(lookup: Lookup, outputs: Sequence[torch.Tensor]) -> None:
    """Fills the outputs, from the arguments that a GPU would be given.

    Raises ``GnarlError`` for indices out of range, and whatever else a kernel must not do.
    """
    mapping = lookup.tasks()
    workspaces, size = lookup.workspaces()
    workspace = np.zeros(size // 8, np.int64)
    error = np.zeros(1, ERROR_RECORD)
    arguments = lookup.arguments(outputs, workspaces + workspace.ctypes.data, error.ctypes.data)
    inputs = {"indices": lookup.values, "offsets": lookup.offsets}
    if lookup.weights is not None:
        inputs["weights"] = lookup.weights
    tables = {f"table {number}": table for number, table in enumerate(lookup.tables)}
    launch(
        emulated_kernels(lookup.program),
        lookup.compiled.program,
        GlobalArray("arguments", arguments),
        GlobalArray("tasks", mapping.tasks),
        GlobalArray("feature blocks", mapping.feature_blocks),
        [
            *(GlobalArray(name, to_array(tensor)) for name, tensor in (tables | inputs).items()),
            *(GlobalArray("outputs", to_array(output), True) for output in outputs),
            GlobalArray("workspace", workspace, True),
            GlobalArray("error record", error, True),
        ],
    )
    require_no_error(lookup.compiled.model, error)


@lru_cache(maxsize=64)
def emulated_kernels(program: str) -> EmulatedKernels:
    """The fused kernel of a program, given as ``OperatorProgram.text``; with checks of indices."""
    return checked_kernels(operator_program(program).program)
