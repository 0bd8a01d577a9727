"""Modules of every level but DLC in xDSL's interpreter: the golden model's bits."""

from __future__ import annotations

import numpy as np
import pytest

from hw.tmu.config import TmuConfig
from sw.compiler.passes import Trace
from sw.compiler.tmu.compile import compile
from sw.compiler.tmu.interpret import interpret
from sw.compiler.tmu.pipeline import pipeline
from sw.compiler.tmu.record import DumpedWorkload, read_dump
from sw.golden import loops
from sw.golden.loops import GoldenLoops
from sw.workloads.loops.binding import bind
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_lengths,
    embedding_bag_max,
    embedding_bag_mean,
)
from sw.workloads.loops.python_source import read_source
from sw.workloads.loops.sources import named_workload
from sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu_programs import bags

CONFIG = TmuConfig(lanes=4)
BAGS = bags(np.random.default_rng(0), [3, 0, 2], 9)


def bag(nest: Nest) -> LoopWorkload:
    inputs = {each: array for each, array in BAGS.items() if each in nest.arrays}
    return LoopWorkload(nest.name, nest, inputs)


def squares(columns: int) -> LoopWorkload:
    nest = read_source(
        "n, m = sizes('n', 'm')\n\n\n@nest\n"
        "def f(x: float32[n, m], y: float32[n]):\n"
        "    for i in range(n):\n"
        "        total = 1.0\n"
        "        for j in range(m):\n"
        "            total += x[i, j] * x[i, j]\n"
        "        y[i] = total\n",
        "file.py",
    )
    x = np.random.default_rng(0).standard_normal((3, columns)).astype(np.float32)
    return LoopWorkload("f", nest, {"x": x})


WORKLOADS = {
    "two loops": bag(embedding_bag_mean),
    "running sums": bag(embedding_bag_lengths),
    "comparisons": bag(embedding_bag_max),
    "stores of streams": named_workload("block_gather:tiny"),
    "sums by lanes": named_workload("knowledge_graph_l2:tiny"),
    "sums by some lanes": squares(11),
}


def modules(given: LoopWorkload, opt: int) -> list[DumpedWorkload]:
    found: list[DumpedWorkload] = []
    trace = Trace(write=lambda name, texts: found.append(read_dump(texts["mlir"], name)))
    compile(given, CONFIG, trace=trace, opt=opt)
    return found


@pytest.mark.parametrize("opt", (0, 1, 4))
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_level(name: str, opt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "njit", lambda **options: lambda function: function)
    given = WORKLOADS[name]
    *dumps, lowered = modules(given, opt)
    passes = ("scf", *pipeline(CONFIG, (), opt))
    assert (*(each.file for each in dumps), lowered.file) == passes
    for dump in dumps:
        (step,) = dump.steps
        binding = bind(step.meaning.nest, given.inputs, step.meaning.sizes)
        golden = GoldenLoops(step.meaning.nest).run(binding)
        arrays = {each: array.copy() for each, array in binding.arrays.items()}
        interpret(step.module, arrays)
        for each, wanted in golden.items():
            assert arrays[each].tobytes() == wanted.tobytes(), dump.file
