"""Dumps of every level are read back and go on to the same program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hw.lib.errors import WorkloadError
from hw.tmu.config import TmuConfig
from sw.compiler.passes import Trace
from sw.compiler.tmu.compile import LEVELS, compile
from sw.compiler.tmu.pipeline import pipeline
from sw.compiler.tmu.text import from_text, to_text
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_lengths,
    embedding_bag_max,
    embedding_bag_mean,
)
from sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu_programs import bags

CONFIG = TmuConfig(lanes=4)
NESTS = {each.name: each for each in (embedding_bag_mean, embedding_bag_max, embedding_bag_lengths)}


def dumps(nest: Nest, opt: int) -> dict[str, str]:
    """The text of each pass, in order."""
    values = bags(np.random.default_rng(0), [3, 0, 2], 9)
    inputs = {name: value for name, value in values.items() if name in nest.arrays}
    found: dict[str, str] = {}

    def write(name: str, texts: Mapping[str, str]) -> None:
        found[name] = texts["mlir"]

    compile(LoopWorkload(nest.name, nest, inputs), CONFIG, trace=Trace(write=write), opt=opt)
    return found


@pytest.mark.parametrize("opt", LEVELS)
@pytest.mark.parametrize("name", NESTS)
def test_every_dump_gives_the_same_program(name: str, opt: int):
    texts = dumps(NESTS[name], opt)
    passes = list(pipeline(CONFIG, ["out"], opt).items())
    assert list(texts) == ["scf", *(each for each, _ in passes)]
    for done, text in enumerate(texts.values()):
        module = from_text(text)
        assert to_text(module) == text
        for _, run in passes[done:]:
            module = run(module)
        assert to_text(module) == texts["lower"]


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "builtin.module {\n  %0 = arith.constant 1 : none_such\n}\n",
            "a.mlir:2:27: type expected",
        ),
        (
            'builtin.module {\n  "slc.get"() : () -> i32\n}\n',
            "a.mlir: property 'variable' expected in operation 'slc.get'",
        ),
    ],
)
def test_text_that_is_no_module(text: str, message: str):
    with pytest.raises(WorkloadError) as caught:
        from_text(text, "a.mlir")
    assert str(caught.value) == message
