"""Rows and instructions of programs: as many as the hardware has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.loops.operations.embedding_bag import embedding_bag_sum
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.programs import bags

CONFIG = TmuConfig(lanes=4)


@pytest.fixture(scope="module")
def program() -> Program:
    values = bags(np.random.default_rng(0), [2, 1], 8)
    inputs = {name: values[name] for name in ("table", "indices", "offsets")}
    return compile(LoopWorkload("f", embedding_bag_sum, inputs), CONFIG, trace=Trace())


@pytest.mark.parametrize(
    "name, more, bound",
    [
        ("layers", (-1, 0), ""),
        ("units", (1, 0), ""),
        ("streams", (0, 1), ""),
        ("events", (128, 0), "at most "),
        ("events", (0, -1), "at most "),
        ("instructions", (CONFIG.program_words, 0), "at most "),
    ],
)
def test_rows_that_the_hardware_does_not_have(
    program: Program, name: str, more: tuple[int, int], bound: str
) -> None:
    program.check()
    (launch,) = program.launches
    rows = launch.sections[name]
    shape = tuple(map(sum, zip(rows.shape, more, strict=True)))
    resized = {**launch.sections, name: np.resize(rows, shape)}
    with pytest.raises(ProgramError) as caught:
        replace(program, launches=(replace(launch, sections=resized),)).check()
    start = f"section {name!r} is {list(shape)}: must be {bound}"
    assert str(caught.value).startswith(start), caught.value
