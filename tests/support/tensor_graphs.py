"""Loop nests for tests of tDFGs, and what golden model and interpreter make of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sw.compiler.sram_compute.tdfg.plan import Step, plan
from sw.compiler.sram_compute.tdfg.run import run
from sw.golden.loops import GoldenLoops
from sw.workloads.loops.binding import bind
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.python_source import read_source


def nest_of(parameters: str, body: str) -> Nest:
    """A function of the Python notation; ``body``: its lines."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return read_source(f"def f({parameters}):\n{lines}\n", "f.py")


def planned(parameters: str, body: str, **options: Any) -> tuple[Nest, tuple[Step, ...]]:
    nest = nest_of(parameters, body)
    return nest, plan(nest, **options)


def require_golden(nest: Nest, steps: tuple[Step, ...], values: dict[str, Any]) -> None:
    """The tDFGs of a nest give the golden model's bits."""
    binding = bind(nest, values)
    found = run(nest, steps, binding)
    wanted = GoldenLoops(nest).run(binding)
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])
        assert found[name].tobytes() == wanted[name].tobytes()
