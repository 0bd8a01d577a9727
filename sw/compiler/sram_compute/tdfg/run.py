"""Runs plans on NumPy arrays: regions as their tDFGs mean."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.tdfg.interpret import run_graph
from gnarl.sw.compiler.sram_compute.tdfg.plan import Elsewhere, Region, Repeat, Step
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest


def run(nest: Nest, steps: tuple[Step, ...], binding: Binding) -> dict[str, np.ndarray]:
    """The arrays that the nest writes, by name. Raises ``WorkloadError`` where an access leaves its
    array, and for statements that are no tensor computation."""
    arrays = {
        name: array.copy() if name in nest.results else array
        for name, array in binding.arrays.items()
    }
    _run(steps, arrays, binding, dict(binding.sizes))
    return {name: arrays[name] for name in nest.results}


def _run(
    steps: tuple[Step, ...],
    arrays: dict[str, np.ndarray],
    binding: Binding,
    names: Mapping[str, int],
) -> None:
    for step in steps:
        match step:
            case Region(graph):
                run_graph(graph, arrays, names, binding.scalars)
            case Repeat(variable, body=body):
                for value in iterations(step, names, binding):
                    _run(body, arrays, binding, {**names, variable: value})
            case Elsewhere(reason):
                raise WorkloadError(reason)


def iterations(repeat: Repeat, names: Mapping[str, int], binding: Binding) -> range:
    """Values of its variable; ``names``: sizes, and variables of loops around it."""
    known = {**names, **{name: int(each) for name, each in binding.scalars.items()}}
    return range(repeat.lower.value(known), repeat.upper.value(known), repeat.step)
