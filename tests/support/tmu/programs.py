"""Compiles loop nests for a TMU, runs them on the model, and compares with the golden model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.tmu.image import Operands, image, outputs, result_rows
from gnarl.sw.runtime.tmu.model import machine
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.workload import LoopWorkload


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
    """The model's results have the golden model's bits, whatever memory held before; without
    ``reassociate``, those of the source. ``sizes``: those that no array of ``values`` has. Counters
    are the last launch's."""
    known = (*nest.arrays, *nest.scalars)
    inputs = {name: value for name, value in values.items() if name in known}
    workload = LoopWorkload(nest.name, nest, inputs, sizes or {})
    program = compile(workload, config, trace=Trace(), opt=opt, **options)
    program.check()
    tensors: dict[str, Array] = dict(inputs)
    counters: Mapping[str, int] = {}
    for launch in program.launches:
        operands = Operands(launch, tensors)
        results = result_rows(launch, {})
        run = machine.run(config, image(launch, operands), lambda _, rows=results: rows)
        found, counters = outputs(launch, operands, run.memory), run.counters
        _require_same(found, operands.golden, f"{opt=} {options}")
        tensors |= found
    if options.get("reassociate") is False:
        golden = GoldenLoops(nest).run(bind(nest, inputs, sizes or {}))
        _require_same(tensors, golden, f"{opt=} {options}, of the source")
    return Run(program, counters)


def _require_same(found: Mapping[str, Array], golden: Mapping[str, Array], what: str) -> None:
    for name, values in golden.items():
        left, right = (np.asarray(each).view(np.uint32) for each in (found[name], values))
        np.testing.assert_array_equal(left, right, f"{name}, {what}")


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
