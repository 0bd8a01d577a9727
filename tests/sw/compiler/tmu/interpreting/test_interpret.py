"""Modules of every level in xDSL's interpreter: the golden model's bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.meaning import Meaning
from gnarl.sw.compiler.tmu.pipeline import LEVELS
from gnarl.sw.compiler.tmu.step_passes import steps
from gnarl.sw.compiler.tmu.steps import PASSES_OF, Manner, Step, first_step
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.expressions.tensor_expression import expression_workload
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operation_families import Graphs, Matrices, Vectors
from gnarl.sw.workloads.loops.operations.block_gather import block_gather
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_mean
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.sources import OPERATIONS
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.operations import operation_inputs
from tests.support.tmu.sparse_fibers import LENGTH, PAIRS, matrices, vectors

CONFIG = TmuConfig(lanes=4)
BAGS = [3, 0, 2]
ROWS_OF_MATRICES = ("left empty", "the last ones meet", "disjoint")


def workload(nest: Nest, arrays: dict[str, np.ndarray], **sizes: int) -> LoopWorkload:
    """``arrays`` and ``sizes`` of all operations: those of the nest are taken."""
    names = {size.name for size in nest.sizes}
    return LoopWorkload(
        nest.name,
        nest,
        {name: array for name, array in arrays.items() if name in nest.arrays},
        {name: size for name, size in sizes.items() if name in names},
    )


def named(name: str) -> LoopWorkload:
    nest, family = OPERATIONS[name].nest, OPERATIONS[name].family
    if isinstance(family, Vectors):
        return workload(nest, vectors([0, 2, 4, 5, 11], [1, 2, 5, 7]), length=LENGTH)
    if isinstance(family, Matrices):
        left, right = zip(*(PAIRS[each] for each in ROWS_OF_MATRICES), strict=True)
        return workload(nest, matrices(left, right), rows=len(left), columns=LENGTH)
    sizes = {"rows": len(BAGS)} if isinstance(family, Graphs) else {}
    return workload(nest, operation_inputs(8, lengths=BAGS), **sizes)


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


def rows_of_common_coordinates(columns: int) -> LoopWorkload:
    nest = read_source(
        "n, m, rows, dim = sizes('n', 'm', 'rows', 'dim')\n\n\n@nest\n"
        "def f(left: int32[n], right: int32[m], dense: float32[rows, dim], out: float32[dim]):\n"
        "    for k, (p, q) in intersect(left, right):\n"
        "        for e in range(dim):\n"
        "            out[e] += dense[k, e]\n",
        "file.py",
    )
    dense = np.random.default_rng(0).standard_normal((LENGTH, columns)).astype(np.float32)
    return workload(nest, vectors(*PAIRS["equal"]) | {"dense": dense})


def compressed_sum() -> LoopWorkload:
    """Rows that one operand has, both have, or neither."""
    left, right = np.tri(4, 5, 1), np.eye(4, 5)
    left[1], right[2:] = 0, 0
    text = "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss"
    return expression_workload(text, {"B": left, "C": right})


WORKLOADS = {
    **{name: named(name) for name in OPERATIONS},
    "parts of vectors": workload(embedding_bag_mean, operation_inputs(9, lengths=BAGS)),
    "sums by some lanes": squares(11),
    "stores of streams": workload(block_gather, operation_inputs(9)),
    "parts of vectors inside of merges": rows_of_common_coordinates(6),
    "unions inside of unions": compressed_sum(),
}


def dumped(given: LoopWorkload) -> Iterator[Step]:
    """What is dumped of all levels and of the coupled program; what levels share comes once."""
    meaning = Meaning(given.nest, given.binding.sizes)
    inputs = [spec.name for spec in meaning.inputs(given.inputs)]
    *common, decoupled, lowered = steps(first_step(given.name, meaning, inputs, Manner(0)), CONFIG)
    yield from (*common, decoupled, lowered)
    for level in LEVELS[1:]:
        _, *found = steps(replace(decoupled, manner=Manner(level)), CONFIG)
        yield from found
    _, *found = steps(first_step(given.name, meaning, inputs, Manner(0, coupled=True)), CONFIG)
    yield from found


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_level(name: str) -> None:
    given = WORKLOADS[name]
    passes: dict[bool, set[str]] = {False: set(), True: {"scf"}}
    golden: dict[Nest, dict[str, np.ndarray]] = {}
    seen: set[str] = set()
    for step in dumped(given):
        passes[step.manner.coupled].add(step.name)
        if str(step.module) in seen:
            continue
        seen.add(str(step.module))
        nest = step.meaning.nest
        binding = bind(nest, given.inputs, step.meaning.sizes)
        if nest not in golden:
            golden[nest] = GoldenLoops(nest).run(binding)
        arrays = {each: array.copy() for each, array in binding.arrays.items()}
        interpret(step.module, arrays, CONFIG.lanes)
        for each, wanted in golden[nest].items():
            assert arrays[each].tobytes() == wanted.tobytes(), (step.name, step.manner, each)
    assert {manner: {*PASSES_OF[manner]} for manner in passes} == passes
