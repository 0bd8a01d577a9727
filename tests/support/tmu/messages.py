"""Nests over the edges of a graph that read rows of both ends, with their inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.step_passes import steps
from gnarl.sw.compiler.tmu.steps import Manner, Step, first_step
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload


@dataclass(frozen=True)
class Messages:
    """``lengths``: edges of each vertex; ``rows`` of ``dim`` columns at both ends.

    row
        the index of the row that all edges of a vertex read.
    product
        what is added up over columns from ``first`` on.
    again
        loops that read the neighbour's row behind that; each adds to a result of its own.
    """

    lengths: tuple[int, ...] = (2, 0, 3)
    dim: int = 8
    first: int = 0
    rows: int = 4
    row: str = "v"
    product: str = "a[{row}, e] * b[indices[p], e]"
    again: tuple[str, ...] = ("scale * b[indices[p], e]",)

    @property
    def source(self) -> str:
        results = [f"out{number}" for number in range(len(self.again))]
        parameters = "".join(f", {name}: float32[vertices, dim]" for name in results)
        loops = "".join(
            f"            for e in range({self.first}, dim):\n"
            f"                {name}[v, e] += {text}\n"
            for name, text in zip(results, self.again, strict=True)
        )
        return (
            "vertices, edges, rows, dim = sizes('vertices', 'edges', 'rows', 'dim')\n\n\n@nest\n"
            "def f(offsets: int32[vertices + 1], indices: int32[edges], values: float32[edges], "
            "near: int32[vertices], a: float32[rows, dim], b: float32[rows, dim], "
            f"sums: float32[edges]{parameters}):\n"
            "    for v in range(vertices):\n"
            "        for p in range(offsets[v], offsets[v + 1]):\n"
            "            product = 0.0\n"
            f"            for e in range({self.first}, dim):\n"
            f"                product += {self.product.format(row=self.row)}\n"
            "            scale = values[p] * product\n"
            "            sums[p] = product\n"
            f"{loops}"
        )

    @property
    def workload(self) -> LoopWorkload:
        rng = np.random.default_rng(0)
        edges, vertices = sum(self.lengths), len(self.lengths)
        inputs = {
            "offsets": np.cumsum([0, *self.lengths]).astype(np.int32),
            "indices": rng.integers(0, self.rows, edges).astype(np.int32),
            "values": rng.standard_normal(edges).astype(np.float32),
            "near": rng.integers(0, self.rows, vertices).astype(np.int32),
            "a": rng.standard_normal((self.rows, self.dim)).astype(np.float32),
            "b": rng.standard_normal((self.rows, self.dim)).astype(np.float32),
        }
        return LoopWorkload("f", read_source(self.source, "file.py"), inputs)

    def steps(self, config: TmuConfig) -> Iterator[Step]:
        """What the passes of the last level make of it."""
        workload = self.workload
        meaning = Meaning(workload.nest, workload.binding.sizes)
        inputs = [spec.name for spec in meaning.inputs(workload.inputs)]
        return steps(first_step("f", meaning, inputs, Manner(4)), config)

    def after(self, name: str, config: TmuConfig) -> ModuleOp:
        """What the pass ``name`` leaves."""
        return next(step.module for step in self.steps(config) if step.name == name)

    def check(self, step: Step, lanes: int) -> None:
        """In the interpreter, it has the bits of its golden model."""
        binding = bind(step.meaning.nest, self.workload.inputs, step.meaning.sizes)
        golden = GoldenLoops(step.meaning.nest).run(binding)
        arrays = {name: array.copy() for name, array in binding.arrays.items()}
        interpret(step.module, arrays, lanes)
        for name, wanted in golden.items():
            assert arrays[name].tobytes() == wanted.tobytes(), (step.name, name)
