"""Copies of modules: as xDSL's own, and apart from what they are copied of."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.text import from_text
from gnarl.sw.workloads.loops.sources import named_workload


def modules(**options: object) -> list[ModuleOp]:
    """Of all passes of an operation that has loops, choices and sums by lanes."""
    texts: list[str] = []
    trace = Trace(write=lambda _, dump: texts.append(dump["mlir"]))
    workload = named_workload("knowledge_graph_l1:tiny")
    compile(workload, TmuConfig(lanes=4), trace=trace, **options)
    return [from_text(text, "a.mlir") for text in texts]


def values_of(module: ModuleOp) -> list[SSAValue]:
    values: list[SSAValue] = []
    for operation in module.walk():
        values += operation.results
        for region in operation.regions:
            values += [argument for block in region.blocks for argument in block.args]
    return values


def of_values(module: ModuleOp) -> list[tuple[object, ...]]:
    """Names, places, and uses in their order, in which passes go through them."""
    numbers = {operation: number for number, operation in enumerate(module.walk())}
    return [
        (
            value.name_hint,
            getattr(value, "location", None),
            [(numbers[use.operation], use.index) for use in value.uses],
        )
        for value in values_of(module)
    ]


@pytest.mark.parametrize("options", ({}, {"coupled": True}), ids=str)
def test_copies_are_those_of_xdsl(options: dict[str, object]) -> None:
    for module in modules(**options):
        copy, wanted = copied(module), module.clone()
        copy.verify()
        assert str(copy) == str(wanted)
        assert of_values(copy) == of_values(wanted)
        assert not {*copy.walk()} & {*module.walk()}
        assert not {*values_of(copy)} & {*values_of(module)}
        for operation, other in zip(copy.walk(), module.walk(), strict=True):
            assert operation.attributes is not other.attributes
            assert operation.location == other.location
