"""Compiles loop nests for a TMU, runs them on the model, and compares with the golden model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hw.tmu.config import TmuConfig
from sw.compiler.passes import Trace
from sw.compiler.tmu.compile import compile
from sw.program.program import Program
from sw.runtime.tmu.image import Operands, image, outputs, result_rows
from sw.runtime.tmu.model import machine
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.workload import LoopWorkload


@dataclass(frozen=True)
class Run:
    """A program, and what the model counted."""

    program: Program
    counters: Mapping[str, int]


def check(
    nest: Nest,
    values: Mapping[str, np.ndarray],
    config: TmuConfig,
    opt: int | None = None,
    sizes: Mapping[str, int] | None = None,
    **options: object,
) -> Run:
    """The model's results have the golden model's bits, whatever memory held before. ``sizes``:
    those that no array of ``values`` has."""
    known = (*nest.arrays, *nest.scalars)
    inputs = {name: value for name, value in values.items() if name in known}
    workload = LoopWorkload(nest.name, nest, inputs, sizes or {})
    program = compile(workload, config, trace=Trace(), opt=opt, **options)
    program.check()
    (launch,) = program.launches
    operands = Operands(launch, inputs)
    run = machine.run(config, image(launch, operands), lambda counters: result_rows(launch, {}))
    found = outputs(launch, operands, run.memory)
    for name, golden in operands.golden.items():
        np.testing.assert_array_equal(
            np.asarray(found[name]).view(np.uint32),
            golden.view(np.uint32),
            f"{name}, {opt=} {options}",
        )
    return Run(program, run.counters)


def bags(
    rng: np.random.Generator, lengths: list[int], dim: int, rows: int = 16
) -> dict[str, np.ndarray]:
    """Inputs of all kinds of EmbeddingBag."""
    count = sum(lengths)
    return {
        "table": rng.standard_normal((rows, dim)).astype(np.float32),
        "indices": rng.integers(0, rows, count).astype(np.int32),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "lengths": np.array(lengths, np.int32),
        "weights": rng.standard_normal(count).astype(np.float32),
    }
