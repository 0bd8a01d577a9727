"""PyTorch modules as loop nests, against what PyTorch makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.sequence import in_sequence
from gnarl.sw.workloads.loops.modules import module_workload
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload


def golden(workload: LoopWorkload) -> dict[str, np.ndarray]:
    """Results of the nest, which the nests in its place agree with."""
    found = GoldenLoops(workload.nest).run(workload.binding)
    known = dict(workload.inputs)
    for nest in in_sequence(workload.nest, workload.inputs):
        own = {name: array for name, array in known.items() if name in nest.arrays}
        known |= GoldenLoops(nest).run(bind(nest, own))
    for name, array in found.items():
        np.testing.assert_array_equal(known[name], array)
    return {name: array for name, array in found.items() if name not in workload.temporaries}


def require_same(made: torch.nn.Module, *inputs: Any) -> LoopWorkload:
    """The nest gives what the module gives, int32 for int64, and is the same when printed."""
    workload = module_workload(made, inputs)
    assert read_source(print_nest(workload.nest), "f.py") == workload.nest
    given = made(*(each.clone() if hasattr(each, "clone") else each for each in inputs))
    results = [given] if isinstance(given, torch.Tensor) else [*given]
    found = golden(workload).values()
    for array, wanted in zip(found, results, strict=True):
        dense = wanted.detach().to_dense().numpy()
        assert array.dtype == (np.int32 if dense.dtype == np.int64 else dense.dtype)
        np.testing.assert_array_equal(array.reshape(dense.shape), dense)
    return workload
